"""Plans an orchard: trees on a grid, their yield, and who picks when."""

from orchard.picking import picking_days
from orchard.trees import VARIETIES, Orchard, Tree

__all__ = ["VARIETIES", "Orchard", "Tree", "picking_days"]
