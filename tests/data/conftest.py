"""Data of tests, some of which are unit tests of another package: nothing here is collected."""

collect_ignore_glob = ["*"]
