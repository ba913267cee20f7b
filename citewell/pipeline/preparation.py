"""What stages need of a library in addition to its index: computing it, and saying what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from citewell.collection.interface import TEXT_LABELS
from citewell.library.library import Library
from citewell.pipeline.contract import Requirement, SentenceModel, TrainedModel, Vectors
from citewell.progress import SILENT, Progress


def prepare(need: Requirement, library: Library, donors: Sequence[Path] = (), progress: Progress = SILENT) -> None:
    """Compute vectors that papers or sentences lack; `donors` are libraries that may have them already."""
    if isinstance(need, Vectors):
        from citewell.library.vectors.encode import encode
        from citewell.models import encoder

        encode(library, encoder.load(need.encoder), need.text, donors, progress)
    elif isinstance(need, SentenceModel):
        from citewell.library.vectors import sentences
        from citewell.models import semiser

        sentences.make(library, need.name, semiser.load(need.name).sentences, progress)
        if need.index:
            from citewell.library.vectors import sentence_index

            sentence_index.make(library, need.name, progress)


def note(need: Requirement, library: Library) -> str:
    """A line for the user where papers lack something, empty where they do not."""
    if isinstance(need, Vectors):
        return _vectors_note(need, library)
    if isinstance(need, TrainedModel):
        return _model_note(need, library)
    return ""


def _vectors_note(need: Vectors, library: Library) -> str:
    from citewell.library.vectors.encode import missing
    from citewell.library.vectors.status import at_work, command_for, read_progress

    count = missing(library, need.encoder, need.text)
    if not count:
        return ""
    papers = "1 paper" if count == 1 else f"{count:,} papers"
    if at_work(library, need.encoder, need.text):
        progress = read_progress(library, need.encoder, need.text)
        left = progress.seconds_left() if progress else None
        time = f" (about {left:,.0f} s left)" if left else ""
        return f"Vectors for {papers} are still being computed{time}; results will improve."
    return (
        f"{papers} {'has' if count == 1 else 'have'} no {need.encoder} vectors ({TEXT_LABELS.get(need.text, need.text)}), so"
        f" dense retrieval cannot find {'it' if count == 1 else 'them'}. Run '{command_for(need.encoder, need.text)}'."
    )


def _model_note(need: TrainedModel, library: Library) -> str:
    from citewell.library.trained_models import untrained

    later = untrained(library, need.name)
    if not later:
        return ""
    papers = "1 paper was" if later == 1 else f"{later:,} papers were"
    return (
        f"{papers} added after {need.name!r} was trained, so it cannot find {'it' if later == 1 else 'them'}."
        f" Run 'citewell train {need.name}'."
    )
