"""The shipped model of citation-worthiness."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.models.claims import SentenceBlock, load, scorable, section_kind
from citewell.models.hashed_terms import dequantise, quantise

CLAIM = "Previous studies have shown that gulls are mistaken for boats in photographs."
OURS = "We therefore plotted our counts against the hour of the day (Figure 2A)."


def test_a_claim_about_earlier_work_scores_above_own_work() -> None:
    model = load()
    (scores,) = model.scores([SentenceBlock([OURS, CLAIM, OURS], "Results")])
    assert scores[1] > model.thresholds.high_precision > model.thresholds.best_f1 > max(scores[0], scores[2])


def test_citations_in_the_text_do_not_change_scores() -> None:
    model = load()
    cited = CLAIM.replace(" in photographs.", " ( OTHERCIT ) in photographs (reviewed in OTHERCIT ).")
    with_it, without = model.scores([SentenceBlock([OURS, cited], "Discussion"), SentenceBlock([OURS, CLAIM], "Discussion")])
    assert np.array_equal(with_it, without)


def test_paragraphs_are_scored_independently() -> None:
    model = load()
    together = model.scores([SentenceBlock([CLAIM, OURS]), SentenceBlock([OURS]), SentenceBlock([])])
    alone = [*model.scores([SentenceBlock([CLAIM, OURS])]), *model.scores([SentenceBlock([OURS])]), np.zeros(0)]
    assert all(np.array_equal(one, other) for one, other in zip(together, alone, strict=True))
    assert model.scores([]) == []


def test_top_terms_are_the_characteristic_words() -> None:
    assert {"previous", "previous studies", "shown that"} & set(load().top_terms(CLAIM, "Introduction"))


@pytest.mark.parametrize(
    ("heading", "kind"),
    [("", ""), ("1 Introduction", "introduction"), ("2. Related Work", "related work"), ("Materials and methods", "methods"),
     ("IV. EXPERIMENTS", "results"), ("Results and Discussion", "results"), ("Conclusions", "discussion"), ("Boats", "other")],
)  # fmt: skip
def test_section_kind_from_heading(heading: str, kind: str) -> None:
    assert section_kind(heading) == kind


def test_incomplete_sentences_are_not_scorable() -> None:
    assert scorable(CLAIM)
    assert not scorable("Too short.")
    assert not scorable(f"{CLAIM[:-1]}, {'and so on ' * 400}.")
    assert not scorable("Half of a bracket (was cut off by somebody.")


def test_quantisation_keeps_small_weights_distinct() -> None:
    weights = np.array([-3.0, -0.01, 0.0, 0.002, 0.004, 1.5])
    parse_all = dequantise(*quantise(weights))
    assert np.allclose(parse_all, weights, rtol=0.2, atol=0.001)
    assert len(set(parse_all.tolist())) == len(weights)


def test_a_folder_without_the_model_says_how_to_train_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "claims").mkdir()
    monkeypatch.setenv("CITEWELL_MODELS", str(tmp_path))
    with pytest.raises(CitewellError, match="citewell train claims"):
        load()


def test_serving_needs_neither_lightgbm_nor_torch_nor_onnxruntime() -> None:
    script = (
        "import sys\nfrom citewell.models.claims import SentenceBlock, load\n"
        f"load().scores([SentenceBlock([{CLAIM!r}])])\n"
        "print([name for name in ('lightgbm', 'torch', 'onnxruntime', 'scipy') if name in sys.modules])"
    )
    assert run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_all_shipped_weights_are_below_90_mb() -> None:
    folder = Path(sys.modules["citewell"].__file__ or "").parent / "models" / "weights"
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 90_000_000
