"""``python -m experiments.run`` from a wheel: what `matsmith run` is.

A wheel holds this file as ``experiments/run.py``, without an ``__init__.py``: a part of a
namespace package, which any package called ``experiments`` comes before
(docs/decisions/0008-one-name-in-a-wheel.md).
"""

import sys

if __name__ == "__main__":
    sys.modules.pop("experiments", None)  # the namespace; ours is a package

    from matsmith.__main__ import main

    sys.exit(main(["run", *sys.argv[1:]]))
