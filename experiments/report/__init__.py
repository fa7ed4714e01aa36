"""From run folders to tables and one page: the end of the data's way."""

from experiments.report.page import write_report
from experiments.report.tables import print_table

__all__ = ["print_table", "write_report"]
