"""Charge states of a defect with negative U."""

from pymatgen.analysis.defects.thermo import get_lower_envelope, get_transitions


def reference() -> dict:
    """Compute the properties of the question."""
    lines = [(-2, 7.913), (-1, 5.327), (0, 3.184), (1, 2.217), (2, 0.436), (3, 0.121)]
    envelope = get_lower_envelope(lines)
    points = get_transitions(envelope, 0.0, 3.27)
    return {
        "stable_charges": sorted((round(slope) for slope, _ in envelope), reverse=True),
        "transition_levels": [float(level) for level, _ in points[1:-1]],
        "transition_energies": [float(energy) for _, energy in points[1:-1]],
        "band_edge_energies": [float(points[0][1]), float(points[-1][1])],
    }
