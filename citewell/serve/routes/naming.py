"""What a client calls a file that it sends. The name is shown, and never used as one."""

from __future__ import annotations

from fastapi import UploadFile

_LONGEST = 200


def called(file: UploadFile) -> str:
    """The name in one line of characters that can be written; a client chooses the encoding, and some give half characters."""
    name = " ".join((file.filename or "").encode("utf-8", "replace").decode()[:_LONGEST].split())
    return name or "the file"
