"""Blocks computed on a Dask cluster: the same function over the same ranges, so the same bytes.

A worker gets the program as text and the range as a place in a file that it can reach, or as the
rows themselves. Whatever a worker computed when it died, Dask has another one compute.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from zlib import crc32

from ... import __version__
from ...diagnostics import Diagnostic, GradcliError
from ...rows.blocks import BadPart, Range
from .block import Computer, Outcome
from .local import lost
from .plan import Plan
from .remote import computer_for

AHEAD = (
    3  # blocks for each thread of a worker that are under way, so that none waits for the next one
)
_PATIENCE = 5.0  # seconds that a scheduler may take to answer
_RECOUNTED = 1.0  # seconds after which workers are counted again: some come, some go
_QUIET = {
    "distributed.worker.daemon": False,
    # rows from standard input travel with their task
    "distributed.admin.large-graph-warning-threshold": "1 TiB",
    "distributed.comm.timeouts.connect": f"{_PATIENCE:g}s",
}


@contextmanager
def client_for(scheduler: str, paths: Sequence[str]) -> Iterator[Any]:
    """A Dask client of the cluster at an address, whose workers can read the files `paths`.

    Raises GradcliError: E001 where Dask isn't installed, E009 where nobody answers at the address
    or workers can't do the job, E405 where a block takes every worker with it that computes it.
    """
    try:
        import dask
        import distributed
    except ImportError:
        help = "install it with `pip install 'gradcli[cluster]'`"
        raise GradcliError(
            Diagnostic("E001", "--scheduler needs Dask, which isn't installed", help=help)
        ) from None
    made: Any = distributed
    with dask.config.set(_QUIET):
        try:
            named = (
                {"scheduler_file": scheduler}
                if os.path.isfile(scheduler)
                else {"address": scheduler}
            )
            client = made.Client(**named, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            message = f"no Dask scheduler answers at `{scheduler}`"
            reason = " ".join(str(error).split())
            raise GradcliError(
                Diagnostic(
                    "E009", message, label=reason, help="an address is like `tcp://host:8786`"
                )
            ) from None
        with client, _lost(made, f"the scheduler at `{scheduler}`"):
            _verify_workers(client, paths)
            yield client


@contextmanager
def _lost(distributed: Any, scheduler: str) -> Iterator[None]:
    """Says what it means that Dask gives up."""
    try:
        yield
    except distributed.scheduler.KilledWorker as error:
        raise GradcliError(lost(error.allowed_failures + 1)) from None
    except (distributed.CancelledError, distributed.comm.CommClosedError) as error:
        message = f"{scheduler} is gone"
        raise GradcliError(
            Diagnostic("E009", message, label=" ".join(str(error).split()))
        ) from None


def _verify_workers(client: Any, paths: Sequence[str]) -> None:
    """Raises GradcliError (E009) where the workers that there are can't do the job: with other
    versions, or without the data."""
    places = [os.path.abspath(path) for path in paths]
    try:
        found = client.run(_seen, places)
    except ImportError as error:
        help = f"install gradcli {__version__} where the workers run"
        raise GradcliError(
            Diagnostic("E009", f"a worker cannot import gradcli: {error}", help=help)
        ) from None
    for worker, (version, missing) in found.items():
        if version != __version__:
            message = f"the worker {worker} has gradcli {version}, this is {__version__}"
            raise GradcliError(
                Diagnostic("E009", message, help="install the same version everywhere")
            )
        if missing:
            help = (
                "put the data where all workers can read it under the same path, or send it with "
                "`--rows -`"
            )
            raise GradcliError(
                Diagnostic(
                    "E009", f"the worker {worker} can't read the file `{missing}`", help=help
                )
            )


def _seen(paths: Sequence[str]) -> tuple[str, str]:
    """What a worker has: its version, and the first of the files that it hasn't."""
    return __version__, next((path for path in paths if not os.path.exists(path)), "")


def on_cluster(tasks: Iterable[Range | BadPart], plan: Plan, client: Any) -> Iterator[Outcome]:
    """The outcomes of the ranges, in their order. A few are under way for each worker, so that
    memory stays bounded."""
    place = client.submit(
        _given, plan, pure=False
    )  # a task, not data: it is there again where a worker took it along
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


_own = (
    threading.local()
)  # of each thread of a worker: the plan that it worked by last, and what computes by it


def _given(plan: Plan) -> Plan:
    """What a worker keeps."""
    return plan


def _compute(plan: Plan, task: Range | BadPart) -> Outcome:
    """What a worker does."""
    if getattr(_own, "plan", None) is not plan:
        _own.plan, _own.computer = plan, computer_for(plan, number_of(_name()))
    computer: Computer = _own.computer
    return computer.work(task)


def number_of(name: int | str) -> int:
    """The number of the worker of a name: that itself, where it is one."""
    return name if isinstance(name, int) else crc32(str(name).encode())


def _name() -> int | str:
    """The name of this worker."""
    from distributed import get_worker

    name: int | str = get_worker().name
    return name
