"""What graders and probes import inside the sandbox, and the host outside: one copy for both.

Standard library only; numpy where it is loaded already, or where a value needs it.
"""
