"""Zip archives that somebody has sent: Word files, and projects."""

from __future__ import annotations

import io
import zipfile

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def archive(data: bytes) -> zipfile.ZipFile:
    """The archive; raises `zipfile.BadZipFile` where it is damaged, or packed otherwise than everybody packs.

    What is packed by bzip2 or LZMA Python unpacks a piece at a time, however much that piece stands for: a few hundred bytes
    may be gigabytes. Of what is packed by Deflate it unpacks as much as is asked for.
    """
    try:
        found = zipfile.ZipFile(io.BytesIO(data))
    except (ValueError, NotImplementedError, EOFError) as error:  # a name that is no text, a version that nobody has yet
        raise zipfile.BadZipFile(str(error)) from None
    for each in found.infolist():
        if each.compress_type not in _METHODS:
            raise zipfile.BadZipFile(f"{each.filename[:80]!r} is not packed by Deflate")
    return found
