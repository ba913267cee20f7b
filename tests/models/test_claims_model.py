"""The model of sentences that call for a citation, as it ships."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.models.claims import Passage, judged, kind_of, load, packed, unpacked

CLAIM = "Previous studies have shown that gulls are mistaken for boats in photographs."
OURS = "We therefore plotted our counts against the hour of the day (Figure 2A)."


def test_a_claim_about_others_scores_above_what_we_did() -> None:
    model = load()
    (scores,) = model.scores([Passage([OURS, CLAIM, OURS], "Results")])
    assert scores[1] > model.thresholds.sure > model.thresholds.even > max(scores[0], scores[2])


def test_a_citation_changes_nothing() -> None:
    model = load()
    cited = CLAIM.replace(" in photographs.", " ( OTHERCIT ) in photographs (reviewed in OTHERCIT ).")
    with_it, without = model.scores([Passage([OURS, cited], "Discussion"), Passage([OURS, CLAIM], "Discussion")])
    assert np.array_equal(with_it, without)


def test_passages_do_not_see_each_other() -> None:
    model = load()
    together = model.scores([Passage([CLAIM, OURS]), Passage([OURS]), Passage([])])
    alone = [*model.scores([Passage([CLAIM, OURS])]), *model.scores([Passage([OURS])]), np.zeros(0)]
    assert all(np.array_equal(one, other) for one, other in zip(together, alone, strict=True))
    assert model.scores([]) == []


def test_it_says_which_words_tell() -> None:
    assert {"previous", "previous studies", "shown that"} & set(load().telling(CLAIM, "Introduction"))


@pytest.mark.parametrize(
    ("heading", "kind"),
    [("", ""), ("1 Introduction", "introduction"), ("2. Related Work", "related work"), ("Materials and methods", "methods"),
     ("IV. EXPERIMENTS", "results"), ("Results and Discussion", "results"), ("Conclusions", "discussion"), ("Boats", "other")],
)  # fmt: skip
def test_headings(heading: str, kind: str) -> None:
    assert kind_of(heading) == kind


def test_what_is_no_sentence_is_not_judged() -> None:
    assert judged(CLAIM)
    assert not judged("Too short.")
    assert not judged(f"{CLAIM[:-1]}, {'and so on ' * 400}.")
    assert not judged("Half of a bracket (was cut off by somebody.")


def test_eight_bits_keep_small_weights_apart() -> None:
    weights = np.array([-3.0, -0.01, 0.0, 0.002, 0.004, 1.5])
    found = unpacked(*packed(weights))
    assert np.allclose(found, weights, rtol=0.2, atol=0.001)
    assert len(set(found.tolist())) == len(weights)


def test_a_folder_without_the_model_says_how_to_make_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "claims").mkdir()
    monkeypatch.setenv("CITEWELL_MODELS", str(tmp_path))
    with pytest.raises(CitewellError, match="citewell train claims"):
        load()


def test_it_needs_neither_lightgbm_nor_torch_nor_onnxruntime() -> None:
    script = (
        "import sys\nfrom citewell.models.claims import Passage, load\n"
        f"load().scores([Passage([{CLAIM!r}])])\n"
        "print([name for name in ('lightgbm', 'torch', 'onnxruntime', 'scipy') if name in sys.modules])"
    )
    assert run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_all_weights_together_are_small() -> None:
    folder = Path(sys.modules["citewell"].__file__ or "").parent / "models" / "weights"
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 90_000_000
