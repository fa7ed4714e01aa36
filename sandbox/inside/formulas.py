r"""Compares formulas by SymPy, in the sandbox for verification only.

LaTeX and plain text are rewritten as an expression of numbers, known functions and symbols of our
own, and of nothing else, which SymPy parses: no word of an answer is evaluated. What cannot be
rewritten makes two formulas incomparable, never equal. Two formulas agree when they have the same
values at several points, or SymPy finds that their difference is zero. The sides of an equation may
change places; a symbol never counts as another.
"""

from __future__ import annotations

import random
import re
import unicodedata

MAX_CHARACTERS, MAX_ROUNDS, MAX_SIGNS, MAX_POWERS = 2000, 100, 150, 25
POINTS, TOLERANCE, MAX_EXPONENT = 5, 1e-9, 1000

_GREEK = re.findall(
    r"\w+",
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega",
)
_LETTERS = {*_GREEK, *(n.title() for n in _GREEK), "hbar", "ell", "nabla", "partial"}
#: Two ways to write one letter, unless a formula has both.
_VARIANTS = ("epsilon", "theta", "phi", "rho", "sigma", "kappa", "pi")
_CIRCLE = tuple(f"{name}{h}" for name in ("sin", "cos", "tan") for h in ("h", ""))
_NAMES = {name: name for name in (*_CIRCLE, "exp", "sqrt")} | {
    "ln": "log",
    "log": "log10",
}
_NAMES |= {f"{arc}{name}": f"a{name}" for name in _CIRCLE for arc in ("arc", "a")}
_NAMES |= {"lg": "log10"}
_FONTS = "mathrm|mathbf|mathit|boldsymbol|operatorname|text(?:rm|bf|it)?"
_MARKS = "bar|hat|vec|overline|tilde|dot|mathcal"
#: One after the other: what it looks like, what it means.
_DRESS = [
    (re.compile(pattern), plain)
    for pattern, plain in (
        (
            r"\$|&|\\[()\[\]]|\\(?:left|right|[bB]igg?[lr]?|displaystyle|limits)(?![a-zA-Z])",
            " ",
        ),
        (r"\\[,;:!> ]|~", " "),
        (r"\\(?:times|cdot|ast)(?![a-zA-Z])|[\u00d7\u00b7\u22c5\u2219]", " * "),
        (r"\\div(?![a-zA-Z])|\u00f7", " / "),
        (r"[\u2010-\u2015\u2212]", "-"),
        (r"\\[dtc]frac(?![a-zA-Z])", r"\\frac"),
        (r"\*\*", "^"),
        (r"\\\{", "("),
        (r"\\\}", ")"),
        (
            rf"\\(?:{_FONTS})\s*\{{\s*(exp|ln|log|sin|cos|tan|e(?=\s*\}}\s*\^))\s*\}}",
            r" \1 ",
        ),
        (r"\\?\b(sin|cos|tan)h?\s*\^\s*\{?-1\}?(?!\d)", r" arc\1 "),
        (r"\\?log\s*_\s*(?:10|\{\s*10\s*\})(?!\d)", " log "),
        (r"\\?log\s*_\s*(?:2|\{\s*2\s*\})(?!\d)", " (1/log(2)) log "),
        (rf"\\(?:{_FONTS})\s*\{{([^{{}}]*)\}}", "\ue000\\1\ue001"),
        (rf"\\({_MARKS})\s*\{{?(\\?[A-Za-z]+)\}}?", "\ue000\\1 \\2\ue001"),
        (r"\s*_\s*", "_"),
    )
]
_SYMBOL = re.compile(
    rf"(?P<function>\\?(?:{'|'.join(sorted(_NAMES, key=len, reverse=True))}))(?![a-zA-Z]*_)"
    r"|(?P<frac>\\frac)|(?P<base>\ue000[^\ue000\ue001]*\ue001|\\[a-zA-Z]+|[a-zA-Z])(?P<prime>'*)"
    r"(?:_(?P<index>\{[^{}]*\}|\ue000[^\ue000\ue001]*\ue001|\\[a-zA-Z]+|[a-zA-Z0-9]))?"
)
_GROUPS = [
    (re.compile(pattern), plain)
    for pattern, plain in (
        (r"\\frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))", r"((\1\2)/(\3\4))"),
        (r"\bsqrt\s*\[([^\[\]]*)\]\s*\{([^{}]*)\}", r"((\2)^(1/(\1)))"),
        (r"\bsqrt\s*\{([^{}]*)\}", r"sqrt(\1)"),
        (r"\^\s*\{([^{}]*)\}", r"^(\1)"),
    )
]
_GROUP = re.compile(r"\{([^{}]*)\}")
_KNOWN = sorted({*_NAMES.values(), "Abs", "E", "pi"}, key=len, reverse=True)
_FACTOR = r"(?:\d+(?:\.\d+)?|s\d+|pi)"
_ROOT = re.compile(rf"\bsqrt\s*({_FACTOR})")
_BARE = re.compile(
    rf"\b((?:a?(?:sin|cos|tan)h?|log|log10|exp))\s+({_FACTOR}(?:\s*\*\*\s*(?:\d+|\([^()]*\)))?"
    rf"(?:\s+{_FACTOR})*)(?!\s*\()"
)
_SAFE = re.compile(
    rf"(?:\s|\d+(?:\.\d+)?|\.\d+|[-+*/(),]|\b(?:{'|'.join(_KNOWN)}|s\d+)\b)+"
)
_CHEMICAL = re.compile(
    r"(?:[A-Z][a-z]?(?:_?\{?[\dxyz.]+\}?)?|[()])+(?:[\^_]\{?\d*[-+]\}?)?"
)


def equal(pairs: list[list[str]]) -> list[bool]:
    """Whether both formulas of each pair say the same."""
    return [_equal(one, other) for one, other in pairs]


def _equal(one: str, other: str) -> bool:
    symbols: dict[str, str] = {}
    try:
        texts = [_plain(text) for text in (one, other)]
        for letter in _VARIANTS:
            variant = rf"\\var{letter}(?![a-zA-Z])"
            if not any(re.search(variant, t) and f"\\{letter}" in t for t in texts):
                texts = [re.sub(variant, rf"\\{letter}", t) for t in texts]
        bare = [re.sub(r"[\s\ue000\ue001]", "", text) for text in texts]
        if any(map(_CHEMICAL.fullmatch, bare)):  # CO is not OC
            return bare[0] == bare[1]
        left, right = (
            [_rewritten(side, symbols) for side in t.split("=")] for t in texts
        )
        if max(len(left), len(right)) > 2:
            return False
        if len(left) == len(right) == 2:
            return any(
                _same(left[0], sides[0], symbols) and _same(left[1], sides[1], symbols)
                for sides in (right, right[::-1])
            )
        return _same(left[-1], right[-1], symbols)  # a symbol in front may be left out
    except Exception:  # noqa: BLE001 -- not known here, or whatever a hostile text makes of a parser
        return False


def _plain(text: str) -> str:
    """A formula without dress; Greek letters and small digits as LaTeX."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError
    small = r"([\u2070\u00b9\u00b2\u00b3\u2074-\u207b]+)|[\u2080-\u2089]+"
    text = re.sub(small, _small, text)
    text = re.sub(r"[\u0370-\u03ff\u00b5]", _greek, text.replace("\u221a", r"\sqrt "))
    for pattern, plain in _DRESS:
        text = pattern.sub(plain, text)
    return text


def _small(match: re.Match[str]) -> str:
    return f"{'^' if match[1] else '_'}{{{unicodedata.normalize('NFKC', match[0])}}}"


def _greek(match: re.Match[str]) -> str:
    words = unicodedata.name(match[0], "").lower().split()
    name = {"lamda": "lambda", "sign": "mu"}.get(words[-1], words[-1]) if words else ""
    variant = "var" if "symbol" in words and name in _VARIANTS else ""
    return f" \\{variant}{name.title() if 'capital' in words else name} "


def _rewritten(text: str, symbols: dict[str, str]) -> str:
    """One side as text for SymPy, with symbols of our own."""

    def known(match: re.Match[str]) -> str:
        if match["function"]:
            return f" {_NAMES[match['function'].removeprefix(chr(92))]} "
        if match["frac"]:
            return match[0]
        base, index = (
            re.sub(r"[{}\\\s\ue000\ue001]", "", part or "")
            for part in (match["base"], match["index"])
        )
        if match["base"].startswith("\\") and base.removeprefix("var") not in _LETTERS:
            raise ValueError
        if not index and not match["prime"]:
            if base == "pi":
                return " pi "
            if base == "e" and match.string[match.end() :].lstrip().startswith("^"):
                return " E "
        name = f"{base}{match['prime']}_{index}"
        return f" {symbols.setdefault(name, f's{len(symbols)}')} "

    text = _SYMBOL.sub(known, text)
    for _ in range(MAX_ROUNDS):
        before = text
        for pattern, plain in _GROUPS:
            text = pattern.sub(plain, text)
        if text == before:
            text = _GROUP.sub(r"(\1)", text, count=1)
        if text == before:
            break
    text = re.sub(r"\|([^|]*)\|", r"Abs(\1)", text).replace("[", "(").replace("]", ")")
    text = _ROOT.sub(r"sqrt(\1)", text.replace("^", "**"))
    text = _BARE.sub(r" \1(\2) ", text)
    long = (
        len(re.findall(r"[-+*/(]", text)) > MAX_SIGNS or text.count("**") > MAX_POWERS
    )
    if long or not _SAFE.fullmatch(text):
        raise ValueError
    return text


def _same(one: str, other: str, names: dict[str, str]) -> bool:
    import sympy  # noqa: PLC0415 -- slow
    from sympy.parsing import sympy_parser as parser  # noqa: PLC0415

    symbols = [sympy.Symbol(text, positive=True) for text in names.values()]
    functions = {name: getattr(sympy, name) for name in _KNOWN if name != "log10"}
    local = (
        functions | {s.name: s for s in symbols} | {"log10": lambda x: sympy.log(x, 10)}
    )
    rules = (
        parser.auto_number,
        parser.rationalize,
        parser.implicit_multiplication,
        parser.implicit_application,
        parser.function_exponentiation,
    )
    numbers = {
        name: getattr(sympy, name)
        for name in ("Integer", "Float", "Rational", "Add", "Mul", "Pow")
    }
    first, second = (
        parser.parse_expr(
            text, local, rules, numbers | {"__builtins__": {}}, evaluate=False
        )
        for text in (one, other)
    )
    powers = {power for each in (first, second) for power in each.atoms(sympy.Pow)}
    for power in sorted(
        powers, key=lambda power: power.count_ops()
    ):  # inner ones first
        if power.exp.is_number and not abs(complex(power.exp.evalf())) <= MAX_EXPONENT:
            raise ValueError
    source = random.Random(1)  # noqa: S311 -- the same points for everybody
    agreeing = True
    for _ in range(POINTS):
        point = {
            symbol: sympy.Float(source.uniform(0.5, 1.5), 30) for symbol in symbols
        }
        a, b = (complex(each.evalf(30, subs=point)) for each in (first, second))
        if not max(abs(a), abs(b)) < float("inf"):
            return False
        if abs(a - b) > TOLERANCE * max(abs(a), abs(b)):
            agreeing = False
            if abs(a - b) > TOLERANCE:
                return False
    return agreeing or sympy.simplify(first - second) == 0  # perhaps both are zero
