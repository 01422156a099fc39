"""Machine code on disk, so that no process compiles again what another one has compiled.

A file is named by the digest of everything that its code depends on, and begins with a digest of
that name and the code. A file that is torn, or has another name, counts as missing and is written
again. The code is run, so only the user may be able to write to the folder. If anything is wrong
with the folder, code is compiled as if there were none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from ...safe_files import own_folder, plain_file

VARIABLE = "GRADCLI_CACHE_DIR"
LIMIT = 2**25  # bytes of all files
REMOVED_PER = LIMIT // 16  # after so many bytes written, the oldest files are removed
LEAST = 2**12  # bytes that a file takes on the disk, however small it is
DIGEST = 32  # bytes
FOR_OTHERS = 0o077  # permissions that the folder may not give


def cached(made_of: bytes, make: Callable[[], bytes]) -> bytes:
    """The code that `make` returns, from the disk if it is there."""
    folder = _folder(_path())
    return make() if folder is None else folder.code(made_of, make)


def remember(what: bytes, number: int) -> None:
    """Leaves a number on the disk, for `remembered`."""
    if (folder := _folder(_path())) is not None:
        with suppress(OSError):
            folder.write(_name(what), str(number).encode())


def remembered(what: bytes) -> int:
    """The number that this or an earlier process left last; 0 for none, or if it is gone. Notes of
    earlier versions are empty, and count as none."""
    folder = _folder(_path())
    found = None if folder is None else folder.read(_name(what))
    return int(found) if found else 0


def _path() -> Path:
    """The folder that the user asks for, or the platform's folder for caches."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "")) / "gradcli" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "gradcli"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "gradcli"


@lru_cache(maxsize=1)
def _folder(path: Path) -> _Folder | None:
    """The folder at a path, made if need be; None if that fails, or the folder isn't safe.

    A path that isn't absolute would depend on the current folder, which strangers may have filled.
    """
    if not path.is_absolute():
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        own_folder(path)
        shared = os.name == "posix" and path.stat().st_mode & FOR_OTHERS
    except OSError:
        return None
    return None if shared else _Folder(path)


class _Folder:
    """A folder of files with machine code, the least recently used of which are removed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Bytes to write. A removal looks at all files: of processes that write little, few do it.
        self.until_removal = int.from_bytes(os.urandom(4), "little") % REMOVED_PER

    def code(self, made_of: bytes, make: Callable[[], bytes]) -> bytes:
        name = _name(made_of)
        found = self.read(name)
        if found is None:
            found = make()
            with suppress(OSError):
                self.write(name, found)
        return found

    def read(self, name: str) -> bytes | None:
        path = self.path / name
        try:
            with open(path, "rb", opener=plain_file) as file:
                digest, code = file.read(DIGEST), file.read()
        except OSError:
            return None
        if digest != _digest(name, code):
            return None
        with suppress(OSError):
            os.utime(path)
        return code

    def write(self, name: str, code: bytes) -> None:
        """Writes a file beside and renames it, so that readers see whole files. Raises OSError."""
        beside = self.path / f"{os.urandom(8).hex()}.partial"
        try:
            with open(beside, "xb", opener=plain_file) as file:
                file.write(_digest(name, code) + code)
            os.replace(beside, self.path / name)
        finally:
            beside.unlink(missing_ok=True)
        self.until_removal -= max(len(code), LEAST)
        if self.until_removal < 0:
            self.remove_oldest()
            self.until_removal = REMOVED_PER

    def remove_oldest(self) -> None:
        """Removes the oldest files until the rest is within the limit, also those of killed
        writers."""
        files = sorted(self.files())
        total = sum(size for _, size, _ in files)
        for _, size, path in files:
            if total <= LIMIT:
                break
            with suppress(FileNotFoundError):  # another process removes, too
                os.unlink(path)
            total -= size

    def files(self) -> Iterator[tuple[float, int, str]]:
        """For each file: when it was last used, the bytes it takes, and its path."""
        with os.scandir(self.path) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):
                        found = entry.stat(follow_symlinks=False)
                        yield found.st_mtime, max(found.st_size, LEAST), entry.path


def _name(made_of: bytes) -> str:
    return sha256(made_of).hexdigest()


def _digest(name: str, code: bytes) -> bytes:
    return sha256(name.encode() + code).digest()
