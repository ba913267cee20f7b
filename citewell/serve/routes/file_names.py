"""The client's name of an uploaded file. It is shown to the user and never used as a path."""

from __future__ import annotations

from fastapi import UploadFile

_MAX_LENGTH = 200


def display_name(file: UploadFile) -> str:
    """The name in one line of valid characters; a client chooses the encoding, so a name may contain lone surrogates."""
    name = " ".join((file.filename or "").encode("utf-8", "replace").decode()[:_MAX_LENGTH].split())
    return name or "the file"
