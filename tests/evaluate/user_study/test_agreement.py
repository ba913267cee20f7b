"""Agreement between judges against published worked examples."""

from __future__ import annotations

import pytest

from citewell.evaluate.user_study.agreement import Kappa, cohen, krippendorff


def _marks(text: str) -> dict[object, str]:
    """One category for each item; a dot is a missing one."""
    return {at: category for at, category in enumerate(text.split(), 1) if category != "."}


def test_cohens_kappa_of_a_table_of_counts() -> None:
    # 20 both yes, 5 yes/no, 10 no/yes, 15 both no: observed .7, by chance .5 * .6 + .5 * .4 = .5, kappa .4
    one = dict(enumerate(["yes"] * 25 + ["no"] * 25))
    other = dict(enumerate(["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15))
    assert cohen(("a", "b"), one, {**other, 99: "yes"}) == Kappa(("a", "b"), 50, 0.7, pytest.approx(0.4))


def test_kappa_is_undefined_without_shared_items_or_with_one_category() -> None:
    assert cohen(("a", "b"), {1: "yes"}, {2: "yes"}) == Kappa(("a", "b"), 0, None, None)
    assert cohen(("a", "b"), {1: "yes", 2: "yes"}, {1: "yes", 2: "yes"}) == Kappa(("a", "b"), 2, 1.0, None)


def test_krippendorffs_alpha_with_missing_data() -> None:
    # Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C: four observers, twelve units, one of
    # which only one observer coded.
    observers = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    alpha = krippendorff([_marks(each) for each in observers])
    assert (alpha.items, alpha.marks) == (11, 40)
    assert alpha.alpha == pytest.approx(0.743, abs=5e-4)


def test_alpha_by_hand_with_two_judges() -> None:
    # Units: rr, nn, rn, r. Three pairable units, six marks: r three times, n three times. Observed: one unit with
    # 2 unequal ordered pairs, so 2; expected 36 - 18 = 18; alpha = 1 - 5 * 2 / 18 = 4 / 9.
    assert krippendorff([_marks("r n r r"), _marks("r n n .")]).alpha == pytest.approx(4 / 9)


def test_alpha_is_undefined_if_nobody_disagrees_or_shares() -> None:
    assert krippendorff([_marks("r r"), _marks("r r")]).alpha is None
    assert krippendorff([_marks("r ."), _marks(". r")]).items == 0
