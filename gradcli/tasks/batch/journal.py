"""What a job has finished, on disk: a folder `OUT.partial` with the rows so far, the rejects, and a journal with a line for
each block. A line is written when its rows are, so whatever kills the process, what the journal says is there.

The journal's first line is the job's fingerprint, and what was learnt from its first rows; its last one says that the output
is whole, and about to be put in its place. A job goes on by cutting off what was written after the last whole line.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from ...diagnostics import Diagnostic, GradcliError, printable
from ...safe_files import own_folder, plain_file

SUFFIX = ".partial"
_JOURNAL, _REJECTS, _ROWS = "journal.jsonl", "rejects.jsonl", "rows"
_WHOLE = {"whole": True}
Facts = Mapping[str, Any]


class Finished(NamedTuple):
    """A block that is on disk: its place in the data, how many rows have no answer, the part that couldn't be read if it is
    one, where the files end behind it, the totals of a reduction, and of rows that came through a pipe what they were."""

    start: int
    rows: int
    failed: int
    unreadable: str
    position: Any
    rejects: int
    totals: dict[str, Any] | None = None
    digest: str = ""


class Journal:
    """The folder of one job, which nobody else may write to at the same time.

    known      what was learnt from the first rows; {} where the job begins
    finished   the blocks that are there, in order
    delivered  whether the output is in its place already, and only the folder was left
    """

    def __init__(self, out: str, fingerprint: Mapping[str, str], resume: bool) -> None:
        """Raises GradcliError: E006 where the output can't be written, E609 where what is there is of another job."""
        self.out, self._name = _target(out), out
        self.folder = self.out.with_name(self.out.name + SUFFIX)
        self.known: dict[str, Any] = {}
        self.finished: list[Finished] = []
        self.delivered = False
        self._fingerprint = dict(fingerprint)
        try:
            self._file = self._locked()
        except OSError as error:
            raise GradcliError(self._unwritable(error)) from None
        try:
            with ExitStack() as refused:
                refused.enter_context(self._file)
                self._rejects = refused.enter_context(self._opened(_REJECTS))
                if not resume or not self._go_on():
                    self._begin_anew()
                refused.pop_all()  # as long as the job
        except OSError as error:
            raise GradcliError(self._unwritable(error)) from None

    def _opened(self, name: str) -> Any:
        """A file of the folder, to be read, and written to at its end."""
        return open(self.folder / name, "a+b", buffering=0, opener=plain_file)

    def _unwritable(self, error: OSError) -> Diagnostic:
        help = "" if self.out.parent.is_dir() else f"there is no folder `{self.out.parent}`: make it first"
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
        if self.folder.exists() and not os.path.lexists(path) and (not self.folder.is_dir() or any(self.folder.iterdir())):
            message = f"cannot write `{self._name}`: `{self._name}{SUFFIX}` is in the way, and of no job"
            raise GradcliError(Diagnostic("E006", message, help="move it elsewhere: a job keeps what it has finished there"))
        while True:
            own_folder(self.folder)
            try:
                file = self._opened(_JOURNAL)
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
        self._clear(_JOURNAL, _REJECTS)
        self._file.truncate(0)
        self._rejects.truncate(0)

    def _go_on(self) -> bool:
        """Reads what is there; whether there is anything. Raises GradcliError (E609) where it is another job's."""
        self._file.seek(0)
        data = self._file.read()
        whole = data[: data.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            if not lines:
                return False
            is_whole = lines[-1] == _WHOLE
            finished = [Finished(**line) for line in lines[1 : -1 if is_whole else None]]
            known, before = lines[0]["known"], dict(lines[0]["fingerprint"])
        except (ValueError, TypeError, KeyError):
            raise GradcliError(self.refusal("cannot be read: did the machine crash?")) from None
        changed = [name for name, digest in self._fingerprint.items() if before.get(name) != digest]
        if changed:
            raise GradcliError(self.refusal(f"are of another job: {' and '.join(changed)} changed since"))
        self.delivered = is_whole and not self.rows.exists() and self.out.exists()
        self.known, self.finished = known, finished
        if not self.delivered:
            self._cut_off(len(whole) - (len(_text(_WHOLE)) if is_whole else 0), finished[-1].rejects if finished else 0)
        return True

    def _cut_off(self, journal: int, rejects: int) -> None:
        """Takes away what was written behind these ends. Raises GradcliError (E609) where the files end before."""
        if self.finished and not self.rows.exists():
            raise GradcliError(self.refusal(f"are gone: there is no `{self.rows.name}`"))
        if self._rejects.seek(0, os.SEEK_END) < rejects:
            raise GradcliError(self.refusal(f"are gone: `{_REJECTS}` is shorter than it was"))
        self._file.truncate(journal)
        self._rejects.truncate(rejects)

    def refusal(self, why: str) -> Diagnostic:
        """Why the job can't go on from what is there."""
        message = f"the finished blocks in `{self._name}{SUFFIX}` {why}"
        return Diagnostic("E609", message, help="without --resume the job begins anew, and throws them away")

    def begin(self, known: Mapping[str, Any]) -> None:
        """Notes what was learnt from the first rows, before anything is finished."""
        self.known = dict(known)
        self._line({"fingerprint": self._fingerprint, "known": self.known})

    def reject(self, entries: list[dict[str, Any]]) -> None:
        """Writes rows that have no answer to the rejects."""
        if entries:
            text = "".join(printable(json.dumps(entry, ensure_ascii=False)) + "\n" for entry in entries)
            _write(self._rejects, text.encode("utf-8", "backslashreplace"))  # of half a character, as JSON has it

    def finish(self, block: Finished) -> None:
        """Notes a block whose rows and rejects are written."""
        block = block._replace(rejects=self._rejects.seek(0, os.SEEK_END))
        self._line(block._asdict())
        self.finished.append(block)

    def _line(self, value: dict[str, Any]) -> None:
        _write(self._file, _text(value))

    def deliver(self) -> None:
        """Puts the whole output in its place, with the rejects beside it, and takes the folder away."""
        if not self.delivered:
            self._line(_WHOLE)
            self._deliver_rejects()
            if self.out.exists():
                os.chmod(self.rows, self.out.stat().st_mode)
            os.replace(self.rows, self.out)
        self._remove()

    def _deliver_rejects(self) -> None:
        """A copy of them: if this is where the process dies, they are still here."""
        beside = rejects_of(self._name)
        if not self._rejects.seek(0, os.SEEK_END):
            beside.unlink(missing_ok=True)  # of an earlier job
            return
        copy = self.folder / "delivered.jsonl"
        copy.unlink(missing_ok=True)  # of a job that was killed here
        self._rejects.seek(0)
        with open(copy, "xb", opener=plain_file) as file:
            shutil.copyfileobj(self._rejects, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(copy, beside)

    def _remove(self) -> None:
        """Takes the folder away, the journal last: as long as it is there, it says that all is done."""
        self._rejects.close()
        self._clear(_JOURNAL)
        (self.folder / _JOURNAL).unlink()
        self.folder.rmdir()
        self._file.close()

    def _clear(self, *but: str) -> None:
        for file in self.folder.iterdir():
            if file.name not in but:
                shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink()

    def close(self) -> None:
        """Lets go of the folder. One without a finished block is no use to anybody, and goes."""
        if self._file.closed:
            return
        if self.finished:
            self._rejects.close()
            self._file.close()
        else:
            self._remove()


def rejects_of(out: str) -> Path:
    """The file beside an output that says which rows have no answer."""
    target = _target(out)
    return target.with_name(target.name + ".rejects.jsonl")


def _target(out: str) -> Path:
    """Where an output goes: behind a link the file that it leads to. Raises GradcliError (E006) where that is no file."""
    target = Path(os.path.realpath(out) if os.path.islink(out) else out)
    if target.is_dir():
        raise GradcliError(Diagnostic("E006", f"cannot write `{out}`: it is a folder", help="name a file in it"))
    if target.exists() and not target.is_file():
        help = "`-o -` writes to standard output"
        raise GradcliError(Diagnostic("E006", f"cannot write `{out}`: it is a device or a pipe", help=help))
    return target


def _lock(file: Any) -> bool:
    """Locks a file for as long as it is open; False where another process has it. Windows refuses what locks prevent, as
    it removes no file that somebody has open."""
    if sys.platform != "win32":
        import fcntl

        try:  # a lock of this process alone: forks that compute for it don't hold it
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP):  # a file system without locks
                raise
    return True


def fingerprint(facts: Mapping[str, Facts]) -> dict[str, str]:
    """What tells one job from another: of each sort of facts that its output depends on, a digest."""
    return {
        name: hashlib.sha256(json.dumps(value, sort_keys=True, default=_shown).encode()).hexdigest()[:16]
        for name, value in facts.items()
    }


def _shown(value: Any) -> Any:
    if hasattr(value, "tobytes"):
        return [str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest()]
    return repr(value)


def _text(value: Mapping[str, Any]) -> bytes:
    """A line of the journal."""
    return json.dumps(value).encode() + b"\n"


def _write(file: Any, data: bytes) -> None:
    """All of the data, to the operating system."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
