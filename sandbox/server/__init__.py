"""The fork server, which runs inside a worker: standard library and ``sandbox.inside`` only."""
