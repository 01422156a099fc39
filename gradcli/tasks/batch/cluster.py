"""Blocks computed by other processes, here or on a Dask cluster: the same function over the same ranges, so the same bytes.

A worker gets the program as text and the range as a place in a file that it can reach, or as the rows themselves. Whatever a
worker computed when it died, Dask has another one compute.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from zlib import crc32

from ...diagnostics import Diagnostic, GradcliError
from ...engine.devices import several
from ...rows.blocks import BadPart, Range
from ..programs import parse_program
from .block import Computer, Outcome
from .plan import Plan

AHEAD = 3  # blocks for each worker that are under way, so that none waits for the next one


@contextmanager
def client_for(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """A Dask client, of a cluster at an address or of so many processes here. Raises GradcliError: E001 where Dask isn't
    installed, E002 where nobody answers at the address."""
    try:
        import dask
        import distributed
    except ImportError:
        help = "install it with `pip install 'gradcli[cluster]'`"
        raise GradcliError(Diagnostic("E001", "--workers and --scheduler need Dask, which isn't installed", help=help)) from None
    made: Any = distributed
    if scheduler is not None:
        try:
            client = made.Client(scheduler, timeout=20)
        except (OSError, ValueError, TimeoutError) as error:
            message = f"no Dask scheduler answers at `{scheduler}`: {error}"
            raise GradcliError(Diagnostic("E002", message, help="its address is like `tcp://host:8786`")) from None
        with client:
            yield client
        return
    quiet = {"distributed.worker.daemon": False, "distributed.comm.timeouts.connect": "60s"}
    with (
        dask.config.set(quiet),
        made.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50, memory_limit=0
        ) as cluster,
        made.Client(cluster) as client,
    ):
        yield client


def on_cluster(tasks: Iterable[Range | BadPart], plan: Plan, client: Any) -> Iterator[Outcome]:
    """The outcomes of the ranges, in their order. A few are under way for each worker, so that memory stays bounded."""
    place = client.scatter(plan, broadcast=True)
    waiting: deque[Any] = deque()
    for task in tasks:
        waiting.append(client.submit(_compute, place, task, pure=False))
        if len(waiting) > AHEAD * max(1, len(client.nthreads())):
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


_own = threading.local()  # of each thread of a worker: the plan that it worked by last, and what computes by it


def _compute(plan: Plan, task: Range | BadPart) -> Outcome:
    """What a worker does."""
    if getattr(_own, "plan", None) is not plan:
        options = plan.options.with_changes(device=_own_device(plan.options.device))
        node = parse_program(plan.source, plan.shared, plan.imports)
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
