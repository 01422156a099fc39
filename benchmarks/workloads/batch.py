"""`gradcli batch`: blocks of rows in memory on one core and on two, and from a Parquet file to
another.

No peer is loaded here: processes are forked, which takes long where much is, and JAX's threads
don't survive it. `rows` and `formula` have the peers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Timings, Workload
from .formula import COLUMNS
from .formula import PROGRAM as FORMULA
from .rows import ROWS, X
from .rows import _by_hand as by_hand

BLOCK = 2**16
ROSENBROCK = "var x: float[10]\noutput f = sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)"
PRICE = (
    "\n".join(f"var {name}" for name in COLUMNS)
    + FORMULA[FORMULA.index("\nfn normal") : FORMULA.index("output")]
    + "output p = price(s, k, t, v, r)"
)
HEAVY = """var a
x = 1.0 + a
for i in range(60) { x = sin(x) + 0.5 * cos(a * x) + 0.1 * exp(-x * x) }
output x"""
A = np.random.default_rng(1).uniform(0.5, 2.0, 8 * BLOCK)


def blocks_of(columns: dict[str, Any]) -> list[Any]:
    """The columns as blocks of rows, as a reader gives them: each column's rows side by side."""
    from gradcli.rows.blocks import Block

    size = len(next(iter(columns.values())))
    cuts = [slice(start, min(start + BLOCK, size)) for start in range(0, size, BLOCK)]
    turned = {name: np.ascontiguousarray(values.T) for name, values in columns.items()}
    return [
        Block(
            cut.start,
            cut.stop - cut.start,
            columns={n: np.ascontiguousarray(v[..., cut]).T for n, v in turned.items()},
        )
        for cut in cuts
    ]


def in_memory(text: str, columns: dict[str, Any], cores: int) -> Task:
    """The blocks computed, on so many cores; the answers come and go, as a writer would have
    them."""
    from gradcli.diagnostics import Source
    from gradcli.tasks.batch.block import Computer
    from gradcli.tasks.batch.plan import Plan, bound_columns
    from gradcli.tasks.batch.processes import in_processes
    from gradcli.tasks.batch.workers import in_threads
    from gradcli.tasks.evaluation import Options
    from gradcli.tasks.programs import parse_program

    source = Source("<program>", text)
    node, blocks = parse_program(source), blocks_of(columns)
    plan = Plan(source, Options(mode="reverse"), columns=bound_columns(node, list(columns), {}, {}))
    first = Computer(plan, node)
    fields, tile, _ = first.probe(blocks[0])
    done = replace(plan, fields=fields, tile=tile)
    computers = [Computer(done, node, first.kernels) for _ in range(cores)]
    room = computers[0].room(BLOCK)

    def outcomes() -> Iterator[Any]:  # as a job has them
        if first.is_native or cores == 1:
            return in_threads(blocks, [lambda c=c: c.compute for c in computers])  # type: ignore[misc]
        return in_processes(
            range(len(blocks)), lambda k, empty: computers[0].compute(blocks[k], empty), cores, room
        )

    def task() -> list[Any]:
        return [sum(float(outcome.columns[0].values.sum()) for outcome in outcomes())]

    return tools.on_all_cores(task)


class Files:
    """A Parquet file of the columns, and from it to another: computed, or only read and written."""

    def __init__(self, text: str, columns: dict[str, Any]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from gradcli.diagnostics import Source
        from gradcli.tasks.programs import parse_program

        self._folder = tempfile.TemporaryDirectory()
        self._numbers = count()
        self._data = Path(self._folder.name) / "in.parquet"
        flat: dict[str, Any] = {}
        for name, values in columns.items():
            parts = values.T if values.ndim > 1 else [values]
            flat |= {
                f"{name}.{k}" if values.ndim > 1 else name: np.ascontiguousarray(part)
                for k, part in enumerate(parts)
            }
        pq.write_table(pa.table(flat), self._data, row_group_size=BLOCK, use_dictionary=False)
        self._node = parse_program(Source("<program>", text))

    def _out(self) -> Path:
        """Each time a new one: to free an old one's memory takes long."""
        return Path(self._folder.name) / f"out{next(self._numbers)}.parquet"

    def compute(self, **request: Any) -> Path:
        """The whole job."""
        from gradcli.tasks.batch.job import Job
        from gradcli.tasks.batch.request import Request
        from gradcli.tasks.evaluation import Options

        out = self._out()
        asked = Request(str(self._data), str(out), Options(mode="reverse"), **request)
        Job(self._node, asked).run(lambda summary, total: None)
        return out

    def copy(self, answer: Any) -> None:
        """The same file read, and an answer written, on one core."""
        import pyarrow.parquet as pq

        pq.read_table(self._data, use_threads=False)
        options = {"compression": "zstd", "use_dictionary": False, "write_page_checksum": True}
        pq.write_table(answer, self._out(), row_group_size=BLOCK, **options)


def file_to_file(text: str, columns: dict[str, Any], **request: Any) -> Task:
    files = Files(text, columns)

    def task() -> None:
        files.compute(**request)

    return tools.on_all_cores(task)


def copied(text: str, columns: dict[str, Any]) -> Task:
    import pyarrow.parquet as pq

    files = Files(text, columns)
    answer = pq.read_table(files.compute(threads=1))
    return lambda: files.copy(answer)


def _sum_of(peer: Callable[[], Task]) -> Task:
    """A peer's task, of which the values' sum is compared."""
    inner = peer()
    return lambda: [float(np.sum(inner()[0]))]


def _nanoseconds(who: str, rows: int = ROWS) -> Callable[[Timings], float | None]:
    return lambda t: t.median(who) / rows * 1e9 if who in t else None


def _ratio(a: str, b: str) -> Callable[[Timings], float | None]:
    return lambda t: t.ratio(a, b) if a in t and b in t else None


ONE, TWO = "gradcli, one core", "gradcli, two cores"
FILES, FILES_TWO = "gradcli, Parquet to Parquet, one core", "gradcli, Parquet to Parquet, two cores"
COPIED = "pyarrow, reading and writing alone, one core"
HAND = "NumPy in pieces, by hand"

WORKLOADS = [
    Workload(
        "batch",
        (
            f"batch: Rosenbrock's function in 10 dimensions and its gradient, {ROWS:,} "
            f"rows\n{ROSENBROCK}"
        ),
        [
            Contender(ONE, partial(in_memory, ROSENBROCK, {"x": X}, 1)),
            Contender(TWO, partial(in_memory, ROSENBROCK, {"x": X}, 2)),
            Contender(FILES, partial(file_to_file, ROSENBROCK, {"x": X}, threads=1)),
            Contender(FILES_TWO, partial(file_to_file, ROSENBROCK, {"x": X}, threads=2)),
            Contender(HAND, lambda: _sum_of(by_hand)),
            Contender(COPIED, partial(copied, ROSENBROCK, {"x": X})),
        ],
        [
            Goal("a row, one core", "ns", 60.0, _nanoseconds(ONE)),
            Goal("a row, two cores", "ns", 35.0, _nanoseconds(TWO)),
            Goal("one core / by hand", "", 2.1, _ratio(ONE, HAND)),
            Goal(
                "rate from file to file, of that in memory, one core",
                "",
                0.6,
                _ratio(ONE, FILES),
                at_least=True,
            ),
            Goal("the same on two cores", "", 0.6, _ratio(TWO, FILES_TWO), at_least=True),
            Goal("file to file / reading and writing, one core", "", 1.5, _ratio(FILES, COPIED)),
        ],
    ),
    Workload(
        "batch_formula",
        f"batch: an option's price and its sensitivities, {ROWS:,} rows\n{PRICE}",
        [
            Contender(ONE, partial(in_memory, PRICE, COLUMNS, 1)),
            Contender(TWO, partial(in_memory, PRICE, COLUMNS, 2)),
            Contender(FILES, partial(file_to_file, PRICE, COLUMNS, threads=1)),
            Contender(FILES_TWO, partial(file_to_file, PRICE, COLUMNS, threads=2)),
            Contender(COPIED, partial(copied, PRICE, COLUMNS)),
        ],
        [
            Goal("a row, one core", "ns", None, _nanoseconds(ONE)),
            Goal("a row, two cores", "ns", None, _nanoseconds(TWO)),
            Goal(
                "rate from file to file, of that in memory, one core",
                "",
                0.6,
                _ratio(ONE, FILES),
                at_least=True,
            ),
            Goal("the same on two cores", "", 0.6, _ratio(TWO, FILES_TWO), at_least=True),
            Goal("file to file / reading and writing, one core", "", 1.5, _ratio(FILES, COPIED)),
        ],
    ),
    Workload(
        "batch_heavy",
        f"batch: a loop of 60 turns, {len(A):,} rows, on one core and two\n{HEAVY}",
        [
            Contender(ONE, partial(in_memory, HEAVY, {"a": A}, 1)),
            Contender(TWO, partial(in_memory, HEAVY, {"a": A}, 2)),
        ],
        [Goal("two cores, times the rate of one", "", 1.7, _ratio(ONE, TWO), at_least=True)],
    ),
]
