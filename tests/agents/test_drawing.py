"""Structures as SVG."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.crystal import COLOURS
from agents.crystal import DRAWN_SITES as MAX_SITES
from agents.drawing import structure_svg

CUBE = [[4.0, 0, 0], [0, 4.0, 0], [0, 0, 4.0]]
SALT = (["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])


def words(svg):
    root = ElementTree.fromstring(svg)
    return [
        element.text
        for element in root.iter()
        if element.text and "style" not in element.tag
    ]


def rings(svg):
    return svg.count('fill="none"') // 2


def test_cell_atoms_legend_and_rings():
    svg = structure_svg(CUBE, *SALT, marked={1}, title="before")
    assert {"before", "a", "b", "c", "Na 1", "Cl 1"} <= set(words(svg))
    assert rings(svg) == 1
    assert svg == structure_svg(CUBE, *SALT, marked=[1, 1, 7, -1], title="before")
    near = structure_svg(CUBE, ["Na", "Cl"], [[0.9, 0.5, 0.5], [0.1, 0.5, 0.5]])
    assert near.index(COLOURS["Cl"]) < near.index(COLOURS["Na"])  # a points to the eye
    inside, outside = ([[x, 0.25, 0.25]] for x in (0.25, 3.25))
    assert structure_svg(CUBE, ["Na"], inside) == structure_svg(CUBE, ["Na"], outside)


@pytest.mark.parametrize(
    ("cell", "fractions"),
    [
        (CUBE, [[0, 0, float("nan")]]),
        ([[1e300, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 0]]),
        ([[1, 0, 0], [1, 0, 0], [0, 0, 1]], [[0, 0, 0]]),
        ([[0, 0, 0]] * 3, [[0, 0, 0]]),
        (CUBE, [[0, 0]]),
        (CUBE, []),
        ([["x", 0, 0]] * 3, [[0, 0, 0]]),
    ],
)
def test_what_has_no_shape_is_said_to_have_none(cell, fractions):
    assert "cannot be drawn" in words(structure_svg(cell, ["Na"], fractions))


def test_many_sites_and_species_stay_small_and_the_marked_are_among_them():
    count = 5000
    fractions = [
        [(n * 0.618) % 1, (n * 0.414) % 1, (n * 0.732) % 1] for n in range(count)
    ]
    species = [f"X{n % 700}<&'" for n in range(count)]
    svg = structure_svg(CUBE, species, fractions, marked=range(count), title="&" * 500)
    assert len(svg) < 60_000
    assert rings(svg) == MAX_SITES
    assert f"{MAX_SITES} of {count} atoms shown, 692 more species" in words(svg)
    assert rings(structure_svg(CUBE, species, fractions, marked=[count - 1])) == 1


@given(
    st.lists(st.text(max_size=20), max_size=5),
    st.text(max_size=100),
    st.lists(st.floats(-1e12, 1e12), min_size=9, max_size=9),
)
def test_any_name_and_any_cell_give_well_formed_svg(species, title, numbers):
    svg = structure_svg(
        [numbers[:3], numbers[3:6], numbers[6:]],
        species,
        [numbers[:3]] * len(species),
        title=title,
    )
    words(svg)
    assert not re.search(r"nan|inf\b", re.sub(r">[^<]*<", "><", svg))
