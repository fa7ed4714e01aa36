"""Folders that tests read."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
#: Published data beside a checkout of the developers; tests that need it are skipped without.
SHARED = ROOT.parent / "shared" / "data"
