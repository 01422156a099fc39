"""Files in folders that somebody else may have filled: opened without following links, and named so
that they stay where they belong."""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from pathlib import Path

_KEPT_APART = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
)


def plain_file(path: str, flags: int) -> int:
    """An `opener` for `open`: only of plain files. Raises OSError for a link, which would lead the
    writer elsewhere, and for a pipe, which would keep the reader waiting."""
    try:
        descriptor = os.open(path, flags | _KEPT_APART, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, f"`{path}` is a link, which isn't followed") from None
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise OSError(
            errno.EINVAL,
            f"`{path}` is no plain file" + ", or has another name, too" * (found.st_nlink > 1),
        )
    return descriptor


def own_folder(path: Path) -> None:
    """Makes a folder that nobody else may look into, or takes the one that is there. Raises OSError
    where that is a link, no folder, or somebody else's."""
    while True:
        try:
            path.mkdir(mode=0o700)
            return
        except FileExistsError:
            with suppress(FileNotFoundError):  # another job has just ended, and taken it away
                return _verify_own(path)


def _verify_own(path: Path) -> None:
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, f"`{path}` is a link, which isn't followed")
    if not stat.S_ISDIR(found.st_mode):
        raise OSError(errno.ENOTDIR, f"`{path}` is no folder")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise OSError(errno.EPERM, f"another user owns the folder `{path}`")


def member_name(name: str) -> str:
    """The name of a file in an archive, for text that may be anything: below the folder that it is
    unpacked in, and without control characters. What can't stand there is written as in a URL:
    `%2E%2E/x` for `../x`."""
    name = re.sub(r"%(?=[0-9A-Fa-f]{2})|[\\\x00-\x1f\x7f-\x9f]", _as_in_url, name)
    parts = name.split("/")
    parts = [re.sub(r"\.", _as_in_url, part) if part in (".", "..") else part for part in parts]
    return re.sub("^/|(?<=/)/|/$", _as_in_url, "/".join(parts))


def _as_in_url(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "backslashreplace"))
