"""From run folders to tables and one page: the end of the data's way."""
