"""Reference solution: data-mined ionic substitution and volume prediction."""

from pymatgen.core import Lattice, Species, Structure
from pymatgen.core.structure_prediction.substitution_probability import (
    SubstitutionPredictor,
    SubstitutionProbability,
)
from pymatgen.core.structure_prediction.volume_predictor import DLSVolumePredictor


def reference() -> dict:
    """Compute the properties of the question."""
    probability = SubstitutionProbability(None, -4.6)
    calcium, manganese = Species("Ca", 2), Species("Mn", 2)
    predictor = SubstitutionPredictor(alpha=-4.6, threshold=5.5e-3)
    predictions = predictor.list_prediction([Species("Na", 1), Species("V", 3), Species("O", -2)])
    vanadium, oxide, sodium = Species("V", 3), Species("O", -2), Species("Na", 1)
    replacements = {
        str(old): float(p["probability"])
        for p in predictions
        for old, new in p["substitutions"].items()
        if new == vanadium
        and old != vanadium
        and p["substitutions"].get(oxide) == oxide
        and p["substitutions"].get(sodium) == sodium
    }
    parent = Structure.from_spacegroup(
        "R-3m",
        Lattice.hexagonal(3.024, 15.73),
        ["Na", "V", "O"],
        [[0, 0, 0.5], [0, 0, 0], [0, 0, 0.2344]],
    )
    child = parent.copy()
    child.replace_species({"V": "Cr"})
    predicted = DLSVolumePredictor(cutoff=3.6).get_predicted_structure(child)
    return {
        "conditional_probability": float(probability.cond_prob(calcium, manganese)),
        "pair_correlation": float(probability.pair_corr(calcium, manganese)),
        "number_of_substitutions": len(predictions),
        "vanadium_replacements": replacements,
        "predicted_c_lattice_parameter": float(predicted.lattice.c),
    }
