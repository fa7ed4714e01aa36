"""Every prompt with which a chat model writes a task, one place."""

from __future__ import annotations

SYSTEM = (
    "You turn unit tests of the Python package {package} into benchmark questions. Answer with one "
    "JSON object and nothing else."
)

PROPERTIES = """\
Below is a unit test, and the expressions that its assertions compare. Each becomes a property \
that a programmer will be asked to compute.

Unit test:
```python
{source}
```

Properties:
{listed}

Documentation of what they use:
{documented}

For each number give a `name` (snake_case: lower-case letters, digits, underscores; words of the \
field, not the name of a function of the package) and a `description` (one or two sentences: \
quantity, unit, conventions, order; at least 20 characters). A description must not contain the \
value, and no description or name may hold any of these names: {forbidden}.

Answer: {{"properties": [{{"number": 0, "name": "...", "description": "..."}}, ...]}}"""

QUESTION = """\
A programmer will be asked to compute these properties with the package {package}:
{listed}

This code prepares the inputs; it is shown to the programmer, with some names hidden:
```python
{code}
```

Documentation of what it uses:
{documented}

Write two texts.
`introduction`: one or two sentences that say what the code is about. It must not hold any of the \
names that the masks hide: {hidden}.
`goal`: the same task without any code and without names of functions, classes or arguments of \
the package: all inputs with their numbers, what is wanted, units, conventions, order. None of \
these names may stand in it: {forbidden}. A reader of the \
goal alone, with the documentation of the package, must arrive at the same values. It must not \
contain the values.

Answer: {{"introduction": "...", "goal": "..."}}"""

VERIFICATION = """\
These properties are verified by comparing with values from an execution:
{listed}

For each number say how: `compare` is "close" for floats and anything made of floats, else \
"equal"; `rtol` is the relative tolerance (at most 0.005) and `atol` the absolute one in the unit \
of the property, both 0 or larger. The test itself used the tolerances listed. A value that is \
wrong by one per cent must fail.

Answer: {{"verification": [
{{"number": 0, "compare": "close", "rtol": 0.001, "atol": 0.0}}, ...]}}"""

AGAIN = (
    "Your answer cannot be used:\n{faults}\nAnswer again with one JSON object of the form asked."
)
