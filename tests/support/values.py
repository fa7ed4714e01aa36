"""Values for property-based tests of what is sent between host and sandbox."""

import string

from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from sandbox.inside import tagged

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.complex_numbers(),
)


numbers = (
    npst.boolean_dtypes(),
    npst.integer_dtypes(),
    npst.unsigned_integer_dtypes(),
    npst.floating_dtypes(),
    npst.complex_number_dtypes(),
)


numpy_scalars = st.one_of(*numbers).flatmap(npst.from_dtype)


TAGS = [
    "int",
    "float",
    "complex",
    "bytes",
    "tuple",
    "set",
    "frozenset",
    "dict",
    "scalar",
    "array",
    *tagged.BY_TAG,
    "zzz",
]


DTYPES = [
    "<f8",
    "<U0",
    "|S0",
    "<U1",
    "<M8[s]",
    "<m8[0s]",
    "<f16",
    "O",
    "V8",
    "<i4",
    "f8,f8",
    "(2,)f8",
    "x",
]


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(list("$vax")), inner),
        st.fixed_dictionaries(
            {"$": st.sampled_from(TAGS), "v": inner},
            optional={
                "raw": st.text(string.ascii_letters + "+/="),
                "dtype": st.sampled_from(DTYPES),
                "shape": st.lists(st.integers(-1, 2**62), max_size=40),
                "class": inner,
                "name": inner,
            },
        ),
    ),
    max_leaves=10,
)
