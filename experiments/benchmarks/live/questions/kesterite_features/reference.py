"""Reference solution: composition features of an off-stoichiometric kesterite."""

from matminer.featurizers.composition import BandCenter, ElementProperty, ValenceOrbital
from pymatgen.core import Composition


def reference() -> dict:
    """Compute the properties of the question."""
    composition = Composition("Cu1.85Zn1.17Sn0.98Ge0.06S3.31Se0.73")
    magpie = ElementProperty.from_preset("magpie")
    elemental = dict(zip(magpie.feature_labels(), magpie.featurize(composition), strict=True))
    orbitals = ValenceOrbital(props=["avg", "frac"])
    valence = dict(zip(orbitals.feature_labels(), orbitals.featurize(composition), strict=True))
    return {
        "mean_melting_temperature": float(elemental["MagpieData mean MeltingT"]),
        "electronegativity_deviation": float(elemental["MagpieData avg_dev Electronegativity"]),
        "mode_mendeleev_number": float(elemental["MagpieData mode MendeleevNumber"]),
        "d_electron_fraction": float(valence["frac d valence electrons"]),
        "band_center": float(BandCenter().featurize(composition)[0]),
    }
