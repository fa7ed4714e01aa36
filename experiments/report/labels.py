"""What runs of one report are called: what differs between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Fields of a summary that name a run, the first where nothing differs.
FIELDS = ("system", "retrieval", "model", "benchmark", "level")
#: Keys of a configuration that say where or how a run is done, or repeat `FIELDS`.
_SILENT = {"out", "name", "_target_", "digest", "answers", "path", "level"}
_SILENT_GROUPS = {
    "out",
    "name",
    "launcher",
    "concurrency",
    "run_budget",
    "limit",
    "ids",
    "retrieval",
    "prompts",
}
#: Groups that no field of a summary names.
_NAMED_GROUPS = ("embedding", "judge", "prompts", "ranking", "reranker")


@dataclass(frozen=True)
class RunName:
    """A unique label; ``distinction`` is what the names of its parts do not say."""

    label: str
    distinction: str


def run_names(
    summaries: Sequence[Mapping[str, Any]], folders: Sequence[str]
) -> list[RunName]:
    """Names of runs: the fields that differ, then the keys that differ, then the folder."""
    fields = _differing([{f: s.get(f) for f in FIELDS} for s in summaries])
    bases = [
        " + ".join(str(summary.get(field)) for field in fields or ["system"])
        for summary in summaries
    ]
    if len(set(bases)) == len(bases):
        return [RunName(base, "") for base in bases]
    settings = [_settings(summary.get("config", {})) for summary in summaries]
    keys = [key for key in _differing(settings) if not _follows(key, settings)]
    titles = _titles(keys)
    distinctions = [
        ", ".join(f"{titles[key]} {_word(each.get(key))}" for key in keys)
        for each in settings
    ]
    pairs = list(zip(bases, distinctions, strict=True))
    return [
        RunName(f"{base} ({text})", text)
        if text and pairs.count((base, text)) == 1
        else RunName(f"{base} ({folder})", text or folder)
        for base, text, folder in zip(bases, distinctions, folders, strict=True)
    ]


def _differing(each: Sequence[Mapping[str, Any]]) -> list[str]:
    keys = dict.fromkeys(key for values in each for key in values)
    return [key for key in keys if len({str(values.get(key)) for values in each}) > 1]


def _follows(key: str, each: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the choice of a group, which is named, says already what a key of it is."""
    group = key.partition(".")[0]
    if group == key or group not in _NAMED_GROUPS:
        return False
    values: dict[str, set[str]] = {}
    for settings in each:
        values.setdefault(str(settings.get(group)), set()).add(str(settings.get(key)))
    return all(len(alternatives) == 1 for alternatives in values.values())


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Every key of a configuration that changes answers, as a user types it."""
    settings: dict[str, Any] = {}
    for group, content in config.items():
        if group in _NAMED_GROUPS:
            settings[group] = (
                content.get("name") if isinstance(content, Mapping) else None
            )
        if group in _SILENT_GROUPS:
            continue
        settings |= {
            key: value
            for key, value in _flat(content, group)
            if key.rpartition(".")[2] not in _SILENT and value is not None
        }
    return settings


def _flat(value: object, key: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        yield key, value
        return
    for name, inner in value.items():
        yield from _flat(inner, f"{key}.{name}")


def _titles(keys: Sequence[str]) -> dict[str, str]:
    """The last word of each key, or the whole key where several end alike."""
    last = [key.rpartition(".")[2] for key in keys]
    return {
        key: word if last.count(word) == 1 else key
        for key, word in zip(keys, last, strict=True)
    }


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else str(value)
