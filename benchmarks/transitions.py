"""How well the model finds transition sentences, on sentences that a person has labelled.

python -m benchmarks.transitions FILE

FILE has JSON lines with `sentence`, the first of a paragraph, and `transition`, true where it introduces a topic or leads over
to one. The baselines are every sentence, and the rules by which the training sentences were labelled.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from citewell.evaluate.transitions import figures, hand_labelled
from citewell.models.transitions import follows_rules, load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    sentences = hand_labelled(parser.parse_args().file)
    model = load()
    labels = np.array([each.transition for each in sentences], bool)
    texts = [each.text for each in sentences]
    rules = np.array([follows_rules(text) for text in texts], float)
    print(f"{len(sentences)} first sentences, {labels.sum()} of them transition sentences\n")
    print("| method | AP | P | R | F1 |\n|---|---:|---:|---:|---:|")
    for name, scores, threshold in (
        ("every sentence", np.ones(len(texts)), 0.5),
        ("rules", rules, 0.5),
        ("scores", model.scores(texts), model.threshold),
        ("rules and scores", rules * model.scores(texts), model.threshold),
    ):
        measured = figures(labels, scores, threshold)
        print(f"| {name} | {' | '.join(f'{measured[each]:.3f}' for each in ('AP', 'P', 'R', 'F1'))} |")


if __name__ == "__main__":
    main()
