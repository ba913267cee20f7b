"""Feedback: consent, marks, and their deletion."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from citewell.feedback import Feedback, FeedbackError, citing_text
from citewell.library.library import Library
from citewell.papers import TARGET_MARK
from citewell.serve.errors import ApiError
from citewell.serve.handlers import Parameters

_STATUSES = {
    errno.ENOSPC: 507,
    getattr(errno, "EDQUOT", errno.ENOSPC): 507,
    errno.EROFS: 409,
    errno.EACCES: 409,
    errno.EPERM: 409,
}
"""The HTTP status for errors of the operating system; 503 for the others."""


def feedback_status(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """Whether feedback is recorded, and what has been; clients on other machines learn nothing of it."""
    if not parameters["loopback"]:
        return {"available": False, "on": False, "since": "", "file": "", "relevant": 0, "irrelevant": 0}
    with _errors():
        return {"available": True, **asdict(Feedback(library.folder).status())}


def feedback_mark(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """Record a mark, if the user consents."""
    context = parameters["context"].replace("[?]", TARGET_MARK)
    text = citing_text(
        parameters["task"],
        parameters["title"],
        parameters["abstract"],
        context,
        parameters["authors"],
        [name for name in parameters["known"] if name != parameters["paper"]],
    )
    with _errors():
        query = Feedback(library.folder).record(text, parameters["paper"], parameters["mark"], parameters["query"])
    return {"recorded": bool(query), "query": query}


def feedback_consent(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """Turn recording on or off."""
    feedback = Feedback(library.folder)
    with _errors():
        if parameters["on"]:
            feedback.turn_on()
        else:
            feedback.turn_off()
    return feedback_status(library, parameters)


def feedback_delete(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """Delete all records."""
    with _errors():
        Feedback(library.folder).delete()
    return feedback_status(library, parameters)


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except FeedbackError as error:
        raise ApiError(_STATUSES.get(error.code, 503), str(error)) from None
