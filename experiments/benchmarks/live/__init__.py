"""``live``: tool-usage questions of our own about the newest pymatgen and its add-ons."""
