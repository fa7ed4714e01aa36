"""The run folder: what survives what."""

import json

import pytest

from agents.budget import Budget
from experiments.files import write_json
from experiments.record import read_rows
from experiments.run.store import Store, figures_path
from foundation.errors import UsageError
from tests.support.rows import INFRA, row


def test_rows_come_back_and_the_later_one_wins(tmp_path):
    with Store(tmp_path, "h", {}) as store:
        store.append(row(**INFRA), "{}")
        assert store.finished(Budget()) == {}
        store.append(row(), json.dumps({"steps": ["é", "\ud800"]}))
        assert store.finished(Budget()) == {("a", 0): row()}
        assert len(store.lines()) == 2
        store.append(row("../../x"), "{}", {"before": "<svg />"})
        assert "figures" not in store.lines()[-1].model_dump()
    assert (
        json.loads((tmp_path / "trajectories" / "a-0.json").read_text())["steps"][1]
        == "\ud800"
    )
    figures = figures_path(tmp_path, "../../x", 0)
    assert figures.parent == tmp_path / "figures"
    assert json.loads(figures.read_text()) == {"before": "<svg />"}
    assert not figures_path(tmp_path, "a", 0).exists()
    assert not list(tmp_path.parent.glob("x*"))


@pytest.mark.parametrize("kept", range(1, 60, 7))
def test_a_half_written_last_line_is_dropped_and_a_damaged_one_is_named(tmp_path, kept):
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
    path.write_bytes(b"garbage\n" + path.read_bytes())
    with pytest.raises(UsageError, match=r"results\.jsonl, line 1"):
        list(read_rows(path))


def test_a_folder_belongs_to_one_configuration_of_one_version_and_one_process(tmp_path):
    run, old = tmp_path / "run", tmp_path / "old"
    old.mkdir()
    write_json(old / "run.json", {"config_hash": "h", "config": {}})
    (tmp_path / "file").write_text("")
    with (
        Store(run, "h", {"system": {"k": 5}}),
        pytest.raises(UsageError, match="another process"),
    ):
        Store(run, "h", {"system": {"k": 5}})
    for folder, key, description, told in (
        (run, "other", {"system": {"k": 6}}, r"system\.k was 5, now 6"),
        (run, "other", {"system": {"k": 5}, "limit": 3}, "the questions changed"),
        (old, "h", {}, "written by another version of matsmith"),
        (tmp_path / "file", "h", {}, "cannot be used as a run folder"),
    ):
        with pytest.raises(UsageError, match=told):
            Store(folder, key, description)


def test_other_package_versions_do_not_share_a_table(tmp_path):
    for _ in range(2):
        with Store(tmp_path, "h", {}) as store:
            store.remember_packages({"live": {"pymatgen": "1"}})
    with (
        Store(tmp_path, "h", {}) as store,
        pytest.raises(UsageError, match="was 1, now 2"),
    ):
        store.remember_packages({"live": {"pymatgen": "2"}})


def test_writing_leaves_no_temporary_file(tmp_path):
    write_json(tmp_path / "a.json", {"a": 1})
    loop: dict = {}
    loop["loop"] = loop
    with pytest.raises(ValueError, match="Circular"):
        write_json(tmp_path / "a.json", loop)
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": 1}
