"""A checkout of NovelAPIBench with tasks of our own."""

import json

import yaml

from tests.support.paths import DATA

TABLES = yaml.safe_load(DATA.joinpath("novelapi.yaml").read_text())


def task(name, **changes):
    return {**TABLES["task"], "task_id": name, **changes}


def write(root, **lines):
    for name, rows in lines.items():
        file = root / f"data/benchmark/{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_checkout(tmp_path):
    """A folder in the layout of the authors' repository."""
    root, harness = tmp_path / "checkout", TABLES["task"]["test_harness"]
    for name, content in TABLES["files"].items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    argv = f"{harness['execution_test']}\nimport sys\nassert sys.argv[1:] == ['--five']"
    cli = {"setup_code": harness["setup_code"], "execution_test": argv}
    write(
        root,
        tasks=[
            task("a"),
            task("out"),
            task("unknown"),
            task("cli", test_harness=cli),
            task("other", library="ase", api_name="ase.Atoms"),
        ],
        expected_calls=[
            {"task_id": n, **TABLES["call"]} for n in ("a", "out", "cli", "other")
        ],
        bundles=[TABLES["bundle"]],
    )
    return root
