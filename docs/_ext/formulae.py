"""Formulae as pages write them (``Σ_t f_t(π^t) ≤ C·sqrt(max S)``), set as MathML by the build.

Pages of theory stay readable as text; every current browser renders MathML by itself, so that the
site needs no script, no font and no address for it. On those pages indented blocks are displayed,
and in sentences whatever has an index, a power, a Greek name or a sign of mathematics. On others
only an index, a power, a sum or a root counts, since ``alpha`` is the name of a parameter there;
signatures and examples stay as they are written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from sphinx import addnodes

THEORY = ("research/theory", "research/paper-map", "paper/index")
RAISED = re.compile(r"[\^_Σ²³]|sqrt")
GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "eta": "η", "kappa": "κ",
    "lam": "λ", "mu": "μ", "nu": "ν", "omega": "ω", "phi": "φ", "pi": "π", "psi": "ψ",
    "rho": "ρ", "sigma": "σ", "tau": "τ", "theta": "θ",
}  # fmt: skip
FUNCTIONS = (
    "argmax", "argmin", "ceil", "exp", "inf", "ln", "log", "max", "min", "sqrt", "sup", "tanh",
)  # fmt: skip
# Words that stand for a quantity where a sign or a bracket is next to them: regret ≤ (k/eta)·W.
NAMES = (
    "KL", "TV", "approved", "bins", "children", "ds", "gain", "levels", "limit", "mean", "node",
    "prior", "rate", "regret", "report", "reports", "round", "segments", "slow", "stability",
    "violations", "wide", "ΔError",
)  # fmt: skip
LARGE = ("Σ", "Π", "max", "min", "argmin", "argmax", "inf", "sup")
POWERS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789−", strict=True))
ACCENTS = {"\u0302": "^", "\u0303": "~", "\u0304": "¯"}
CLOSING = {"(": ")", "[": "]", "{": "}", "⌊": "⌋", "⌈": "⌉"}
# Typographers turn the prime of b'_i into the apostrophe of a word.
PRIME = r"(?:[′']|’(?!\w|$)|’(?=_))*"
PRIMES = "′'’"
LETTER = r"[^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹½¼¾][\u0300-\u036f]*"
TOKEN = re.compile(
    rf"\s+|\d(?:[\d,]*\d)?(?:\.\d+)?|(?:{LETTER})+{PRIME}|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+|_|\^|.", flags=re.DOTALL
)
RELATIONS = "=≠≤≥<>∈∼∝→≪≫"
THIN = '<mspace width=".17em"/>'
SIGNS = set(f"+−·/×‖{RELATIONS}")
# A formula of more characters may be broken, and no line begins with the comma after one.
LONG, JOINER = 32, "\u2060"
LEADING = ("Σ", "Π", "∫", "E", "P", "Δ")


class Formula:
    """One formula, from its text to MathML; every text has one."""

    def __init__(self, text: str, *, display: bool = False) -> None:
        self.tokens = TOKEN.findall(text)
        self.place, self.display = 0, display

    def mathml(self) -> str:
        """The element, with all that there is in it."""
        block = ' display="block"' if self.display else ""
        return f"<math{block}>{self._row('')}</math>"

    def _row(self, closing: str) -> str:
        """The elements up to a closing bracket, or up to the end."""
        parts: list[str] = []
        while self.place < len(self.tokens) and self.tokens[self.place] != closing:
            token = self.tokens[self.place]
            if token == "/" and self.display and parts and parts[-1] != "<mo>,</mo>":
                self.place += 2 if self.tokens[self.place + 1].isspace() else 1
                parts.append(f"<mfrac>{_bare(parts.pop())}{_bare(self._factor())}</mfrac>")
            elif token.isspace():
                around = [*self.tokens[self.place - 1 : self.place + 2], ""][:3:2]
                self.place += 1
                if len(token) > 3:
                    parts.append('<mspace width="2em"/>')
                elif parts[-1:] == ["<mi>E</mi>"]:
                    parts.append(THIN)
                elif all(map(str.isalnum, around)) and any(map(_is_word, around)):
                    parts.append('<mspace width=".3em"/>')
            else:
                parts.append(self._factor())
        return "".join(parts)

    def _factor(self) -> str:
        """A name, a number, a sign or a bracket, with its index and its power."""
        token = self.tokens[self.place]
        self.place += 1
        base = self._base(token)
        index, power = "", ""
        while self.place < len(self.tokens):
            mark = self.tokens[self.place]
            if mark in "_^" and self.place + 1 < len(self.tokens):
                self.place += 1
                script = self._script()
                index, power = (script, power) if mark == "_" else (index, script)
            elif mark == "*":
                self.place += 1
                power = "<mo>*</mo>"
            elif mark[0] in POWERS:
                self.place += 1
                power = f"<mn>{''.join(POWERS[sign] for sign in mark)}</mn>"
            else:
                break
        if self.tokens[self.place : self.place + 1] in (["("], ["["], ["|"]):
            base = base.removesuffix(THIN)  # ln(q), but ln q
        argument = self._argument(token)
        if not self.display and not (index or power):  # pages are lighter without groups
            return base.removeprefix("<mrow>").removesuffix("</mrow>") + argument
        whole = _scripted(base, index, power, below=self.display and token in LARGE)
        return f"<mrow>{whole}{argument}</mrow>" if argument and self.display else whole + argument

    def _argument(self, token: str) -> str:
        """The argument of a name, if one follows: B(1, b), ln|H|, ln q.

        Name and argument are one factor, of which a fraction may be made.
        """
        if not token[0].isalpha() or token[0] in "ΣΠ":
            return ""
        function = token in FUNCTIONS and token not in LARGE
        after, beyond = [*self.tokens[self.place : self.place + 2], " ", " "][:2]
        if function and after.isspace() and _is_operand(beyond):
            self.place += 1
            return self._factor()
        return self._factor() if after in ("(", "[") or (function and after == "|") else ""

    def _base(self, token: str) -> str:
        if token in CLOSING:
            inside = self._row(CLOSING[token])
            self.place += 1
            opening, closing = (
                f'<mo stretchy="false">{sign}</mo>' for sign in (token, CLOSING[token])
            )
            return f"<mrow>{opening}{inside}{closing}</mrow>"
        if token == "|" and self._bar_closes():
            inside = self._row("|")
            self.place += 1
            opening, closing = (
                f'<mo form="{form}" stretchy="false">|</mo>' for form in ("prefix", "postfix")
            )
            return f"<mrow>{opening}{inside}{closing}</mrow>"
        if token == "sqrt" and self.tokens[self.place : self.place + 1] == ["("]:
            self.place += 1
            inside = self._row(")")
            self.place += 1
            return f"<msqrt>{inside}</msqrt>"
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token[0].isalpha() and token[0] not in "ΣΠ":
            return _name(token)
        if token == "‖":
            return '<mo stretchy="false">‖</mo>'
        return f"<mo>{escape(token)}</mo>"

    def _bar_closes(self) -> bool:
        """Test whether a bar that was read has its second one before the bracket around it ends.

        A bar between spaces says "given": E[a | b].
        """
        depth = 0
        if self._between_spaces(self.place - 1):
            return False
        for place in range(self.place, len(self.tokens)):
            token = self.tokens[place]
            depth += (token in CLOSING) - (token in CLOSING.values())
            if depth < 0:
                return False
            if token == "|" and depth == 0 and not self._between_spaces(place):
                return True
        return False

    def _between_spaces(self, place: int) -> bool:
        around = self.tokens[max(place - 1, 0) : place] + self.tokens[place + 1 : place + 2]
        return len(around) == 2 and all(token.isspace() for token in around)

    def _script(self) -> str:
        token = self.tokens[self.place]
        if token in "{(":
            self.place += 1
            inside = self._row(CLOSING[token])
            self.place += 1
            return f"<mrow>{inside}</mrow>"
        self.place += 1
        if token in "−-+" and self.place < len(self.tokens):  # a signed power, 2^-20
            self.place += 1
            return f"<mrow><mo>−</mo>{self._base(self.tokens[self.place - 1])}</mrow>"
        return self._base(token)


def _name(token: str) -> str:
    plain = token.rstrip(PRIMES)
    primes = "′" * (len(token) - len(plain))
    letter, *accents = unicodedata.normalize("NFD", GREEK.get(plain, plain))
    if len(accents) == 1 and accents[0] in ACCENTS:
        accent = f'<mover><mi>{letter}</mi><mo stretchy="false">{ACCENTS[accents[0]]}</mo></mover>'
        return f"<mrow>{accent}<mo>{primes}</mo></mrow>" if primes else accent
    letter = GREEK.get(plain, plain)
    if plain in FUNCTIONS:
        return f"<mi>{letter}</mi>{THIN}"
    if plain in NAMES:
        return f"<mi>{letter}</mi>"
    return f"<mi>{letter}{primes}</mi>" if len(letter) < 3 else f"<mtext>{letter} </mtext>"


def _scripted(base: str, index: str, power: str, *, below: bool) -> str:
    if not index and not power:
        return base
    if base.count("<") > 2 and not base.startswith(("<mrow", "<msqrt", "<mover")):
        base = f"<mrow>{base}</mrow>"
    index = f"<mrow>{index}</mrow>" if index.count("</") > 1 and index[:5] != "<mrow" else index
    if index and power:
        return f"<msubsup>{base}{index}{power}</msubsup>"
    if index:
        kind = "munder" if below else "msub"
        return f"<{kind}>{base}{index}</{kind}>"
    return f"<msup>{base}{power}</msup>"


def _bare(part: str) -> str:
    """A part of a fraction: one element, without the brackets that only the slash needed."""
    bracketed = re.fullmatch(
        r'<mrow><mo stretchy="false">\(</mo>(.*)<mo stretchy="false">\)</mo></mrow>', part
    )
    return f"<mrow>{bracketed[1]}</mrow>" if bracketed else part


def formulae_in(text: str) -> Iterator[tuple[int, int]]:
    """Where formulae begin and end in a sentence."""
    tokens = [(match.start(), match[0]) for match in TOKEN.finditer(text)]
    place = 0
    while place < len(tokens):
        after = place if tokens[place][1].isspace() else _Reader(tokens, place).read()
        start, end = tokens[place][0], tokens[after][0] if after < len(tokens) else len(text)
        if after > place and _is_formula(text[start:end]):
            yield start, start + len(text[start:end].rstrip())
            place = after
        else:
            place += 1


class _Reader:
    """The longest formula from a token on: no two operands without a sign, no word within it."""

    def __init__(self, tokens: list[tuple[int, str]], place: int) -> None:
        self.tokens, self.place = tokens, place

    def _token(self, place: int) -> str:
        return self.tokens[place][1] if place < len(self.tokens) else ""

    def read(self) -> int:
        """The place after the formula; the first place where there is none."""
        end, depth, operand, place = self.place, [], False, self.place
        while token := self._token(place):
            glued = place == self.place or not self._token(place - 1).isspace()
            if token.isspace():
                place += 1
                continue
            if place == self.place and token in "·/×‖":
                break
            if token in CLOSING and (not operand or glued):
                depth, operand = [*depth, CLOSING[token]], False
            elif depth and token == depth[-1]:
                depth, operand = depth[:-1], True
            elif (
                token in SIGNS
                or (token in ",…" and depth)
                or ((token in LEADING or token in FUNCTIONS) and (glued or not operand))
            ):
                operand = token in ("E", "P") and self._token(place + 1) == "_"
            elif (self._is_operand(place) and (glued or not operand)) or (
                not operand and (self._is_name(place) or self._left_out(place))
            ):
                operand = True
            elif token == "|" and (bar := self._bar(place)):
                place, operand = bar, True
            else:
                break
            place = self._scripts(place + 1)
            end = place if operand and not depth else end
        return end

    def _is_operand(self, place: int) -> bool:
        """Test for a letter or a number; a word is one with a letter as its index: Error_t."""
        token, indexed = self._token(place), self._token(place + 1) in ("_", "^")
        word = token[0].isalpha() and indexed and len(self._token(place + 2)) == 1
        return word or _is_operand(token)

    def _is_name(self, place: int) -> bool:
        """Test for a word of NAMES; one that begins a formula has a sign or a bracket after it."""
        if self._token(place) not in NAMES or place > self.place:
            return self._token(place) in NAMES
        after = self._token(place + 1)
        relation = after.isspace() and self._token(place + 2) in RELATIONS
        return relation or after in ("(", "/", "·")

    def _left_out(self, place: int) -> bool:
        """Test for the dots of H_1 × … × H_n."""
        return self._token(place) == "…" and self._token(place + 2) in SIGNS and place > self.place

    def _scripts(self, place: int) -> int:
        """The place after indices, powers and primes."""
        while (mark := self._token(place)) and (mark in "_^*" or mark[0] in POWERS):
            place += 1
            if mark in "_^":
                place += self._token(place) in ("-", "−")
                place = self._group(place) if self._token(place) in CLOSING else place + 1
        return place

    def _group(self, place: int) -> int:
        """The place after the bracket that closes the one here, with those within it."""
        depth = 0
        while token := self._token(place):
            depth += (token in CLOSING) - (token in CLOSING.values())
            place += 1
            if depth == 0:
                break
        return place

    def _bar(self, place: int) -> int:
        """The place of the second bar of |x|, if it is near; else 0."""
        near = range(place + 1, min(place + 40, len(self.tokens)))
        bars = (at for at in near if self._token(at) == "|")
        second = next(bars, 0)
        if second and any(
            len(self._token(at)) > 3 and self._token(at).isalpha() and self._token(at) not in GREEK
            for at in range(place, second)
        ):
            return 0
        return 0 if self._token(place + 1).isspace() else second


def _is_word(token: str) -> bool:
    """Test for a word that is the name of nothing: reports *that were made*."""
    return len(token) > 2 and token.isalpha() and token not in (*GREEK, *FUNCTIONS, *NAMES)


def _is_operand(token: str) -> bool:
    plain = token.rstrip(PRIMES)
    letters = re.sub(r"[\u0300-\u036f]", "", plain)
    return (
        plain in GREEK
        or (len(letters) == 1 and letters.isalpha())
        or token[0].isdigit()
        or token in "½¼∞"
    )


def _is_formula(text: str) -> bool:
    words = "|".join(rf"\b{name}\b" for name in (*GREEK, *FUNCTIONS))
    signs = rf"[|_^·≤≥∈∼∝²³=+−<>/ΣΠ∫α-ωΑ-Ωĝŷ\u0300-\u036f]|{words}"
    return bool(re.search(signs, text)) and bool(re.search(r"[^\W\d_]|\^", text))


def _light(mathml: str) -> str:
    """The same in HTML: values need no quotes, and the space after ln is a part of its name.

    Brackets around nothing that is high do not stretch, whatever they are told.
    """
    if not re.search(r"<m(?!ath|i>|n>|o>|o |space|text)", mathml) and "<mo form" not in mathml:
        mathml = mathml.replace(' stretchy="false"', "")
    named = re.sub(rf"(?<=\w\w)</mi>{re.escape(THIN)}", "\u2009</mi>", mathml)
    return re.sub(r'="([\w.]+)"(?=(/?))', lambda found: f"={found[1]}{' ' * bool(found[2])}", named)


def _lines(text: str) -> list[str]:
    """A formula of a sentence, in parts between which a line may end: before = and the like."""
    parts, depth, bars = [""], 0, 0
    for token in TOKEN.findall(text) if len(text) > LONG else [text]:
        depth += (token in CLOSING) - (token in CLOSING.values())
        bars += token == "|" and depth == 0
        if token in RELATIONS and depth == 0 and bars % 2 == 0 and parts[-1]:
            parts.append("")
        parts[-1] += token
    return parts


def set_formulae(app: Any, doctree: nodes.document, page: str) -> None:
    """Replace formulae of a page by MathML."""
    if app.builder.format != "html" or page.startswith("gallery/"):
        return
    theory = page in THEORY
    for block in list(doctree.findall(nodes.literal_block)):
        if theory and block.get("language", "none") in ("none", "default"):
            lines = [
                Formula(line, display=True).mathml()
                for line in block.astext().splitlines()
                if line.strip()
            ]
            block.replace_self(
                nodes.raw("", f'<div class="formula">{_light("".join(lines))}</div>', format="html")
            )
    for text in list(doctree.findall(nodes.Text)):
        if not isinstance(
            text.parent,
            (nodes.literal, nodes.literal_block, nodes.title, nodes.raw, nodes.reference,
             addnodes.literal_strong, addnodes.literal_emphasis),
        ) and not _within_signature(text):  # fmt: skip
            _set_in(text, everything=theory)


def _within_signature(text: nodes.Text) -> bool:
    node = text.parent
    while node is not None and not isinstance(node, addnodes.desc_signature):
        node = node.parent
    return node is not None


def _set_in(text: nodes.Text, *, everything: bool) -> None:
    said, parts, place = text.astext(), [], 0
    for start, end in formulae_in(said):
        if not everything and not RAISED.search(said[start:end]):
            continue
        parts += [nodes.Text(said[place:start])] if start > place else []
        broken = [_light(Formula(part).mathml()) for part in _lines(said[start:end])]
        joined = JOINER if re.match(r"[,.;:)]", said[end:]) else ""
        parts.append(nodes.raw("", "".join(broken) + joined, format="html"))
        place = end
    if parts:
        text.parent.replace(text, [*parts, nodes.Text(said[place:])])


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx when to set them."""
    app.connect("doctree-resolved", set_formulae)
    return {"parallel_read_safe": True}
