"""A campaign of kills: jobs that are killed at chosen changes to the file system, once or again and
again, and go on with --resume. What they end with is what an undisturbed run gives, to the byte:
output, rejects, report, and nothing else.

`python -m tests.tasks.batch.kills --seed 1 --kills 1000` runs it for as many kills, and tells what
was killed how often; `--at 'npz rejects --threads 3' --every` tries each step of one case.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gradcli.rows.writing import WRITERS
from tests.tasks.batch.jobs import journal, run
from tests.tasks.batch.steps import LOG, WHEN, Death

BLOCK_ROWS = 4
PROGRAM = """\
var x
frozen n: int64
expect x < 2.5
s = 0.0
while s < 2 { s += abs(x) + 0.1 }
output f = s * x * n
"""
WIDENS = "frozen n: int64\nfrozen x\noutput f = n if x < 2.0 else n + 0.5\n"
DATA = ("rejects", "clean", "widens", "parts", "piped")
WAYS = (
    "--threads 1",
    "--threads 3",
    "--workers 2",
    "--reduce sum",
    "--reduce mean --threads 3",
    "--reduce sum --workers 2",
)
OF_THE_RUN = (
    "resumed",
    "resumed_blocks",
    "was_done",
    "reruns",
    "seconds",
    "rows_per_second",
    "compiled",
    "stepped_back",
    "interpreted",
    "not_compiled",
    "kind",  # a job that goes on doesn't probe, and so doesn't know of kernels
)  # the rest is of the job
OLD = (b"of an earlier job\n", b'{"row": "of an earlier job"}\n')  # an output, and its rejects


class Case(NamedTuple):
    """What is killed: a job of one format, over one sort of data, done in one way."""

    format: str
    data: str
    way: str

    def __str__(self) -> str:
        return " ".join(self)

    def arguments(self) -> list[str]:
        rows = {"parts": "parts", "piped": "-"}.get(self.data, "data.csv")
        has_keys = (
            "--reduce" not in self.way and self.format != "npy"
        )  # which holds no text, as the keys of CSV are
        keep = ["--keep", "id"] if has_keys else []
        given = ["--rows", rows, "--rows-format", "csv", "-o", self.out, "--report", "report.json"]
        return ["batch", "p.tg", *given, *keep, "--block-rows", str(BLOCK_ROWS), *self.way.split()]

    @property
    def out(self) -> str:
        return f"out.{self.format}"

    @property
    def files(self) -> tuple[str, str, str]:
        """What the job makes: the output, the rejects beside it, and the journal that stays."""
        return self.out, f"{self.out}.rejects.jsonl", f".{self.out}.done"


CASES = [
    Case(*each)
    for each in itertools.product([*WRITERS, "json", "txt"], DATA, WAYS)
    if each[0] in WRITERS or "--reduce" in each[2]
]


class Plan(NamedTuple):
    """What there is when a job begins ("nothing", "old" files of an earlier job, or that it is
    "done"), and how it dies: again and again, and whether the run that dies was to --resume."""

    begins: str
    runs: tuple[tuple[Death, bool], ...]


class Trial:
    """One case in a folder of its own, with what an undisturbed run gives; `steps` are those that
    it takes."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder = case, folder
        self._given = _fill(folder, case.data)
        self.code = self._run(Death())
        assert self.code in (0, 6), (folder / "stderr").read_text()
        self.steps = (folder / LOG).read_text().splitlines()
        self._whole, self._report = self._result(), self._reported()
        self._names = self._listed()

    def kill(self, plan: Plan) -> list[str]:
        """The steps that it was killed at. Raises AssertionError where what it ends with
        differs."""
        case, folder = self.case, self.folder
        old = self._begin(plan.begins)
        killed: list[str] = []
        finished: list[Any] = []
        for death, resume in plan.runs:
            code = self._run(death, *["--resume"] * resume)
            if code != -9:
                assert code == self.code, f"exit code {code}: {(folder / 'stderr').read_text()}"
                finished = []  # the folder is gone
                continue
            killed.append(f"{death.when} {(folder / LOG).read_text().splitlines()[-1]}")
            result, there = self._result(), journal(folder / case.out)
            assert result[0] in (old[0], self._whole[0]), (
                "the output is neither the old one nor the whole one"
            )
            if resume and case.data != "widens" and result[0] != self._whole[0]:
                assert there[: len(finished)] == finished, "a finished block is lost"
            finished = there
        code = self._run(Death(), "--resume")
        assert code == self.code, f"exit code {code}: {(folder / 'stderr').read_text()}"
        assert self._result() == self._whole, "the output or the rejects differ"
        report = self._reported()
        assert {**report, **_of_the_run(self._report)} == self._report, (
            f"the report differs: {report} {self._report}"
        )
        if case.data != "widens" and not report["was_done"]:
            assert report["resumed_blocks"] in (len(finished), self._report["blocks"]), (
                "a finished block is computed again"
            )
        assert self._listed() == self._names, f"files: {self._listed()}, not {self._names}"
        return killed

    def _begin(self, begins: str) -> tuple[bytes | None, ...]:
        if begins != "done":
            for name in self.case.files:
                (self.folder / name).unlink(missing_ok=True)
        if begins == "old":
            for name, data in zip(self.case.files, OLD, strict=False):
                (self.folder / name).write_bytes(data)
        return self._result()

    def _run(self, death: Death, *more: str) -> int:
        return run(
            self.folder, [*self.case.arguments(), *more], dies=death, given=self._given
        ).wait()

    def _result(self) -> tuple[bytes | None, ...]:
        paths = [self.folder / name for name in self.case.files[:2]]
        return tuple([path.read_bytes() if path.exists() else None for path in paths])

    def _reported(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return report

    def _listed(self) -> list[str]:
        """All files; but not what is left of a report, whose name is drawn so that nobody else
        writes there."""
        return sorted(
            path.name for path in self.folder.iterdir() if not path.name.startswith(".report.json.")
        )


def _of_the_run(report: dict[str, Any]) -> dict[str, Any]:
    return {name: report[name] for name in OF_THE_RUN}


def _fill(folder: Path, data: str) -> bytes:
    """Writes the program and its data; what comes through a pipe is returned."""
    (folder / "p.tg").write_text(WIDENS if data == "widens" else PROGRAM)
    chance = random.Random(0)
    rows = [[str(k), f"{chance.uniform(-2, 2):.3f}", str(k)] for k in range(3 * BLOCK_ROWS)]
    if data != "clean":
        rows[2][1], rows[-2][1] = "2.75", "2.875"
    if data not in ("clean", "widens"):
        rows[5][1] = "banana"
    if data == "widens":
        rows[2][1] = "1"
    text = "\n".join(["id,x,n", *(",".join(row) for row in rows)]) + "\n"
    if data == "parts":
        (folder / "parts").mkdir()
        (folder / "parts" / "1.csv").write_text(text)
        (folder / "parts" / "2.csv").write_text("id,x\n1,2\n")
        (folder / "parts" / "3.csv").write_text(text)
    elif data != "piped":
        (folder / "data.csv").write_text(text)
    return text.encode() if data == "piped" else b""


def drawn(trial: Trial, chance: random.Random) -> Plan:
    """A job that dies once, or a few times."""
    times = chance.choice((1, 1, 1, 2, 4))
    deaths = [Death(chance.randrange(len(trial.steps)), chance.choice(WHEN)) for _ in range(times)]
    begins = chance.choice(("nothing", "nothing", "old", "old", "done"))
    return Plan(begins, tuple([(death, chance.random() < 0.7) for death in deaths]))


def every(trial: Trial) -> Iterator[Plan]:
    """Each step of an undisturbed run; of one that goes on where another was killed; and of one
    that begins anew there."""
    halfway = (Death(len(trial.steps) // 2), False)
    for before in ((), (halfway,)):
        for resume in (False, True)[: len(before) + 1]:
            for step in range(
                len(trial.steps) + 6
            ):  # beginning anew has more of them: what is there is removed
                for when in WHEN:
                    yield Plan("old", (*before, (Death(step, when), resume)))


def campaign(
    seed: int, kills: int, cases: list[Case], rounds: int = 3, seconds: float = 1e9
) -> Counter[str]:
    """Kills jobs of the cases in turn, a few times each, until there were so many kills, or the
    time is up."""
    chance = random.Random(seed)
    cases = chance.sample(cases, len(cases))
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    for case in itertools.cycle(cases):
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(case, Path(folder))
            for _ in range(rounds):
                if counts["kills"] >= kills or time.monotonic() > end:
                    return counts
                count(trial, drawn(trial, chance), counts)
    return counts


def count(trial: Trial, plan: Plan, counts: Counter[str]) -> None:
    """Kills a job, and counts it. Raises AssertionError, with all that is needed to see it again,
    where it fails."""
    try:
        killed = trial.kill(plan)
    except AssertionError as error:
        kept = tempfile.mkdtemp(prefix="kills-")
        shutil.copytree(trial.folder, kept, dirs_exist_ok=True)
        raise AssertionError(f"{trial.case}: {plan}: {error} (see {kept})") from None
    counts.update(["jobs", *["kills"] * len(killed), *killed])
    counts.update([f"of {part}" for part in trial.case for _ in killed])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--at", default="", help="only cases that have these words")
    parser.add_argument(
        "--every", action="store_true", help="each step of each of these cases, instead of some"
    )
    given = parser.parse_args()
    cases = [case for case in CASES if given.at in str(case)]
    if given.every:
        counts: Counter[str] = Counter()
        for case in cases:
            with tempfile.TemporaryDirectory() as folder:
                trial = Trial(case, Path(folder))
                for plan in every(trial):
                    count(trial, plan, counts)
    else:
        counts = campaign(given.seed, given.kills, cases, seconds=given.seconds)
    for name, times in sorted(counts.items()):
        print(f"{times:6} {name}")


if __name__ == "__main__":
    main()
