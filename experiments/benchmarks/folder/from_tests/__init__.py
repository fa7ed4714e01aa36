"""Turns the unit tests of a library into question, properties and verification, by execution.

The way of the data: `collect` (tests and assertions by ``ast``, each test as a plain program) ->
`texts` (instrumented) -> `values` (what the run recorded) -> `texts` (properties, reference,
scaffold) -> `__main__` (gates, folders, report).
"""
