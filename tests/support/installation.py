"""What the tests of a wheel share: its packages, and commands away from the checkout."""

import os
import subprocess

from sandbox import environments

BELOW = (
    "agents",
    "conf",
    "docgen",
    "experiments",
    "foundation",
    "indexes",
    "retrieval",
    "sandbox",
)


def run(*command, folder, code=0):
    """Standard output of a command that ends so, without this process's packages."""
    variables = {
        k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}
    }
    variables["MATSMITH_CACHE"] = str(environments.cache_folder())
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=variables,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout
