"""How members of a panel judge, month by month, as a table: agreement and disagreement."""

from __future__ import annotations

import csv
import io
from collections import Counter

from likewise.auditing import MemberAgreement
from likewise.service.dockets.views.projection import Projection

__all__ = ["agreement_table"]

COLUMNS = (
    "month", "member", "asked", "finished", "absent", "objections", "decisive", "compared", "same",
    "share", "alpha", "reports", "rounds",
)  # fmt: skip


def agreement_table(projection: Projection) -> str:
    """A row a member and month, and one of the whole panel with Krippendorff's alpha.

    ``compared`` counts another member's judgement of the same pair, ``same`` those that agree.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for name, month in sorted(projection.tallies.months.items()):
        alpha = "" if month.agreement.alpha is None else f"{month.agreement.alpha:.6f}"
        writer.writerow([name, "", *[""] * 8, alpha, month.reports, month.rounds])
        for member, counts in sorted(month.members.items()):
            compared = month.agreement.members.get(member, MemberAgreement())
            writer.writerow([name, _plain(member), *_row(counts, compared), "", "", ""])
    return text.getvalue()


def _row(counts: Counter[str], compared: MemberAgreement) -> list[object]:
    numbers = [counts[key] for key in ("asked", "finished", "absent", "objections", "decisive")]
    share = "" if compared.share is None else f"{compared.share:.6f}"
    return [*numbers, compared.compared, compared.same, share]


def _plain(name: str) -> str:
    """Spreadsheets would carry out a cell that begins like a formula."""
    return f"'{name}" if name[:1] in ("=", "+", "-", "@", "\t", "\r") else name
