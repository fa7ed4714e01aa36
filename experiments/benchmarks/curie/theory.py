r"""Made papers about mean-field Hamiltonians (``hfd``, ``hfe``) and quantum codes (``qecc_65``).

Hamiltonians are one-band, honeycomb or extended Hubbard models with drawn symbols and signs,
decoupled by Wick's theorem with averages that conserve charge and spin:
$n_\uparrow n_\downarrow \to \langle n_\uparrow\rangle n_\downarrow + \langle n_\downarrow\rangle
n_\uparrow - \langle n_\uparrow\rangle\langle n_\downarrow\rangle$.
"""

from __future__ import annotations

from random import Random
from typing import Any

from experiments.benchmarks.curie.prose import Made, name


def _model(rng: Random) -> dict[str, str]:
    """Symbols, and the parts of a Hamiltonian as LaTeX, each with its sign."""
    hop, site, near = rng.choice("twJ"), rng.choice("Ug"), rng.choice("VW")
    mu, op, spin = rng.choice((r"\mu", r"\xi")), rng.choice("cdf"), rng.choice((r"\sigma", "s"))
    sign = rng.choice("+-")
    pairs = r"\sum_{\langle i,j \rangle " + spin + "}"
    honeycomb = rng.random() < 0.5
    left, right = ("a", "b") if honeycomb else (op, op)
    cell = r"\sum_{i" + spin + "}"
    kinetic = (
        f"{sign}{hop} {pairs} ( {left}_{{i{spin}}}^{{\\dagger}} {right}_{{j{spin}}} + h.c. ) "
        f"- {mu} {cell} n_{{i{spin}}}"
    )
    if honeycomb:
        kinetic += f" + M {cell} \\epsilon_{{i}} n_{{i{spin}}}"
    up, down = r"n_{i\uparrow}", r"n_{i\downarrow}"
    mean_up, mean_down = rf"\langle {up} \rangle", rf"\langle {down} \rangle"
    bond = rf"\langle {left}_{{i{spin}}}^{{\dagger}} {right}_{{j{spin}}} \rangle"
    extended = rng.random() < 0.6
    on_site = (
        rf"+ {site} \sum_{{i}} ( {mean_up} {down} + {mean_down} {up} - {mean_up} {mean_down} )"
    )
    hartree = (
        rf"+ {near} \sum_{{\langle i,j \rangle}} ( \langle n_{{i}} \rangle n_{{j}} + n_{{i}} "
        rf"\langle n_{{j}} \rangle - \langle n_{{i}} \rangle \langle n_{{j}} \rangle )"
    )
    fock = (
        rf"- {near} {pairs} ( {bond} {right}_{{j{spin}}}^{{\dagger}} {left}_{{i{spin}}} + h.c. - "
        rf"| {bond} |^{{2}} )"
    )
    interaction = rf"{site} \sum_{{i}} {up} {down}"
    if extended:
        interaction += rf" + {near} \sum_{{\langle i,j \rangle}} n_{{i}} n_{{j}}"
    return {
        "kinetic": kinetic.removeprefix("+"), "interaction": interaction, "on_site": on_site,
        "hartree": hartree if extended else "0", "fock": fock if extended else "0",
        "lattice": "honeycomb" if honeycomb else "square", "hop": hop, "site": site, "near": near,
        "mu": mu, "spin": spin,
        "where": r"n_{i} = n_{i\uparrow} + n_{i\downarrow}",
    }  # fmt: skip


def _joined(model: dict[str, str], *parts: str) -> str:
    return " ".join(model[part] for part in parts if model[part] != "0")


def hfe(rng: Random) -> Made:
    """The full Hamiltonian somewhere, and a special case of it as a trap."""
    model = _model(rng)
    whole = _joined(model, "kinetic", "on_site", "hartree", "fock")
    special = _joined(model, "kinetic", "on_site")
    if special == whole:
        special = rf"{model['site']} \sum_{{i}} \langle n_{{i\uparrow}} \rangle n_{{i\downarrow}}"
    answer = f"The general Hartree-Fock Hamiltonian is $H = {whole}$ where ${model['where']}$"
    evidence = [
        (
            f"We study electrons on a {model['lattice']} lattice with hopping ${model['hop']}$ and "
            f"a repulsion ${model['site']}$ on each site."
        ),
        (
            f"In the general case the mean-field Hamiltonian reads $$H = {whole}$$ where "
            f"${model['where']}$."
        ),
        (
            f"In a special case that we only mention it reduces to $$H_0 = {special}$$, which is "
            "not used below."
        ),
    ]
    return Made(f"Mean-field study of the {name(rng)} model", evidence, {"hamiltonian": answer})


def hfd(rng: Random) -> Made:
    """A model whose decoupling is asked for and stands nowhere."""
    model = _model(rng)
    parts = ("kinetic", "interaction", "on_site", "hartree", "fock")
    record = [
        {"step": number, "answer": model[part].removeprefix("+ ")}
        for number, part in enumerate(parts, 1)
    ]
    evidence = [
        (
            f"The model lives on a {model['lattice']} lattice; ${model['spin']}$ is the spin and "
            f"${model['where']}$."
        ),
        f"Its single-particle part is $$H_0 = {model['kinetic']}$$.",
        f"Electrons interact through $$H_{{int}} = {model['interaction']}$$.",
        (
            "Averages that conserve charge and spin are kept, those of neighbouring sites "
            "included; anomalous ones vanish. On-site averages are diagonal in the spin."
        ),
    ]
    return Made(f"Interactions in the {name(rng)} model", evidence, {"steps": record})


_PARENTS = ("stabiliser", "css", "topological", "qldpc", "subsystem", "concatenated")


def qecc(rng: Random) -> Made:
    """A code of a known family under an invented name; its parameters are computed."""
    size = rng.randint(3, 9)
    family, n, k, d, told = rng.choice(_families(size))
    title, threshold = name(rng), round(rng.uniform(0.4, 11.0), 2)
    other = round(threshold * rng.uniform(1.2, 1.6), 2)
    year = rng.randint(1998, 2025)
    parent, cousin = rng.sample(_PARENTS, 2)
    ident = f"{title.lower()}_{size}"
    record: dict[str, Any] = {
        "code_id": ident, "physical": "qubits", "logical": "qubits", "name": f"{title} code",
        "introduced": f"{name(rng)} {year}",
        "description": f"A {family} code with parameters [[{n},{k},{d}]].",
        "protection": f"Corrects up to {(d - 1) // 2} errors on single qubits.",
        "features": {"threshold": f"{threshold}%", "rate": f"{k}/{n}"},
        "relations": {"parents": [{"code_id": parent}], "cousins": [{"code_id": cousin}]},
    }  # fmt: skip
    evidence = [
        (
            f"The {title} code (code_id {ident}) was introduced by {record['introduced']}; it "
            f"encodes logical qubits into physical qubits and is a {family} code."
        ),
        told,
        (
            f"Decoded by matching, its threshold under depolarising noise is {threshold}%; an "
            f"earlier estimate of {other}% suffered from small sizes and is withdrawn."
        ),
        f"It belongs to the family {parent} (parent), and is a cousin of {cousin}.",
    ]
    return Made(f"The {title} code", evidence, record)


def _families(size: int) -> list[tuple[str, int, int, int, str]]:
    """Name, parameters [[n, k, d]], and how a paper defines them."""
    r = min(size, 6)
    return [
        ("toric", 2 * size**2, 2, size,
         (f"Qubits sit on the edges of a square lattice of {size} by {size} vertices with periodic "
         "boundaries; stabilisers are the usual stars and plaquettes.")),
        ("rotated surface", size**2, 1, size,
         f"Qubits sit on the vertices of a patch of {size} by {size} with alternating boundaries."),
        ("quantum repetition", size, 1, 1,
         (f"A logical qubit is repeated over {size} qubits with neighbouring ZZ checks only, so "
         "that a single phase error is a logical one.")),
        ("quantum Hamming", 2**r - 1, 2**r - 1 - 2 * r, 3,
         (f"The construction of Calderbank, Shor and Steane takes the Hamming code with {r} parity "
         "checks for both kinds of errors.")),
        ("quantum Reed-Muller", 2**r - 1, 1, 3,
         (f"Stabilisers come from the punctured Reed-Muller code of length 2^{r} - 1, so that "
         "there is one logical qubit of distance 3.")),
        ("hypergraph product", size**2 + (size - 1) ** 2, 1, size,
         f"It is the hypergraph product of the repetition code of length {size} with itself."),
    ]  # fmt: skip
