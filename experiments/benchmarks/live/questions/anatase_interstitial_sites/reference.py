"""Native point defects and interstitial sites of anatase, geometric and from a charge density."""

import numpy as np
from pymatgen.analysis.defects.generators import (
    AntiSiteGenerator,
    VacancyGenerator,
    VoronoiInterstitialGenerator,
)
from pymatgen.analysis.defects.utils import ChargeInsertionAnalyzer
from pymatgen.core import Lattice, Structure
from pymatgen.io.vasp import Poscar
from pymatgen.io.vasp.outputs import Chgcar


def reference() -> dict:
    host = Structure.from_spacegroup(
        "I4_1/amd",
        Lattice.tetragonal(3.797, 9.583),
        ["Ti", "O"],
        [[0, 0, 0], [0, 0, 0.2064]],
    )
    native = list(VacancyGenerator().generate(host)) + list(AntiSiteGenerator().generate(host))
    interstitials = list(VoronoiInterstitialGenerator().generate(host, ["Li"]))
    distances = []
    for interstitial in interstitials:
        to_host = host.lattice.get_all_distances(
            [interstitial.site.frac_coords], host.frac_coords
        )
        distances.append(float(to_host.min()))

    shape = (24, 24, 60)
    axes = [np.arange(n) / n for n in shape]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    density = np.zeros(len(points))
    for site in host:
        charge, width = {"Ti": (4.0, 1.1), "O": (6.0, 0.9)}[site.specie.symbol]
        r = host.lattice.get_all_distances(points, [site.frac_coords])[:, 0]
        density += charge * np.exp(-((r / width) ** 2)) / 5.0
    chgcar = Chgcar(Poscar(host), {"total": density.reshape(shape) * host.volume})
    analyzer = ChargeInsertionAnalyzer(chgcar, working_ion="Li", clustering_tol=0.5, min_dist=0.9)
    groups = analyzer.filter_and_group(avg_radius=0.615, max_avg_charge=1.0)
    lowest_density, lowest_sites = groups[0]
    return {
        "native_defect_multiplicities": {defect.name: defect.multiplicity for defect in native},
        "voronoi_interstitial_multiplicities": sorted(d.multiplicity for d in interstitials),
        "voronoi_interstitial_host_distances": sorted(distances),
        "lowest_mean_density": float(lowest_density),
        "n_lowest_density_sites": len(lowest_sites),
    }
