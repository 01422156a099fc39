"""Jobs on Dask: one cluster of two workers for all tests of a scheduler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gradcli
from gradcli import __version__
from gradcli.diagnostics import GradcliError
from gradcli.tasks.batch.cluster import _verify_workers
from tests.tasks.batch.jobs import journal, run
from tests.tasks.batch.spread import job, make_folder, result, told

pytest.importorskip("distributed")

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(gradcli.__file__).parents[1])}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The file of a scheduler, which has two workers, none of which is where the data is."""
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    common = ["--scheduler-file", str(file), "--no-dashboard"]
    with open(folder / "log", "wb") as log:
        start = {"cwd": folder, "env": ENVIRONMENT, "stdout": log, "stderr": log}
        scheduler = subprocess.Popen(
            [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *common], **start
        )
        workers = subprocess.Popen(
            [*dask, "worker", "--nworkers", "2", "--nthreads", "1", *common], **start
        )
    try:
        end = time.monotonic() + 60
        while (folder / "log").read_bytes().count(b"Registered to:") < 2:
            assert time.monotonic() < end, (folder / "log").read_text()
            time.sleep(0.05)
        yield str(file)
    finally:
        for process in (workers, scheduler):
            process.terminate()
            process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


# ---- a scheduler ---------------------------------------------------------------------------------


def test_the_same_bytes(address: str, folder: Path) -> None:
    """With rejects, imports from the library and from files, arrays for all rows, and rows that
    come through a pipe."""
    assert run(folder, job()).wait() == 6
    whole = result(folder)
    done = run(folder, job("--scheduler", address))
    assert (done.wait(), told(done), result(folder)) == (6, [], whole)
    rows, address = (
        (folder / "data.csv").read_bytes(),
        json.loads(Path(address).read_text())["address"],
    )
    done = run(folder, job("--scheduler", address, "--rows-format", "csv", rows="-"), given=rows)
    assert (done.wait(), told(done), result(folder)) == (6, [], whole)


def test_a_job_goes_on_elsewhere(address: str, folder: Path) -> None:
    """What is finished here needn't be computed there."""
    assert run(folder, job()).wait() == 6
    whole = result(folder)
    assert run(folder, job(), largest=8_000).wait() == 2
    finished = len(journal(folder / "out.csv"))
    done = run(folder, job("--scheduler", address, "--resume", "--report", "report.json"))
    assert (done.wait(), result(folder)) == (6, whole)
    assert json.loads((folder / "report.json").read_text())["resumed_blocks"] == finished > 0


def test_what_goes_wrong_there(address: str, folder: Path) -> None:
    done = run(folder, job("--scheduler", address, "--on-error", "fail"))
    assert done.wait() == 3
    assert done.err.splitlines()[0] == 'error[E605]: row 77: column `x`: "banana" is not a number'
    (folder / "data.csv").write_text("id,x,y\nr0,1,1\n")
    (folder / "big.tg").write_text("var x\nz = ones(int64(1e12)) * x\noutput f = x\n")
    done = run(folder, job("--scheduler", address, "--no-grad", program="big.tg"))
    assert done.wait() == 4
    assert done.err.startswith("error[E405]")


def test_no_scheduler(folder: Path) -> None:
    began = time.monotonic()
    done = run(folder, job("--scheduler", "tcp://127.0.0.1:9"))
    assert (done.wait(), done.err.splitlines()[0]) == (
        2,
        "error[E009]: no Dask scheduler answers at `tcp://127.0.0.1:9`",
    )
    assert time.monotonic() - began < 30
    done = run(folder, job("--scheduler", "nonsense://127.0.0.1"))
    assert (done.wait(), done.err.splitlines()[0]) == (
        2,
        "error[E009]: no Dask scheduler answers at `nonsense://127.0.0.1`",
    )
    assert list(folder.glob("out.csv*")) == []


class Workers:
    """A client whose workers say so of themselves."""

    def __init__(self, said: Any) -> None:
        self.said = said

    def run(self, function: Any, places: list[str]) -> Any:
        if isinstance(self.said, Exception):
            raise self.said
        return {"tcp://a:1": function(places), "tcp://b:1": self.said or function(places)}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (("0.0.1", ""), f"the worker tcp://b:1 has gradcli 0.0.1, this is {__version__}"),
        ((__version__, "/data.csv"), "the worker tcp://b:1 can't read the file `/data.csv`"),
        (
            ModuleNotFoundError("No module named 'gradcli'"),
            "a worker cannot import gradcli: No module named 'gradcli'",
        ),
        (None, "the worker tcp://a:1 can't read the file `/nowhere/data.csv`"),
    ],
)
def test_workers_that_can_not_do_the_job(said: Any, message: str) -> None:
    with pytest.raises(GradcliError) as caught:
        _verify_workers(Workers(said), ["/nowhere/data.csv"] if said is None else [])
    assert [(d.code, d.message) for d in caught.value.diagnostics] == [("E009", message)]
