"""Zip archives from users: Word files, and zipped projects."""

from __future__ import annotations

import io
import zipfile

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def open_archive(data: bytes) -> zipfile.ZipFile:
    """The archive; raises `zipfile.BadZipFile` where it is damaged or uses another compression than Deflate.

    Python unpacks bzip2 and LZMA block by block, and a block of a few hundred bytes can expand to gigabytes. Deflate is
    unpacked only as far as the caller reads.
    """
    try:
        opened = zipfile.ZipFile(io.BytesIO(data))
    except (ValueError, NotImplementedError, EOFError) as error:  # an undecodable name, an unknown version of the format
        raise zipfile.BadZipFile(str(error)) from None
    for each in opened.infolist():
        if each.compress_type not in _METHODS:
            raise zipfile.BadZipFile(f"{each.filename[:80]!r} is not compressed with Deflate")
    return opened
