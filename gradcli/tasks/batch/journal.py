"""What a job has finished, on disk: a folder `OUT.partial` with the rows so far, the rejects, and a
journal with a line for each block. A line is written when its rows are, so whatever kills the
process, what the journal says is there.

The journal's first line is the job's fingerprint, and what was learnt from its first rows; its last
one says that the output is whole, and about to be put in its place. A job goes on by cutting off
what was written after the last whole line. Each line has a checksum of itself and of all before it,
and says that of the rows and of the rejects.

When the output is in its place, the journal stays beside it, as `.OUT.done`: a finished job that is
to go on has nothing to do.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...diagnostics import Diagnostic, GradcliError, printable
from ...rows.writing.files import DamagedError, PartialFile, write_all
from ...safe_files import own_folder, plain_file

SUFFIX = ".partial"
BESIDE = ".rejects.jsonl"  # behind the name of the output, for its rejects
_JOURNAL, _REJECTS, _ROWS = "journal.jsonl", "rejects.jsonl", "rows"
_LINE = re.compile(rb'(.*), "check": "([0-9a-f]{8})"\}', re.DOTALL)
Facts = Mapping[str, Any]


class Finished(NamedTuple):
    """A block that is on disk: its place in the data, how many rows have no answer, the part that
    couldn't be read if it is one, where the files end behind it, the totals of a reduction, of rows
    that came through a pipe what they were, and how many rows have a nan or an infinity."""

    start: int
    rows: int
    failed: int
    unreadable: str
    position: Any
    rejects: tuple[int, int]
    totals: dict[str, Any] | None = None
    digest: str = ""
    nonfinite: int = 0


class Journal:
    """The folder of one job, which nobody else may write to at the same time.

    known      what was learnt from the first rows; {} where the job begins
    finished   the blocks that are there, in order
    delivered  whether the output is in its place already, and at most the folder was left
    was_done   whether that was so, and nothing left to do
    """

    def __init__(
        self, out: str, fingerprint: Mapping[str, str], resume: bool, tells_data: bool = True
    ) -> None:
        """`tells_data`: whether the fingerprint tells the data from other data, as it can't where
        that comes through a pipe.

        Raises GradcliError: E006 where the output can't be written, E609 where what is there is of
        another job."""
        self.out, self._name = _target(out), out
        self.folder = self.out.with_name(self.out.name + SUFFIX)
        self.known: dict[str, Any] = {}
        self.finished: list[Finished] = []
        self.delivered = False
        self._fingerprint = dict(fingerprint)
        self._check = 0  # of the journal's last line
        self._done = self.out.with_name(f".{self.out.name}.done")
        self.was_done = (
            resume
            and tells_data
            and not os.path.lexists(self.folder / _JOURNAL)
            and self._has_finished()
        )
        if self.was_done:
            with suppress(OSError):  # there is no folder, unless the process was killed here
                self.folder.rmdir()
            return
        try:
            self._file = self._locked()
        except OSError as error:
            raise GradcliError(self._unwritable(error)) from None
        try:
            with ExitStack() as refused:
                refused.enter_context(self._file)
                if not resume or not self._go_on():
                    self._begin_anew()
                refused.pop_all()  # as long as the job
        except OSError as error:
            raise GradcliError(self._unwritable(error)) from None

    def _unwritable(self, error: OSError) -> Diagnostic:
        help = (
            ""
            if self.out.parent.is_dir()
            else f"there is no folder `{self.out.parent}`: make it first"
        )
        if error.errno in (errno.ELOOP, errno.EPERM, errno.EINVAL):
            help = "a job keeps what it has finished there: look where it comes from, and remove it"
        return Diagnostic("E006", f"cannot write `{self._name}`: {error.strerror}", help=help)

    @property
    def rows(self) -> Path:
        """Where the writer has its file."""
        return self.folder / f"{_ROWS}{self.out.suffix}"

    def _locked(self) -> Any:
        """The journal, open and locked for this process."""
        path = self.folder / _JOURNAL
        if (
            self.folder.exists()
            and not os.path.lexists(path)
            and (not self.folder.is_dir() or any(self.folder.iterdir()))
        ):
            message = (
                f"cannot write `{self._name}`: `{self._name}{SUFFIX}` is in the way, and of no job"
            )
            raise GradcliError(
                Diagnostic(
                    "E006",
                    message,
                    help="move it elsewhere: a job keeps what it has finished there",
                )
            )
        while True:
            own_folder(self.folder)
            try:
                file = open(path, "a+b", buffering=0, opener=plain_file)  # noqa: SIM115
            except FileNotFoundError:
                continue  # another job has just ended, and taken the folder away
            if not _lock(file):
                file.close()
                message = f"another job is writing `{self._name}`"
                raise GradcliError(Diagnostic("E006", message, help="wait for it, or stop it"))
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
            file.close()  # what was locked is the file that another job has just removed

    def _begin_anew(self) -> None:
        self._file.truncate(0)  # first: it mustn't speak of what is no longer there
        self._clear(_JOURNAL)
        self._rejects = PartialFile(str(self.folder / _REJECTS), None)

    def _go_on(self) -> bool:
        """Reads what is there; whether there is anything. Raises GradcliError (E609) where it is
        another job's, or damaged."""
        self._file.seek(0)
        try:
            lines, end, self._check = _lines(self._file.read())
        except ValueError:
            raise GradcliError(self.refusal(f"cannot be read: `{_JOURNAL}` is damaged")) from None
        if not lines:
            return False
        before = lines[0]["fingerprint"]
        changed = [name for name, digest in self._fingerprint.items() if before.get(name) != digest]
        if changed:
            raise GradcliError(
                self.refusal(f"are of another job: {' and '.join(changed)} changed since")
            )
        self._learn(lines)
        if not self.delivered:
            self._file.truncate(end)
        with self.damaged():
            is_there = self.finished and not self.delivered
            self._rejects = PartialFile(
                str(self.folder / _REJECTS), self.finished[-1].rejects if is_there else None
            )
        return True

    def _learn(self, lines: list[dict[str, Any]]) -> None:
        """Takes over what the lines of a journal say."""
        whole = lines.pop()["whole"] if "whole" in lines[-1] else None
        self.known = lines[0]["known"]
        self.finished = [Finished(**line) for line in lines[1:]]
        self.delivered = whole is not None and whole == _facts(self.out)

    def _has_finished(self) -> bool:
        """Whether the output in its place is that of this job, as it left it."""
        try:
            with open(self._done, "rb", opener=plain_file) as file:
                lines, *_ = _lines(file.read())
        except (OSError, ValueError):
            return False
        if (
            not lines
            or lines[0]["fingerprint"] != self._fingerprint
            or lines[-1].get("whole") != _facts(self.out)
        ):
            return False
        self._learn(lines)
        return True

    @contextmanager
    def damaged(self) -> Iterator[None]:
        """Says of a file that isn't what was written that the job can't go on from it."""
        try:
            yield
        except DamagedError as error:
            raise GradcliError(self.refusal(f"are damaged: {error}")) from None

    def refusal(self, why: str) -> Diagnostic:
        """Why the job can't go on from what is there."""
        message = f"the finished blocks in `{self._name}{SUFFIX}` {why}"
        return Diagnostic(
            "E609", message, help="without --resume the job begins again, and deletes them"
        )

    def begin(self, known: Mapping[str, Any]) -> None:
        """Notes what was learnt from the first rows, before anything is finished."""
        self.known = dict(known)
        self._line({"fingerprint": self._fingerprint, "known": self.known})

    def reject(self, entries: list[dict[str, Any]]) -> None:
        """Writes rows that have no answer to the rejects."""
        if entries:
            text = "".join(
                printable(json.dumps(entry, ensure_ascii=False)) + "\n" for entry in entries
            )
            self._rejects.write(
                text.encode("utf-8", "backslashreplace")
            )  # of half a character, as JSON has it

    def finish(self, block: Finished) -> None:
        """Notes a block whose rows and rejects are written."""
        block = block._replace(rejects=self._rejects.mark)
        self._line(block._asdict())
        self.finished.append(block)

    def _line(self, value: dict[str, Any]) -> None:
        text = json.dumps(value).encode().removesuffix(b"}")
        self._check = zlib.crc32(text, self._check)
        write_all(self._file, text + b', "check": "%08x"}\n' % self._check)

    def deliver(self) -> None:
        """Puts the whole output in its place, with the rejects beside it and the journal as
        `.OUT.done`, and takes the folder away. Raises GradcliError (E609) where the rejects are
        damaged."""
        if self.was_done:
            return
        if not self.delivered:
            with self.damaged():
                self._rejects.finish()
            self._line({"whole": _facts(self.rows)})
            self._deliver_rejects()
            if self.out.exists():
                os.chmod(self.rows, self.out.stat().st_mode)
            os.replace(self.rows, self.out)
        self._rejects.close()
        self._clear(_JOURNAL)
        os.replace(self.folder / _JOURNAL, self._done)
        self._leave()

    def _deliver_rejects(self) -> None:
        """A copy of them: if this is where the process dies, they are still here."""
        beside = rejects_of(self._name)
        if not self._rejects.position:
            beside.unlink(missing_ok=True)  # of an earlier job
            return
        copy = self.folder / "delivered.jsonl"
        copy.unlink(missing_ok=True)  # of a job that was killed here
        with (
            open(self.folder / _REJECTS, "rb", opener=plain_file) as rejects,
            open(copy, "xb", opener=plain_file) as file,
        ):
            shutil.copyfileobj(rejects, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(copy, beside)

    def _remove(self) -> None:
        """Takes the folder away, with the journal last: files without one are of no job. It is
        emptied first, as it mustn't speak of what is no longer there."""
        self._rejects.close()
        self._file.truncate(0)
        self._clear(_JOURNAL)
        (self.folder / _JOURNAL).unlink()
        self._leave()

    def _leave(self) -> None:
        """Lets go of the folder, which is empty, unless another job has just begun there."""
        with suppress(OSError):
            self.folder.rmdir()
        self._file.close()

    def _clear(self, *but: str) -> None:
        for file in self.folder.iterdir():
            if file.name not in but:
                shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink()

    def close(self) -> None:
        """Lets go of the folder. One without a finished block is no use to anybody, and goes."""
        if self.was_done or self._file.closed:
            return
        if self.finished:
            self._rejects.close()
            self._file.close()
        else:
            self._remove()


def rejects_of(out: str) -> Path:
    """The file beside an output that says which rows have no answer."""
    target = _target(out)
    return target.with_name(target.name + BESIDE)


def _target(out: str) -> Path:
    """Where an output goes: behind a link the file that it leads to. Raises GradcliError (E006)
    where that is no file, or where its rejects would replace a folder."""
    target = Path(os.path.realpath(out) if os.path.islink(out) else out)
    beside = f"{target}{BESIDE}"
    for folder, help in ((out, "name a file in it"), (beside, "rejects go there: move it away")):
        if os.path.isdir(folder):
            raise GradcliError(
                Diagnostic("E006", f"cannot write `{folder}`: it is a folder", help=help)
            )
    if os.path.exists(out) and not os.path.isfile(out):  # not `target`: /dev/stdout leads to none
        help = "`-o -` writes to standard output"
        raise GradcliError(
            Diagnostic("E006", f"cannot write `{out}`: it is a device or a pipe", help=help)
        )
    return target


def _lock(file: Any) -> bool:
    """Locks a file for as long as it is open; False where another process has it. Windows refuses
    what locks prevent, as it removes no file that somebody has open."""
    if sys.platform != "win32":
        import fcntl

        try:  # a lock of this process alone: forks that compute for it don't hold it
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        except OSError as error:
            if error.errno not in (
                errno.ENOSYS,
                errno.ENOLCK,
                errno.EOPNOTSUPP,
            ):  # a file system without locks
                raise
    return True


def fingerprint(facts: Mapping[str, Facts]) -> dict[str, str]:
    """What tells one job from another: of each sort of facts that its output depends on, a
    digest."""
    return {
        name: _digest(json.dumps(value, sort_keys=True, default=_shown).encode())[:16]
        for name, value in facts.items()
    }


def _digest(data: bytes) -> str:
    import hashlib  # here: what goes to standard output doesn't pay for it

    return hashlib.sha256(data).hexdigest()


def _shown(value: Any) -> Any:
    if hasattr(value, "tobytes"):
        return [str(value.dtype), value.shape, _digest(value.tobytes())]
    return repr(value)


def _lines(data: bytes) -> tuple[list[dict[str, Any]], int, int]:
    """A journal's whole lines; where those of blocks end, and the checksum of the last of these.
    Raises ValueError where they aren't what was written."""
    lines: list[dict[str, Any]] = []
    check = end = of_blocks = 0
    for line in data[: data.rfind(b"\n") + 1].splitlines(keepends=True):
        found = _LINE.fullmatch(line.removesuffix(b"\n"))
        if found is None or (check := zlib.crc32(found[1], check)) != int(found[2], 16):
            raise ValueError
        lines.append(json.loads(found[1] + b"}"))
        if "whole" not in lines[-1]:
            of_blocks, end = check, end + len(line)
    return lines, end, of_blocks


def _facts(path: Path) -> dict[str, int] | None:
    """What tells the output from another, or from itself after a change; it stays when the file is
    renamed."""
    try:
        found = path.stat()
    except OSError:
        return None
    return {"size": found.st_size, "mtime_ns": found.st_mtime_ns}
