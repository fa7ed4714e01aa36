"""Generated questions: golds follow from formulas, and nothing but a right answer passes."""

import random
import re
from decimal import Decimal
from pathlib import Path

import pytest

from agents.models.rules.formulas import evaluate
from experiments.benchmarks.omnimatbench import drawings
from experiments.benchmarks.omnimatbench.benchmark import OmniMatBenchmark, OmniMatError
from experiments.benchmarks.omnimatbench.generate import TEMPLATES, calculations, proses
from experiments.benchmarks.omnimatbench.item import AmbiguousError, rounded
from experiments.benchmarks.omnimatbench.numbers import read
from experiments.benchmarks.omnimatbench.slots import flat, significant_figures
from experiments.summary import samples_digest


def made(seed=1, items=5):
    return list(calculations(seed, items, list(TEMPLATES)))


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_formulas_give_the_golds(template):
    for each in calculations(1, 20, [template]):
        draft = each.draft
        known = {symbol: float(value) for symbol, (value, _) in draft.given.items()}
        lines = [tuple(line.split(" = ")) for line in draft.formulas]
        values = evaluate(lines, known | dict(draft.seen))
        numbers = [slot for slot in draft.slots if isinstance(slot.value, float)]
        assert numbers
        for slot in numbers:
            again = rounded(values[slot.symbol], decimals=slot.decimals, figures=slot.figures)
            assert again == slot.gold, slot


def test_one_given_constant_is_not_needed():
    for each in made(items=1):
        used = " ".join(each.draft.formulas)
        words = set(re.findall(r"\w+", used))
        assert [symbol for symbol in each.draft.given if symbol not in words], each.name


def test_off_by_one_per_cent_fails_where_four_digits_are_asked():
    checked = 0
    for each in made():
        for gold in each.golds:
            number = read(gold)
            if number is not None and number.digits >= 4:
                checked += 1
                for factor in ("1.01", "0.99"):
                    off = number.value * Decimal(factor).as_integer_ratio()[0]
                    off /= Decimal(factor).as_integer_ratio()[1]
                    assert not significant_figures(gold, f"{off.numerator}/{off.denominator}")
    assert checked > 20


def test_gates():
    for each in made():
        golds = list(each.golds)
        assert all(map(significant_figures, golds, golds))
        for answer in ("", "0", each.text, "-"):
            assert not any(significant_figures(gold, answer) for gold in golds), each.name
        turned = golds[1:] + golds[:1]
        if len(set(golds)) > 1:
            assert not all(map(significant_figures, golds, turned))


def test_two_seeds_share_no_item_and_one_seed_makes_the_same():
    def shown(seed):
        return {c.text + repr(c.draft.picture) + repr(c.golds) for c in made(seed, 3)}

    assert shown(1) == shown(1)
    for seed in range(2, 8):
        assert not shown(1) & shown(seed)
    assert len(shown(1)) == 48
    assert not {p.text for p in proses(1, 10)} & {p.text for p in proses(2, 10)}


def test_no_gold_is_near_a_rounding_boundary():
    with pytest.raises(AmbiguousError):
        rounded(1.2251, decimals=2, figures=None)
    with pytest.raises(AmbiguousError):
        rounded(9.996e-5, decimals=None, figures=3)
    assert rounded(1.226, decimals=2, figures=None) == "1.23"
    assert rounded(-0.001, decimals=1, figures=None) == "0.0"
    assert rounded(123400.0, decimals=None, figures=3) == "1.23 \\times 10^{5}"


def test_pictures_are_known_by_what_they_show(monkeypatch, tmp_path):
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path))
    benchmark = OmniMatBenchmark(items=1)
    before = benchmark.load()
    images = [part for sample in before for part in sample.question.parts]
    assert len(images) == 6
    assert all(image.data.startswith(b"\x89PNG") and len(image.data) < 45_000 for image in images)
    monkeypatch.setattr(drawings, "draw", lambda _: b"\x89PNG of another version")
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "other"))
    for arm in ("direct", "tool"):
        ours = OmniMatBenchmark(items=1, arm=arm)
        monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path))
        one = samples_digest(ours.load())
        monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "other"))
        assert samples_digest(ours.load()) == one, arm


def test_golds_are_in_no_prompt_and_no_file(monkeypatch, tmp_path):
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path))
    for arm in ("direct", "formula", "distractors", "retrieval", "tool"):
        for sample in OmniMatBenchmark(items=2, arm=arm).load():
            golds = flat(sample.target["slots"])
            long = [gold for gold in golds if read(gold) is not None and len(gold) > 5]
            files = [Path(path).read_bytes() for path in sample.question.mounts.values()]
            shown = [sample.question.prompt.encode(), *files]
            shown += [part.data for part in sample.question.parts]
            assert not any(gold.encode() in each for gold in long for each in shown)


def test_arms_ask_for_the_same_answers():
    samples = {
        arm: OmniMatBenchmark(items=1, arm=arm, templates=["hall_petch", "lever"]).load()[0]
        for arm in ("direct", "formula", "distractors", "choose", "retrieval", "tool")
    }
    targets = {arm: str(sample.target["slots"]) for arm, sample in samples.items()}
    assert len(set(targets.values())) == 2  # the letter of `choose`
    assert targets["choose"] in {f"['{letter}']" for letter in "ABCD"}
    formula = "s_3 = sigma_0 + k_y * d_3**-0.5"
    assert formula not in samples["direct"].question.prompt
    for arm in ("formula", "distractors", "choose"):
        assert formula in samples[arm].question.prompt
    assert '[["", ""], [""]]' in samples["tool"].question.prompt


def test_retrieval_ranks_as_published_or_by_our_indexes():
    for ranking in ("published", "bm25", "tfidf"):
        for sample in OmniMatBenchmark(items=1, arm="retrieval", ranking=ranking).load():
            listed = sample.question.prompt.partition("<found>\n")[2].partition("\n</found>")[0]
            assert len(listed.splitlines()) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arm": "code2"}, "use system=code2"), ({"arm": "x"}, "arm=x: choose one of direct"),
        ({"templates": ["x"]}, "templates: no x"), ({"source": "published"}, "needs path=RELEASE"),
        ({"subset": ["x"]}, "subset: no x; there are Composite"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(options, message):
    with pytest.raises(OmniMatError, match=message):
        OmniMatBenchmark(**options).load()


def test_weights_of_key_points_add_up_to_one():
    for each in proses(random.randint(1, 10**6), 10):
        assert sum(weight for _, weight in each.points) == pytest.approx(1)
        assert 3 <= len(each.points) <= 5
        for text, qualities in each.fixed.values():
            assert text
            assert len(qualities) == len(each.points)
