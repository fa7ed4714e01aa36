"""AtomWorld (arXiv 2510.04704): what a structure looks like after an action on its atoms."""
