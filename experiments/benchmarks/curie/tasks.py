"""The ten tasks: what each asks of a paper, and in which form its answer is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: How an answer is read: JSON, code, a FASTA sequence, a box in degrees, or text as it is.
Form = Literal["json", "code", "fasta", "box", "text"]
#: Variants of MPV.
Variant = Literal["all", "non_trivial", "specific"]

PAPER, PICTURE = "paper.txt", "map.png"


@dataclass(frozen=True)
class Task:
    """One of the ten tasks.

    Attributes
    ----------
    name
        As in labels and tables.
    domain
        Folder of the archive; three tasks share the papers of ``dft``.
    prompt_file
        The authors' prompt.
    listed
        Whether the answer is a list of dicts that a judge pairs with the gold (LLMSim).
    ask
        Our own prompt.
    """

    name: str
    domain: str
    prompt_file: str
    form: Form
    ask: str
    listed: bool = False


_KEYS = "Use these keys, and leave out what the paper does not say"

TASKS = (
    Task(
        "dft_s", "dft", "extract_structure_data_1_shot", "json",
        "List every distinct input structure of the authors' own calculations: a JSON list of "
        f"objects. {_KEYS}: id (structure_metadata_1, structure_metadata_2, ... in the order of "
        "the paper), common_name, scientific_name, type, composition, description, vacuum_x, "
        "vacuum_y, vacuum_z, supercell, cas_number, lattice_a, lattice_b, lattice_c, space group, "
        "orientation, mp_id, isomer_name. Lengths are texts with their unit.",
        listed=True,
    ),
    Task(
        "dft_p", "dft", "extract_dft_metadata_1_shot", "json",
        "List every distinct set of settings of the authors' production calculations: a JSON list "
        f"of objects. {_KEYS}: function_name, software, functional, k-points, energy_cutoff, "
        "energy_convergence, force_convergence, relaxed_nuclei, relaxed_unit_cell, spin (1.0 for "
        "yes, 0.0 for no), hubbard_U, other_information. Quantities are texts with their unit.",
        listed=True,
    ),
    Task(
        "dft_c", "dft", "write_code_for_paper_0_shot", "code",
        "Write Python that reproduces the total energies of the paper with ASE and its calculator "
        "EMT, for the final structures of the paper: one function `energies` without arguments "
        "that returns a dict from the paper's label of each structure to its total energy in eV. "
        "Use ase.build with the cells as given, and relax nothing. Reply with one Python block.",
    ),
    Task(
        "mpv", "mpve", "mat_paper_to_property_1_shot", "json",
        "List every value of a material property that the authors report for their own samples, "
        f"once each: a JSON list of objects. {_KEYS}: material, material_descriptor, "
        "property_name, property_descriptor, low_value, high_value (equal for a single value), "
        "value_units, value_source_passage.{variant}",
        listed=True,
    ),
    Task(
        "hfd", "hfd", "derivation_prompt", "json",
        "Derive the mean-field Hamiltonian of the paper's lattice model, with all contractions "
        "that conserve charge and spin. Reply with a JSON list of five objects with the keys step "
        "and answer (LaTeX): 1 the kinetic part with the chemical potential, 2 the interaction, "
        "3 the Hartree terms of the on-site part, 4 those of the rest of the interaction, 5 the "
        "Fock terms; in the paper's symbols. A part that does not occur is 0.",
    ),
    Task(
        "hfe", "hfe", "extract_hamiltonian_0_shot", "text",
        "Extract the most general mean-field Hamiltonian of the paper, not a special case. Reply "
        "with exactly: The general Hartree-Fock Hamiltonian is $H = ...$ where $...$ — its "
        "operators and symbols as in the paper.",
    ),
    Task(
        "qecc", "qecc_65", "describe_code_in_paper", "text",
        "Describe the paper's quantum code as an entry of a catalogue. Reply with YAML, keys in "
        "this order: code_id, physical, logical, name, introduced, description (with the "
        "parameters as [[n, k, d]]), protection, features (threshold, rate), relations (parents "
        "and cousins, each a list of code_id).",
    ),
    Task(
        "geo", "geo", "extract_dataset_from_geo_papers_0_shot", "json",
        "List the datasets that the paper uses. Reply with JSON: paper_title and datasets, a list "
        "of objects with dataset_name, dataset_website_or_source (a list) and variables: a list of "
        "objects with variable_name, description, time_range (a list of objects with start_date "
        "and end_date, YYYY-MM-DD) and spatial_range (a list of places).",
    ),
    Task(
        "biogr", "biogr", "georeference_image_0_shot", "box",
        "Which box of WGS84 latitude and longitude does the frame of the map show, the large map "
        'and not its inset? Reply with JSON in decimal degrees: {"W": ..., "S": ..., "E": ..., '
        '"N": ...}. W may be larger than E where the map crosses the date line.',
    ),
    Task(
        "pdb", "pdb", "reconstruct_protein_amino_acid_sequence_0_shot", "fasta",
        "Write the amino acid sequence of the protein whose ATOM records are given, in one-letter "
        "codes, X for an unknown residue, each residue once. Reply in FASTA: a line that begins "
        "with >, then the sequence in one line.",
    ),
)  # fmt: skip

NAMES = tuple(task.name for task in TASKS)

VARIANTS: dict[Variant, str] = {
    "all": "",
    "non_trivial": " Leave out how samples were made and shaped: thickness, temperatures and times "
    "of treatments.",
    "specific": " Only band gaps and refractive indices.",
}
_VARIANT_FILES: dict[Variant, str] = {
    "all": "", "non_trivial": "_exclude_trivia", "specific": "_bandgap_refractive",
}  # fmt: skip


def prompt_file(task: Task, variant: Variant) -> str:
    """Name of the authors' prompt."""
    return task.prompt_file + (_VARIANT_FILES[variant] if task.name == "mpv" else "")


def own_prompt(task: Task, variant: Variant) -> str:
    """Our own prompt."""
    return task.ask.replace("{variant}", VARIANTS[variant])
