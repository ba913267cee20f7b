"""How far judges agree beyond chance: Cohen's kappa for two judges, Krippendorff's alpha for any number with missing marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

Marks = Mapping[Hashable, str]
"""Item to the category that one judge gave it; items that the judge did not mark are absent."""


@dataclass(frozen=True)
class Kappa:
    """The agreement of two judges on the items that both have marked."""

    judges: tuple[str, str]
    items: int
    observed: float | None
    """The share of the items on which they agree; None without items."""
    kappa: float | None
    """None if there are no items, or if chance alone gives full agreement: both use one and the same category."""


@dataclass(frozen=True)
class Alpha:
    """The agreement of all judges on the items that at least two have marked."""

    items: int
    marks: int
    alpha: float | None
    """None if there are no such items, or if only one category occurs."""


def cohen(judges: tuple[str, str], one: Marks, other: Marks) -> Kappa:
    """Cohen's kappa (1960)."""
    shared = [item for item in one if item in other]
    if not shared:
        return Kappa(judges, 0, None, None)
    size = len(shared)
    observed = sum(one[item] == other[item] for item in shared) / size
    first, second = Counter(one[item] for item in shared), Counter(other[item] for item in shared)
    chance = sum(first[category] * second[category] for category in first) / size**2
    return Kappa(judges, size, observed, None if chance == 1 else (observed - chance) / (1 - chance))


def krippendorff(by_judge: Sequence[Marks]) -> Alpha:
    """Krippendorff's alpha (2004, chapter 11) for categories without an order.

    The coincidence matrix counts every ordered pair of marks of one item, weighted so that an item counts as many times as it
    has marks. Alpha is one minus observed over expected disagreement.
    """
    items: dict[Hashable, list[str]] = {}
    for marks in by_judge:
        for item, category in marks.items():
            items.setdefault(item, []).append(category)
    pairable = [categories for categories in items.values() if len(categories) > 1]
    totals = Counter(category for categories in pairable for category in categories)
    size = sum(totals.values())
    observed = 0.0
    for categories in pairable:
        counts = Counter(categories)
        equal = sum(count * (count - 1) for count in counts.values())
        observed += (len(categories) * (len(categories) - 1) - equal) / (len(categories) - 1)
    expected = size**2 - sum(count**2 for count in totals.values())
    if not expected:
        return Alpha(len(pairable), size, None)
    return Alpha(len(pairable), size, 1 - (size - 1) * observed / expected)
