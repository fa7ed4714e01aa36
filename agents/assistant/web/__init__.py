"""``matsmith serve``: the assistant in a browser, on this machine only."""
