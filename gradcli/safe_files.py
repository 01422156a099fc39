"""Files in folders that somebody else may have filled: opened without following links, named so
that they stay where they belong, and replaced whole."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path

_KEPT_APART = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
)

LONG = 3600.0  # seconds; no file takes as long to write


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


def replace_file(path: str, data: bytes) -> None:
    """Writes beside the file and renames: readers see the old file or the new one, and a full disk
    leaves the old. Raises OSError."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(21, "it is a folder")
    _remove_left(target)
    beside = target.with_name(f".{target.name}.{os.urandom(8).hex()}.partial")
    try:
        with open(beside, "xb", opener=plain_file) as file:
            file.write(data)
        if target.exists():
            found = target.stat()
            if hasattr(os, "chown"):
                with suppress(PermissionError):  # only root gives files to others
                    os.chown(beside, found.st_uid, found.st_gid)
            os.chmod(beside, found.st_mode)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def _remove_left(target: Path) -> None:
    """Removes what is left of writes of this file whose process was killed, and so long ago that
    none still goes on."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.partial")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if (
                name.fullmatch(entry.name)
                and time.time() - entry.stat(follow_symlinks=False).st_mtime > LONG
            ):
                os.unlink(entry.path)
