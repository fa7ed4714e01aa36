"""The run folder: what survives what."""

import json

import pytest

from agents.budget import Budget
from experiments.run.rows import Row, read_rows
from experiments.run.store import Store, figures_path, write_json
from matsmith.core.errors import UsageError


def row(question="a", seed=0, **changes):
    fields = {
        "config_hash": "h", "question_id": question, "seed": seed, "labels": {}, "cluster": "",
        "parts": 1, "outcome": "ok", "values": {"runnable": 1.0}, "passed": {"x": True},
        "reasons": {}, "artefacts": {},
        "stop_reason": "answered", "format_status": "strict", "calls": 1, "cached_calls": 0,
        "prompt_tokens": 1, "completion_tokens": 1, "tokens_estimated": False, "cost_usd": None,
        "executions": 0, "seconds": 0.1, "sandbox_seconds": 0.1, "tier": "bubblewrap",
        "error": None,
    }  # fmt: skip
    return Row(**(fields | changes))


INFRA = {"outcome": "infra", "values": {}, "passed": None, "stop_reason": "model_error"}


def test_rows_come_back_and_the_later_one_wins(tmp_path):
    with Store(tmp_path, "h", {}) as store:
        store.append(row(**INFRA), "{}")
        assert store.finished(Budget()) == {}
        store.append(row(), json.dumps({"steps": ["é", "\ud800"]}))
        assert store.finished(Budget()) == {("a", 0): row()}
        assert len(store.lines()) == 2
    assert json.loads((tmp_path / "trajectories" / "a-0.json").read_text())["steps"][1] == "\ud800"


@pytest.mark.parametrize("kept", range(1, 60, 7))
def test_a_half_written_last_line_is_dropped(tmp_path, kept):
    with Store(tmp_path, "h", {}) as store:
        store.append(row("a"), "{}")
        store.append(row("b"), "{}")
    path = tmp_path / "results.jsonl"
    first = path.read_bytes().index(b"\n") + 1
    path.write_bytes(path.read_bytes()[: first + kept])
    assert [r.question_id for r in read_rows(path)] == ["a"]
    with Store(tmp_path, "h", {}) as store:
        assert set(store.finished(Budget())) == {("a", 0)}
        store.append(row("c"), "{}")
        assert set(store.finished(Budget())) == {("a", 0), ("c", 0)}


def test_a_damaged_line_in_the_middle_is_named(tmp_path):
    with Store(tmp_path, "h", {}) as store:
        store.append(row("a"), "{}")
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"garbage\n" + path.read_bytes())
    with pytest.raises(UsageError, match=r"results\.jsonl, line 1"):
        list(read_rows(path))


def test_one_process_at_a_time(tmp_path):
    with Store(tmp_path, "h", {}), pytest.raises(UsageError, match="another process"):
        Store(tmp_path, "h", {})
    Store(tmp_path, "h", {}).__exit__()


def test_a_folder_belongs_to_one_configuration(tmp_path):
    Store(tmp_path, "h", {"system": {"k": 5}}).__exit__()
    with pytest.raises(UsageError, match=r"system\.k was 5, now 6"):
        Store(tmp_path, "other", {"system": {"k": 6}})
    with pytest.raises(UsageError, match="the questions changed"):
        Store(tmp_path, "other", {"system": {"k": 5}, "limit": 3})


def test_other_package_versions_do_not_share_a_table(tmp_path):
    with Store(tmp_path, "h", {}) as store:
        store.remember_packages({"live": {"pymatgen": "1"}})
    with Store(tmp_path, "h", {}) as store:
        store.remember_packages({"live": {"pymatgen": "1"}})
        with pytest.raises(UsageError, match="pymatgen was 1, now 2"):
            store.remember_packages({"live": {"pymatgen": "2"}})


def test_a_file_as_folder_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be used as a run folder"):
        Store(tmp_path / "file", "h", {})


def test_hostile_question_ids_stay_in_the_folder(tmp_path):
    with Store(tmp_path / "run", "h", {}) as store:
        store.append(row("../../x"), "{}")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_writing_leaves_no_temporary_file(tmp_path):
    write_json(tmp_path / "a.json", {"a": 1})
    loop: dict = {}
    loop["loop"] = loop
    with pytest.raises(ValueError, match="Circular"):
        write_json(tmp_path / "a.json", loop)
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": 1}


def test_a_folder_of_another_version_is_one_clear_line(tmp_path):
    write_json(tmp_path / "run.json", {"config_hash": "h", "config": {}})
    with pytest.raises(UsageError, match="written by another version of matsmith"):
        Store(tmp_path, "h", {})


def test_figures_lie_beside_the_rows(tmp_path):
    with Store(tmp_path, "h", {}) as store:
        store.append(row("a/b"), "{}", {"before": "<svg />"})
        store.append(row("c"), "{}")
        assert "figures" not in store.lines()[0].model_dump()
    assert json.loads(figures_path(tmp_path, "a/b", 0).read_text()) == {"before": "<svg />"}
    assert not figures_path(tmp_path, "c", 0).exists()
