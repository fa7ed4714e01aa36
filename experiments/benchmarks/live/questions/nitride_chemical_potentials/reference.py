"""Where a ternary nitride is stable in the space of chemical potentials."""

import numpy as np
from pymatgen.analysis.chempot_diagram import ChemicalPotentialDiagram
from pymatgen.core import Element
from pymatgen.entries.computed_entries import ComputedEntry
from scipy.spatial import ConvexHull


def reference() -> dict:
    energies = {
        "Mg": -1.597,
        "Si": -5.431,
        "N2": -16.634,
        "Mg3N2": -25.92,
        "Si3N4": -57.84,
        "MgSiN2": -28.31,
        "Mg2Si": -9.38,
    }
    entries = [ComputedEntry(formula, energy) for formula, energy in energies.items()]
    diagram = ChemicalPotentialDiagram(entries, default_min_limit=-12.0)
    domain = diagram.domains["MgSiN2"]
    poor = domain[np.argmin(domain[:, diagram.elements.index(Element("N"))])]
    limited = ChemicalPotentialDiagram(
        entries, limits={Element("N"): (-1.0, 0.0)}, default_min_limit=-12.0
    )
    order = [limited.elements.index(Element(symbol)) for symbol in ("Mg", "Si", "N")]
    corners = limited.domains["MgSiN2"][:, order]
    area = ConvexHull(corners[:, :2]).volume
    shared = 0
    for corner in diagram.domains["Si3N4"]:
        if np.min(np.linalg.norm(domain - corner, axis=1)) < 1e-6:
            shared += 1
    return {
        "n_domain_vertices": len(domain),
        "nitrogen_poor_vertex": {
            str(element): float(value)
            for element, value in zip(diagram.elements, poor)
            if str(element) != "Si"
        },
        "n_vertices_shared_with_silicon_nitride": shared,
        "limited_domain_area": float(area),
    }
