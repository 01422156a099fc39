"""Blocks computed by other processes, here or on a Dask cluster: the same function over the same ranges, so the same bytes.

A worker gets the program as text and the range as a place in a file that it can reach, or as the rows themselves. Whatever a
worker computed when it died, Dask has another one compute.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import resource_tracker
from typing import Any
from zlib import crc32

from ... import __version__
from ...diagnostics import Diagnostic, GradcliError
from ...engine.devices import several
from ...rows.blocks import BadPart, Range
from ..programs import parse_program
from .block import Computer, Outcome
from .plan import Plan

AHEAD = 3  # blocks for each thread of a worker that are under way, so that none waits for the next one
_PATIENCE = 5.0  # seconds that a scheduler may take to answer
_RECOUNTED = 1.0  # seconds after which workers are counted again: some come, some go
_QUIET = {
    "distributed.worker.daemon": False,
    "distributed.admin.large-graph-warning-threshold": "1 TiB",  # rows from standard input travel with their task
    "distributed.comm.timeouts.connect": f"{_PATIENCE:g}s",
}


@contextmanager
def client_for(workers: int | None, scheduler: str | None, paths: Sequence[str]) -> Iterator[Any]:
    """A Dask client, of a cluster at an address or of so many processes here, whose workers can read the files `paths`.

    Raises GradcliError: E001 where Dask isn't installed, E009 where nobody answers at the address or workers can't do the
    job, E405 where a block takes every worker with it that computes it.
    """
    try:
        import dask
        import distributed
    except ImportError:
        help = "install it with `pip install 'gradcli[cluster]'`"
        raise GradcliError(Diagnostic("E001", "--workers and --scheduler need Dask, which isn't installed", help=help)) from None
    made: Any = distributed
    with dask.config.set(_QUIET):
        if scheduler is None:
            with _uninterrupted():
                local = made.LocalCluster(
                    n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50, memory_limit=0
                )
            with local, made.Client(local, set_as_default=False) as client, _lost(made, "the local cluster"):
                yield client
            return
        try:
            named = {"scheduler_file": scheduler} if os.path.isfile(scheduler) else {"address": scheduler}
            client = made.Client(**named, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            message = f"no Dask scheduler answers at `{scheduler}`"
            reason = " ".join(str(error).split())
            raise GradcliError(Diagnostic("E009", message, label=reason, help="an address is like `tcp://host:8786`")) from None
        with client, _lost(made, f"the scheduler at `{scheduler}`"):
            _verify_workers(client, paths)
            yield client


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits meanwhile. Threads and processes that are started here never see it, nor do those that they start: it goes
    to all processes of a terminal, and the one that was asked ends the others."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # else the first process to be started does it, which unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _lost(distributed: Any, scheduler: str) -> Iterator[None]:
    """Says what it means that Dask gives up."""
    try:
        yield
    except distributed.scheduler.KilledWorker as error:
        message = f"a block took {error.allowed_failures + 1} workers with it: they ended while they computed it"
        help = "did they run out of memory? make --block-rows smaller, or give workers more"
        raise GradcliError(Diagnostic("E405", message, help=help)) from None
    except (distributed.CancelledError, distributed.comm.CommClosedError) as error:
        message = f"{scheduler} is gone"
        raise GradcliError(Diagnostic("E009", message, label=" ".join(str(error).split()))) from None


def _verify_workers(client: Any, paths: Sequence[str]) -> None:
    """Raises GradcliError (E009) where the workers that there are can't do the job: with other versions, or without the data."""
    places = [os.path.abspath(path) for path in paths]
    try:
        found = client.run(_seen, places)
    except ImportError as error:
        help = f"install gradcli {__version__} where the workers run"
        raise GradcliError(Diagnostic("E009", f"a worker cannot import gradcli: {error}", help=help)) from None
    for worker, (version, missing) in found.items():
        if version != __version__:
            message = f"the worker {worker} has gradcli {version}, this is {__version__}"
            raise GradcliError(Diagnostic("E009", message, help="install the same version everywhere"))
        if missing:
            help = "put the data where all workers see it under the same name, or send it with `--rows -`"
            raise GradcliError(Diagnostic("E009", f"the worker {worker} sees no file `{missing}`", help=help))


def _seen(paths: Sequence[str]) -> tuple[str, str]:
    """What a worker has: its version, and the first of the files that it hasn't."""
    return __version__, next((path for path in paths if not os.path.exists(path)), "")


def on_cluster(tasks: Iterable[Range | BadPart], plan: Plan, client: Any) -> Iterator[Outcome]:
    """The outcomes of the ranges, in their order. A few are under way for each worker, so that memory stays bounded."""
    place = client.submit(_given, plan, pure=False)  # a task, not data: it is there again where a worker took it along
    waiting: deque[Any] = deque()
    width, counted = 0, -_RECOUNTED
    for task in tasks:
        waiting.append(client.submit(_compute, place, task, pure=False))
        if time.monotonic() - counted > _RECOUNTED:
            width, counted = AHEAD * max(1, sum(client.nthreads().values())), time.monotonic()
        while len(waiting) > width:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


_own = threading.local()  # of each thread of a worker: the plan that it worked by last, and what computes by it


def _given(plan: Plan) -> Plan:
    """What a worker keeps."""
    return plan


def _compute(plan: Plan, task: Range | BadPart) -> Outcome:
    """What a worker does."""
    if getattr(_own, "plan", None) is not plan:
        options = plan.options.with_changes(device=_own_device(plan.options.device))
        node = parse_program(plan.source, {*plan.shared, *plan.columns}, plan.imports)
        _own.plan, _own.computer = plan, Computer(replace(plan, options=options), node)
    computer: Computer = _own.computer
    return computer.work(task)


def _own_device(device: str) -> str:
    """The device of this worker: of several that it sees, they are dealt by the workers' names, which are numbers here."""
    there = several(device)
    name = _name() if len(there) > 1 else 0
    return there[(name if isinstance(name, int) else crc32(str(name).encode())) % len(there)]


def _name() -> int | str:
    from distributed import get_worker

    name: int | str = get_worker().name
    return name
