"""Runs inside the sandbox: what the installed libraries offer at run time.

Standard library only; this folder is mounted into the sandbox (see ``indexes.live``). Importing a
library runs its code: that is why it happens there.
"""
