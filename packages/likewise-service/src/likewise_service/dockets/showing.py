"""A review as a member is shown it, in the one form whose hash they sign."""

import hmac
import math
from collections.abc import Mapping, Sequence

from likewise.people.features import Feature
from likewise_service.dockets.reviews import ReviewKey
from likewise_service.dockets.round import Round
from likewise_service.ledger.records import Payload, canonical, features_of


def shown_text(
    key: ReviewKey, review_id: str, member: str, round_: Round, guidelines: str,
    features: Sequence[Feature], payloads: Mapping[str, Payload],
) -> str | None:  # fmt: skip
    """Return the people, their scores and visible features, the pairs and the guidelines, as JSON.

    Everybody has a salt, which is theirs and this review's alone and is erased with them: from the
    hash nobody can guess what they were like. None is returned where features are gone of somebody
    who was not erased when they were shown.
    """
    aliases, people = key.aliases(review_id, round_.shown(member)), []
    for person, alias in aliases.items():
        score, values, salt = round_.decisions[person].score, None, ""
        if person not in round_.erased:
            payload = payloads.get(round_.people[person] or "")
            if payload is None:
                return None
            salt = hmac.digest(payload.salt, review_id.encode(), "sha256").hex()[:32]
            pairs = zip(features, features_of(payload.content), strict=True)
            values = [[f.name, plain(f, value)] for f, value in pairs if f.visible]
        people.append({"id": alias, "score": score, "salt": salt, "features": values})
    pairs_asked = [[aliases[over], aliases[under]] for over, under, _ in round_.asked_of(member)]
    shown = {"guidelines": guidelines, "people": people, "pairs": pairs_asked}
    return canonical(shown).decode()


def plain(feature: Feature, value: float) -> str | None:
    """Write an encoded value as no language and no version writes it differently.

    >>> purpose = Feature("purpose", "category", levels=("car", "home"))
    >>> plain(purpose, 1.0), plain(Feature("income"), 0.1), plain(Feature("income"), math.nan)
    ('home', '0.1', None)
    """
    if math.isnan(value):
        return None
    return feature.levels[int(value)] if feature.kind == "category" else repr(float(value))
