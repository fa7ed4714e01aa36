"""Turns the unit tests of a library into question, properties and verification, by execution.

The way of the data: `collect` (tests and assertions by ``ast``, each test as a plain program) ->
`sources` (instrumented, reference and scaffold text) -> `values` (what the run recorded) ->
`writer` (texts by rules) -> `__main__` (gates, folders, report).
"""
