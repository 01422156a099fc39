"""Jobs on workers of their own, over pipes: the same job, whatever happens to the workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

import gradcli
from gradcli.tasks.batch.local import ATTEMPTS
from gradcli.tasks.batch.processes import can_fork
from tests.tasks.batch.jobs import PATIENCE, Process, journal, run
from tests.tasks.batch.spread import job, make_folder, result, told

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(gradcli.__file__).parents[1])}
ENDLESS = [
    word
    for word in job("--workers", "2", program="slow.tg")
    if word not in ("--max-steps", "100000")
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


def workers_of(process: Any) -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process(process.pid).children()
        if "gradcli.tasks.batch.local" in command_of(child)
    ]


def command_of(process: psutil.Process) -> str:
    """How a process was started; "" where it has ended in the meantime."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # a zombie among them
        return ""


def started(folder: Path, arguments: list[str], begin: str = "") -> subprocess.Popen[str]:
    """gradcli in a session of its own, as a terminal starts it."""
    code = f"{begin}\nfrom gradcli.cli import main; main()"
    command = [sys.executable, "-c", code, *arguments]
    pipes: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    return subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, text=True, start_new_session=True, **pipes
    )


def wait_for(condition: Callable[[], object], running: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def all_but_the_endless_block(folder: Path) -> Callable[[], bool]:
    return lambda: len(journal(folder / "out.csv")) >= 8


def test_the_same_bytes(folder: Path) -> None:
    assert run(folder, job()).wait() == 6
    whole = result(folder)
    for count in ("1", "2", "3"):
        done = run(folder, job("--workers", count))
        assert (done.wait(), told(done), result(folder)) == (6, [], whole)
    done = run(
        folder,
        job("--workers", "2", "--rows-format", "csv", rows="-"),
        given=(folder / "data.csv").read_bytes(),
    )
    assert (done.wait(), told(done), result(folder)) == (6, [], whole)


def test_a_job_goes_on_with_workers(folder: Path) -> None:
    assert run(folder, job()).wait() == 6
    whole = result(folder)
    assert run(folder, job(), largest=8_000).wait() == 2
    finished = len(journal(folder / "out.csv"))
    done = run(folder, job("--workers", "2", "--resume", "--report", "report.json"))
    assert (done.wait(), result(folder)) == (6, whole)
    report = json.loads((folder / "report.json").read_text())
    assert report["resumed_blocks"] == finished > 0


def test_what_goes_wrong_there(folder: Path) -> None:
    done = run(folder, job("--workers", "2", "--on-error", "fail"))
    assert done.wait() == 3
    assert done.err.splitlines()[0] == 'error[E605]: row 77: column `x`: "banana" is not a number'
    (folder / "data.csv").write_text("id,x,y\nr0,1,1\n")
    (folder / "big.tg").write_text("var x\nz = ones(int64(1e12)) * x\noutput f = x\n")
    done = run(folder, job("--workers", "2", "--no-grad", program="big.tg"))
    assert done.wait() == 4
    assert done.err.startswith("error[E405]")


@pytest.mark.skipif(not hasattr(psutil, "RLIMIT_DATA"), reason="there is no such limit here")
def test_the_memory_of_each_worker_is_limited(folder: Path) -> None:
    running = started(folder, [*ENDLESS, "--max-memory", "2G"])
    wait_for(lambda: len(workers_of(running)) == 2, running)
    limits = [worker.rlimit(psutil.RLIMIT_DATA)[0] for worker in workers_of(running)]
    running.kill()
    running.communicate()
    assert all(2 * 2**30 <= limit < 4 * 2**30 for limit in limits)


def test_dask_is_not_needed(folder: Path) -> None:
    without = "import sys; sys.modules['dask'] = sys.modules['distributed'] = None"
    running = started(folder, job("--workers", "2"), without)
    out, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, out, err.count("error")) == (6, "", 0), err


def test_nothing_listens(folder: Path) -> None:
    """Neither the job nor its workers have a socket of any kind."""
    running = started(folder, ENDLESS)
    wait_for(all_but_the_endless_block(folder), running)
    processes = [psutil.Process(running.pid), *workers_of(running)]
    assert len(processes) == 3
    assert [process.net_connections(kind="all") for process in processes] == [[], [], []]
    running.kill()
    running.communicate()


def test_a_worker_that_is_killed_is_survived(folder: Path) -> None:
    assert run(folder, job(program="slow.tg")).wait() == 6
    whole = result(folder)
    running = Process(folder, job("--workers", "2", program="slow.tg"))
    running.wait_for(lambda: len(journal(folder / "out.csv")) >= 2)
    workers_of(running)[0].kill()
    assert (running.wait(), told(running), result(folder)) == (6, [], whole)


def test_a_block_that_takes_every_worker_with_it_ends_the_job(folder: Path) -> None:
    running = started(folder, ENDLESS)
    wait_for(all_but_the_endless_block(folder), running)
    killed: set[int] = set()
    while running.poll() is None:
        for worker in workers_of(running):
            worker.kill()
            killed.add(worker.pid)
        time.sleep(0.02)
    _, err = running.communicate()
    assert running.returncode == 4
    assert err.startswith(f"error[E405]: a block took {ATTEMPTS} workers with it")
    assert "200 rows are finished and kept" in err
    assert len(killed) >= ATTEMPTS


def test_an_interrupted_job_ends_its_workers(folder: Path) -> None:
    """Also those in an endless loop; a message, and nothing else."""
    running = started(folder, ENDLESS)
    wait_for(all_but_the_endless_block(folder), running)
    workers = workers_of(running)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    _, err = running.communicate(timeout=PATIENCE)
    said = "rows are finished and kept in out.csv.partial: with --resume, the same command goes on from there\n"
    assert running.returncode == 130
    assert err.endswith(said)
    assert err.count("\n") == 1
    assert psutil.wait_procs(workers, timeout=PATIENCE)[1] == []


@pytest.mark.parametrize("limit", [["--timeout", "6"], []])
@pytest.mark.skipif(not can_fork(), reason="processes don't end with their parents here")
def test_a_job_that_ends_takes_its_workers_with_it(folder: Path, limit: list[str]) -> None:
    """By its limit, or killed."""
    running = started(folder, [*ENDLESS, *limit])
    wait_for(lambda: len(workers_of(running)) == 2, running)
    workers = workers_of(running)
    if not limit:
        wait_for(all_but_the_endless_block(folder), running)
        running.kill()
    _, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == (4 if limit else -signal.SIGKILL), err
    assert psutil.wait_procs(workers, timeout=PATIENCE)[1] == []
