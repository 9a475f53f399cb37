"""Audits and monitors as HTML pages that need nothing else, neither a network nor a script.

Filters are boxes to tick: rules of style hide what lacks a class of a box that is ticked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.audits.rendering import render
from likewise.errors import AuditError
from likewise.people import Feature, FeatureSchema, features
from likewise.simulate import canvas
from likewise.simulate.canvas import STYLE, Axes
from likewise.validation import choice

if TYPE_CHECKING:
    from likewise.audits import Audit, Comparison, Finding, Monitor, Person


@STYLE
def draw(audit: Audit, ax: Any, kind: str) -> Axes:
    """Draw a figure on axes, or on new ones."""
    choice("kind", kind, tuple(FIGURES), "It is one of the report's figures.")
    if kind not in available(audit):
        raise AuditError(
            f"This audit has no figure {kind!r}; it has {', '.join(available(audit)) or 'none'}. "
            f"The curve needs distances, and the price needs labels."
        )
    axes: Axes = canvas.canvas(300).add_subplot() if ax is None else ax
    FIGURES[kind][0](audit, axes)
    return axes


def available(audit: Audit) -> tuple[str, ...]:
    parts = {"alpha": audit.curve, "rules": audit.rules, "members": audit.members,
             "price": audit.price}  # fmt: skip
    return tuple(kind for kind, part in parts.items() if part)


@STYLE
def figure(audit: Audit, kind: str) -> str:
    """A figure as SVG for a page."""
    draw_on, title, meaning = FIGURES[kind]
    fig = canvas.canvas(290)
    left = 70 if kind == "alpha" else 150
    axes = canvas.axes_on(fig, 44, 196, "", left=left, right=24)
    draw_on(audit, axes)
    return canvas.finish(fig, f"audit-{kind}", f"{title}. {meaning}")


def _alpha(audit: Audit, axes: Axes) -> None:
    alphas = [point.alpha for point in audit.curve]
    for kind, colour, total, name in (
        ("pairs", canvas.BLUE, audit.pairs, "pairs reported"),
        ("people", canvas.VERMILION, audit.population, "people in one of them"),
    ):
        counts = [getattr(point, kind) for point in audit.curve]
        axes.plot(alphas, [100 * c.value / total for c in counts], color=colour, label=name)
        low, high = ([100 * getattr(c, side) / total for c in counts] for side in ("low", "high"))
        if low != high:
            axes.fill_between(alphas, low, high, color=colour, alpha=0.2, linewidth=0)
    if audit.alpha is not None:
        axes.axvline(audit.alpha, color=canvas.SOFT, linestyle="--", linewidth=1)
    axes.set(xlabel="alpha", ylabel="%", ylim=(0, None), xlim=(min(alphas), max(alphas)))
    # Above the axes, where no line can be.
    axes.legend(
        frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.2
    )


def _bars(axes: Axes, names: list[str], values: list[float], colour: str, unit: str) -> None:
    places = np.arange(len(names))[::-1]
    axes.barh(places, values, color=colour, height=0.6)
    axes.set_yticks(
        places.tolist(), [name if len(name) < 25 else name[:23] + "…" for name in names]
    )
    axes.set_xlabel(unit)
    axes.xaxis.set_major_locator(canvas.MaxNLocator(5))
    axes.grid(visible=False)


def _rules(audit: Audit, axes: Axes) -> None:
    rule = audit.panel.rpartition(": ")[2]
    names = [rule, *(counts.rule for counts in audit.rules)]
    pairs = [audit.reported.value, *(counts.pairs.value for counts in audit.rules)]
    _bars(axes, names, [100 * c / audit.pairs for c in pairs], canvas.BLUE, "% of pairs reported")


def _members(audit: Audit, axes: Axes) -> None:
    total = max(1, audit.pairs)
    shares = [100 * audit.objections[name].value / total for name in audit.members]
    _bars(axes, list(audit.members), shares, canvas.VERMILION, "% of pairs objected to")


def _price(audit: Audit, axes: Axes) -> None:
    price = audit.price
    if price is None:  # available() has seen to it
        return
    decided = price.model_cut is None
    errors = {
        "model" if decided else "model, as chances": price.model,
        "model, cut at 0.5": price.model_cut, "best": price.best,
        "best that passes": price.best_fair, "learner, late": price.learner_late,
    }  # fmt: skip
    bars = {name: 100 * error for name, error in errors.items() if error is not None}
    _bars(axes, [*bars], [*bars.values()], canvas.INK, "% of decisions wrong")


FIGURES: dict[str, tuple[Callable[[Any, Axes], None], str, str]] = {
    "alpha": (
        _alpha, "How it changes with alpha",
        "The share of pairs that would be reported, and of people in one of them, at each alpha. "
        "The dashed line is the alpha of this audit.",
    ),
    "rules": (
        _rules, "Under other rules",
        "The same objections joined by other rules, at the same alpha.",
    ),
    "members": (
        _members, "Who objects", "The share of pairs that each member of the panel objects to.",
    ),
    "price": (
        _price, "The price",
        "The error of the model, and of what could take its place on the same people.",
    ),
}  # fmt: skip


MOST_PEOPLE, MOST_BETWEEN = 100, 40


def audit_page(audit: Audit, comparison: Comparison | None = None) -> str:
    """The page; it names no address outside itself."""
    pictures = [(*FIGURES[kind][1:], figure(audit, kind)) for kind in available(audit)]
    pair_boxes, pairs = _boxes("w", [_pair_traits(pair) for pair in audit.worst])
    often = [person for person in audit.often if person.times][:MOST_PEOPLE]
    person_boxes, people = _boxes("p", [_person_traits(person) for person in often])
    schema = FeatureSchema.from_spec(audit.basis.schema)
    between = () if audit.groups is None else audit.groups.pairs
    return render(
        "audit.html", audit=audit, figures=pictures, comparison=comparison, schema=schema,
        auditors=[
            (part["name"], distance_words(part["distance"], schema))
            for part in audit.basis.panel.get("auditors", ())
        ],
        schema_rows=[
            (f.title, f.kind, f.range_text, f.missing or "refused") for f in schema.features
        ],
        between_rows=[
            (p.by, p.over, p.under, p.share.percent(), f"{p.of:,}")
            for p in sorted(between, key=lambda p: (p.by, -p.share.value))[:MOST_BETWEEN]
        ],
        pairs=list(zip(audit.worst, pairs, strict=True)), pair_boxes=pair_boxes,
        people=list(zip(often, people, strict=True)), person_boxes=person_boxes,
    )  # fmt: skip


def monitor_page(monitor: Monitor) -> str:
    """The page of a model that is watched: shares and evidence by batch."""
    return render("monitor.html", monitor=monitor, picture=_shares(monitor))


@STYLE
def _shares(monitor: Monitor) -> str:
    """Shares and evidence by batch, as SVG for a page."""
    fig = canvas.canvas(430)
    top = canvas.axes_on(fig, 250, 140, "% of pairs reported", right=24)
    low = canvas.axes_on(fig, 44, 140, "evidence of a rise", right=24)
    shares = [100 * batch.share for batch in monitor.batches]
    places = np.arange(1, len(shares) + 1)
    top.plot(places, shares, "o-", color=canvas.BLUE, markersize=4)
    top.set_ylim(0, 1.15 * max(*shares, 100 * (monitor.baseline or 0), 0.1))
    if monitor.baseline is not None:
        top.axhline(100 * monitor.baseline, color=canvas.SOFT, linestyle="--", linewidth=1)
    values = [(n, b.evidence) for n, b in zip(places, monitor.batches, strict=True) if b.evidence]
    low.semilogy([n for n, _ in values], [e for _, e in values], "o-", color=canvas.INK,
                 markersize=4)  # fmt: skip
    low.axhline(monitor.threshold, color=canvas.VERMILION, linestyle="--", linewidth=1)
    low.set_ylim(min([0.1, *(e / 2 for _, e in values)]),
                 max([2 * monitor.threshold, *(2 * e for _, e in values)]))  # fmt: skip
    low.yaxis.set_major_formatter("{x:g}")
    low.set_xlabel("batch")
    for axes in (top, low):
        axes.set_xlim(0.5, len(shares) + 0.5)
        axes.xaxis.set_major_locator(canvas.MaxNLocator(8, integer=True, min_n_ticks=1))
        if monitor.alarm is not None:
            axes.axvline(monitor.batches.index(monitor.alarm) + 1, color=canvas.VERMILION, lw=1)
    words = ", ".join(f"{batch.name} {100 * batch.share:.1f} %" for batch in monitor.batches)
    return canvas.finish(fig, "monitor", f"Pairs reported by batch: {words}.")


def _pair_traits(pair: Finding) -> list[tuple[str, str]]:
    """The traits to filter a pair by, each with its title."""
    return [
        *(("who objects", name) for name in pair.objecting),
        *(("they differ in", name) for name in pair.differences),
        *((f"the lower one: {name}", groups[1]) for name, groups in pair.groups.items()),
        ("at this alpha", "reported" if pair.reported else "not reported"),
    ]


def _person_traits(person: Person) -> list[tuple[str, str]]:
    side = {(True, False): "always above", (False, True): "always below"}
    return [
        ("which side", side.get((person.above > 0, person.below > 0), "both")),
        *person.groups.items(),
    ]


def _boxes(
    prefix: str, traits: Sequence[Sequence[tuple[str, str]]]
) -> tuple[dict[str, list[tuple[str, str]]], list[str]]:
    """Boxes by title, each a class and its words, and the classes of every row.

    A box that every row would pass, or that only one could have, is no filter.

    >>> _boxes("w", [[("sex", "f")], [("sex", "m"), ("kind", "new")], [("kind", "new")]])
    ({'sex': [('w0', 'f'), ('w1', 'm')], 'kind': [('w2', 'new')]}, ['w0', 'w1 w2', 'w2'])
    """
    present = list(dict.fromkeys(trait for row in traits for trait in row))
    some = [trait for trait in present if any(trait not in row for row in traits)]
    names = {trait: f"{prefix}{place}" for place, trait in enumerate(some)}
    boxes: dict[str, list[tuple[str, str]]] = {}
    for (title, words), name in names.items():
        boxes.setdefault(title, []).append((name, words))
    return boxes, [" ".join(names[trait] for trait in row if trait in names) for row in traits]


LONGEST = 400


def distance_words(spec: Mapping[str, Any], schema: FeatureSchema) -> str:
    """A distance in words, with all its weights; what is longer is in the JSON.

    >>> schema = FeatureSchema((Feature("income", low=0, high=100), Feature("owns", "flag")))
    >>> spec = {"metric": "weighted-l1", "weights": [["income", 0.5], ["owns", 0.25]], "scales": []}
    >>> distance_words(spec, schema)
    'weighted-l1: 0.5 × Income (all of it from a difference of 100 on) + 0.25 × Owns (if they \
differ)'
    """
    if "base" in spec:
        seen = ", ".join(schema[name].title for name in spec["features"])
        return f"sees {seen} alone; {distance_words(spec['base'], schema)}"
    if spec.get("metric") == "weighted-l1":
        scales = dict(spec["scales"])
        terms = [_term(schema[name], w, scales.get(name)) for name, w in spec["weights"]]
        return f"weighted-l1: {' + '.join(terms)}"
    name, *rest = [f"{value}" if key in ("metric", "function") else f"{key} {json.dumps(value)}"
                   for key, value in spec.items()]  # fmt: skip
    words = f"{name}: {', '.join(rest)}" if rest else name
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}… (all of it is in the JSON)"


def _term(feature: Feature, weight: float, scale: float | None) -> str:
    if feature.kind in ("category", "flag"):
        return f"{weight:g} × {feature.title} (if they differ)"
    full = features.plain_number(feature.high - feature.low if scale is None else scale)
    return f"{weight:g} × {feature.title} (all of it from a difference of {full} on)"
