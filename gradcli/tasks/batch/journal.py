"""What a job has finished, on disk: a folder `OUT.partial` with the rows so far, the rejects, and a journal with a line for
each block. A line is written when its rows are, so whatever kills the process, what the journal says is there.

The journal's first line is the job's fingerprint, and what was learnt from its first rows. A job goes on by cutting off what
was written after the last whole line.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...diagnostics import Diagnostic, GradcliError

SUFFIX = ".partial"


class Finished(NamedTuple):
    """A block that is on disk: its place in the data, how many rows have no answer, whether it is a part that couldn't be
    read, where the files end behind it, and the totals of a reduction."""

    start: int
    rows: int
    failed: int
    unreadable: bool
    position: Any
    rejects: int
    totals: dict[str, Any] | None = None


class Journal:
    """The folder of one job, which nobody else may write to at the same time.

    known    what was learnt from the first rows; {} where the job begins
    finished the blocks that are there, in order
    delivered whether the output is in its place already, and only the folder was left
    """

    def __init__(self, out: str, fingerprint: str, resume: bool) -> None:
        self.out = Path(out)
        self.folder = self.out.with_name(self.out.name + SUFFIX)
        self.known: dict[str, Any] = {}
        self.finished: list[Finished] = []
        self.delivered = False
        self._prepare(fingerprint, resume)

    @property
    def rows(self) -> Path:
        """Where the writer has its file."""
        return self.folder / f"rows{self.out.suffix}"

    def _prepare(self, fingerprint: str, resume: bool) -> None:
        if self.out.is_dir():
            raise GradcliError(Diagnostic("E006", f"cannot write `{self.out}`: it is a folder"))
        try:
            self.folder.mkdir(exist_ok=True)
            self._file = open(self.folder / "journal.jsonl", "a+b", buffering=0)  # noqa: SIM115 - as long as the job
            self._rejects = open(self.folder / "rejects.jsonl", "a+b", buffering=0)  # noqa: SIM115
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise GradcliError(
                Diagnostic("E006", f"another job is writing `{self.out}`", help="wait for it, or stop it")
            ) from None
        except OSError as error:
            help = "" if self.out.parent.is_dir() else f"there is no folder `{self.out.parent}`: make it first"
            raise GradcliError(Diagnostic("E006", f"cannot write `{self.out}`: {error.strerror}", help=help)) from None
        self._fingerprint = fingerprint
        if not resume or not self._go_on():
            for file in self.folder.iterdir():
                if file.name not in ("journal.jsonl", "rejects.jsonl"):
                    shutil.rmtree(file) if file.is_dir() else file.unlink()
            self._file.truncate(0)
            self._rejects.truncate(0)

    def _go_on(self) -> bool:
        """Reads what is there; whether there is anything. Raises GradcliError (E609) where it is another job's."""
        self._file.seek(0)
        data = self._file.read()
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.splitlines()
        if not lines:
            return False
        head = json.loads(lines[0])
        if head["fingerprint"] != self._fingerprint:
            message = f"the finished blocks in `{self.folder}` are of another job"
            help = "the program, the options or the data have changed; without --resume it begins anew"
            raise GradcliError(Diagnostic("E609", message, help=help))
        self.known = head["known"]
        self.finished = [Finished(**json.loads(line)) for line in lines[1:]]
        self.delivered = bool(self.finished) and not self.rows.exists() and self.out.exists()
        self._file.truncate(len(whole))
        self._rejects.truncate(self.finished[-1].rejects if self.finished else 0)
        return True

    def begin(self, known: Mapping[str, Any]) -> None:
        """Notes what was learnt from the first rows, before anything is finished."""
        self.known = dict(known)
        self._line({"fingerprint": self._fingerprint, "known": self.known})

    def reject(self, entries: list[dict[str, Any]]) -> None:
        """Writes rows that have no answer to the rejects."""
        if entries:
            _write(self._rejects, "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries).encode())

    def finish(self, block: Finished) -> None:
        """Notes a block whose rows and rejects are written."""
        block = block._replace(rejects=self._rejects.seek(0, os.SEEK_END))
        self._line(block._asdict())
        self.finished.append(block)

    def _line(self, value: dict[str, Any]) -> None:
        _write(self._file, json.dumps(value).encode() + b"\n")

    def deliver(self) -> None:
        """Puts the whole output in its place, with the rejects beside it, and takes the folder away."""
        if not self.delivered:
            self._deliver_rejects()
            if self.out.exists():
                os.chmod(self.rows, self.out.stat().st_mode)
            os.replace(self.rows, self.out)
        self.close()
        shutil.rmtree(self.folder)

    def _deliver_rejects(self) -> None:
        """A copy of them: if this is where the process dies, they are still here."""
        beside = rejects_of(str(self.out))
        if not self._rejects.seek(0, os.SEEK_END):
            beside.unlink(missing_ok=True)  # of an earlier job
            return
        copy = self.folder / "delivered.jsonl"
        shutil.copyfile(self.folder / "rejects.jsonl", copy)
        with open(copy, "rb") as file:
            os.fsync(file.fileno())
        os.replace(copy, beside)

    def close(self) -> None:
        self._rejects.close()
        self._file.close()


def rejects_of(out: str) -> Path:
    """The file beside an output that says which rows have no answer."""
    return Path(out + ".rejects.jsonl")


def fingerprint(facts: Mapping[str, Any]) -> str:
    """What tells one job from another: a digest of everything that its output depends on."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=_shown).encode()).hexdigest()


def _shown(value: Any) -> Any:
    if hasattr(value, "tobytes"):
        return [str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest()]
    return repr(value)


def _write(file: Any, data: bytes) -> None:
    """All of the data, to the operating system."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
