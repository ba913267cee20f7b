"""What 8 bits cost: an encoder's weights as they were trained and as they are served, on the same questions of a set.

python -m benchmarks.rounding WEIGHTS SET [--task local] [--split dev] [--sample 1000]

WEIGHTS is the folder ``weights`` that ``citewell train encoder`` leaves. Both forms encode the papers of the set, which takes
its time; their vectors are kept with the set's library.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from citewell.cli.progress import Bar
from citewell.evaluate.evaluation import Evaluation
from citewell.models.bert_onnx import convert
from citewell.models.inputs import FILE as BUDGETS
from citewell.models.served import MODEL, TOKENIZER
from citewell.pipeline import Pipeline
from citewell.retrieve.dense import Dense

FORMS = ("int8", "float32")
_MEASURES = ("R@10", "RR")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("set", type=Path)
    parser.add_argument("--task", default="local")
    parser.add_argument("--split", default="dev", choices=("dev", "test"))
    parser.add_argument("--sample", type=int, default=1000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as models, Bar() as bar:
        os.environ["CITEWELL_MODELS"] = models
        for form in FORMS:
            folder = Path(models) / form
            folder.mkdir()
            for kept in (BUDGETS, TOKENIZER):
                shutil.copyfile(given.weights / kept, folder / kept)
            convert(given.weights, folder / MODEL, rounded=form == "int8")
        evaluation = Evaluation(given.set, given.task, given.split, given.sample, progress=bar, watcher=bar)
        systems = [Pipeline(form, "", (Dense(form, "own+cited"),)) for form in FORMS]
        outcomes = evaluation.conduct(systems).outcomes
    for outcome in outcomes:
        print(f"{outcome.name:8} " + "  ".join(f"{name} {outcome.mean(name):.4f}" for name in _MEASURES))
    rounded, whole = outcomes
    print("int8 - float32 " + "  ".join(f"{name} {rounded.mean(name) - whole.mean(name):+.4f}" for name in _MEASURES))


if __name__ == "__main__":
    main()
