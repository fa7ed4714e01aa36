"""Turns the unit tests of a library into question, properties and verification, by execution.

`docgen.programs` makes each test a plain program, `parts` has what its question is made of, and
`__main__` runs it, proves the question and writes it.
"""
