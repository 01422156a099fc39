"""A block of rows: what is missing, what doesn't fit, what is totalled, and how columns find their
declarations."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.tiers import policy
from gradcli.engine.codegen.llvm.assembly import can_compile
from gradcli.platform.threads import all_end, start
from gradcli.rows.blocks import BadPart, Block
from gradcli.tasks.batch import job as jobs
from gradcli.tasks.batch.block import Computer, Outcome, read_range
from gradcli.tasks.batch.job import Job
from gradcli.tasks.batch.plan import Field, Plan, bound_columns, parse_renamings
from gradcli.tasks.batch.processes import can_fork
from gradcli.tasks.batch.request import Request
from tests.tasks.batch.one_by_one import OPTIONS, parsed


def computed(text: str, block: Block, **plan: Any) -> Outcome:
    node = parsed(text)
    made = Plan(node.source, OPTIONS, columns={name: name for name in block.columns}, **plan)
    fields, tile, _ = Computer(made, node).probe(block)
    made = replace(made, fields=made.fields or fields, tile=made.tile or tile)
    return Computer(made, node).compute(block)


def values(outcome: Outcome) -> dict[str, list[Any]]:
    """The columns, with None for what there isn't."""
    found = {}
    for column in outcome.columns:
        mask = np.zeros(len(column.values), bool) if column.mask is None else column.mask
        found[column.name] = [
            None if absent else v.tolist() for v, absent in zip(column.values, mask, strict=True)
        ]
    return found


def refused(outcome: Outcome) -> dict[int | None, str]:
    return {
        reject.row: f"{reject.diagnostics[0].code}: {reject.diagnostics[0].message}"
        for reject in outcome.rejects
    }


def block_of(start: int = 0, missing: dict[str, list[int]] | None = None, **columns: Any) -> Block:
    arrays = {
        name: np.asarray(v, None if name != "ragged" else object) for name, v in columns.items()
    }
    size = len(next(iter(arrays.values())))
    masks = {name: np.isin(np.arange(size), rows) for name, rows in (missing or {}).items()}
    return Block(start, size, columns=arrays, missing=masks)


def test_a_missing_value_leaves_the_programs_own() -> None:
    block = block_of(x=[1.0, 2.0, 3.0], w=[5.0, 0.0, 7.0], missing={"w": [1]})
    outcome = computed("var x\nvar w = 10.0\noutput y = x * w", block)
    assert values(outcome) == {
        "y": [5.0, 20.0, 21.0],
        "dy/dx": [5.0, 10.0, 7.0],
        "dy/dw": [1.0, 2.0, 3.0],
    }
    assert refused(outcome) == {}


def test_a_missing_value_that_the_program_needs() -> None:
    block = block_of(start=100, x=[1.0, 0.0, 3.0], missing={"x": [1]})
    outcome = computed("var x\noutput y = x * 2", block)
    assert values(outcome)["y"] == [2.0, 6.0]
    assert refused(outcome) == {101: "E605: `x` has no value"}
    assert (outcome.size, outcome.succeeded, outcome.failed) == (3, 2, 1)


def test_rows_that_could_not_be_read() -> None:
    block = block_of(x=[1.0, np.nan, 3.0])
    block.rejected[1] = 'column `x`: "banana" is not a number'
    outcome = computed("var x\noutput y = x * 2", block)
    assert values(outcome)["y"] == [2.0, 6.0]
    assert refused(outcome) == {1: 'E605: column `x`: "banana" is not a number'}


def test_rows_of_several_shapes() -> None:
    arrays = np.empty(3, object)
    arrays[:] = [np.array([1.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0])]
    outcome = computed("const x\noutput y = sum(x)", Block(0, 3, columns={"x": arrays}))
    assert values(outcome) == {"y": [3.0, 6.0, 9.0]}


def test_an_answer_that_does_not_fit_into_the_columns() -> None:
    arrays = np.empty(3, object)
    arrays[:] = [np.array([1.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0])]
    outcome = computed("const x\noutput y = 2 * x", Block(0, 3, columns={"x": arrays}))
    assert values(outcome) == {"y": [[2.0, 4.0], [8.0, 10.0]]}
    assert refused(outcome) == {1: "E607: `y` has shape (3,), and (2,) in the first rows"}


@pytest.mark.parametrize("turned", [1, -1])
def test_an_answer_that_does_not_fit_adds_no_column(turned: int) -> None:
    arrays = np.empty(2, object)
    arrays[:] = [np.array([1.0, 2.0]), 2.0][::turned]
    outcome = computed("const x\nvar a = 3.0\noutput y = a * x", Block(0, 2, columns={"x": arrays}))
    assert list(values(outcome)) == ["y", ["dsum(y)/da", "dy/da"][::turned][0]]
    assert list(refused(outcome)) == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'var x; if x > 0 { y = x } else { y = "no" }; output y',
            "E607: `y` is str, and float64 in the first rows",
        ),
        (
            "var x; if x > 0 { output y = x } else { output z = x }",
            "E607: it gives `z`, which the first rows don't",
        ),
    ],
)
def test_answers_of_other_kinds(text: str, message: str) -> None:
    node_text = text.replace("; ", "\n")
    fields = (Field("y", "float64", ()), Field("dy/dx", "float64", ()))
    outcome = computed(node_text, block_of(x=[1.0, -1.0]), fields=fields)
    assert refused(outcome) == {1: message}


def test_nan() -> None:
    block = block_of(x=[4.0, -4.0, 0.0])
    kept = computed("var x\noutput y = sqrt(x)", block)
    assert refused(kept) == {}
    outcome = computed("var x\noutput y = sqrt(x)", block, nan="error")
    assert values(outcome)["y"] == [2.0, 0.0]
    assert refused(outcome) == {1: "E606: `y` is nan"}


def test_a_gradient_that_is_none_is_no_nan() -> None:
    outcome = computed(
        "var x\nif x > 0 { y = x } else { y = 1.0 }\noutput y", block_of(x=[2.0, -2.0]), nan="error"
    )
    assert refused(outcome) == {}
    assert values(outcome) == {"y": [2.0, 1.0], "dy/dx": [1.0, None]}


def test_totals_are_of_the_rows_that_succeed() -> None:
    text = "var x\nvar w = 2.0\nexpect x < 3\noutput y = w * x**2"
    outcome = computed(text, block_of(x=[1.0, 2.0, 3.0]), reduce="sum")
    assert outcome.columns == []
    assert outcome.totals is not None
    assert {name: float(v) for name, v in outcome.totals.items()} == {
        "y": 10.0,
        "dy/dx": 12.0,
        "dy/dw": 5.0,
    }
    assert outcome.succeeded == 2


def test_tiles_make_no_difference() -> None:
    x = np.random.default_rng(1).normal(size=100)
    text = (
        "var x\ns = 0.0\nwhile s < 3 { s += abs(x) + 0.1 }\nexpect x < 1.5\noutput y = exp(s * x)"
    )
    whole, pieces = (computed(text, block_of(x=x), tile=tile) for tile in (1000, 7))
    assert values(whole) == values(pieces)
    assert refused(whole) == refused(pieces)
    assert (whole.tiles, pieces.tiles) == (1, 15)


def test_a_part_that_can_not_be_read_is_one_reject() -> None:
    plan = Plan(parsed("var x").source, OPTIONS)
    outcome = read_range(plan, BadPart("data/part-2.csv", "it is damaged", 10))
    assert isinstance(outcome, Outcome)
    assert (outcome.rejects[0].row, outcome.rejects[0].part) == (10, "data/part-2.csv")
    assert (outcome.size, outcome.failed, outcome.rejects[0].is_unreadable) == (0, 0, True)


def test_columns_that_nobody_has_rows_for() -> None:
    node = parsed("var x: float[2]\nvar w = 1.0\noutput y = x * w\noutput z = sum(x)")
    plan = Plan(node.source, OPTIONS, columns={"x": "x"})
    names = {f.name: f.shape for f in Computer(plan, node).expected()}
    assert names == {
        "y": (2,),
        "z": (),
        "dsum(y)/dx": (2,),
        "dsum(y)/dw": (),
        "dz/dx": (2,),
        "dz/dw": (),
    }
    node = parsed("var x: float[n]\noutput y = sum(x)")
    plan = Plan(node.source, OPTIONS, columns={"x": "x"})
    assert [f.name for f in Computer(plan, node).expected()] == ["y", "dy/dx"]


# ---- columns and declarations --------------------------------------------------------------------


PROGRAM = "var S\nvar K = 1.0\nconst n: int64\noutput y = S * K * n"


def test_columns_set_the_declarations_of_their_names() -> None:
    assert bound_columns(parsed(PROGRAM), ["id", "n", "S", "K"], {}, {}) == {
        "S": "S",
        "K": "K",
        "n": "n",
    }
    assert bound_columns(parsed(PROGRAM), ["n", "price"], {}, {"price": "S"}) == {
        "n": "n",
        "S": "price",
    }
    assert bound_columns(parsed(PROGRAM), ["S", "n"], {"n": 3}, {}) == {"S": "S"}
    assert bound_columns(parsed("var x\noutput y = sum(x)"), [""], {}, {}) == {"x": ""}


@pytest.mark.parametrize(
    ("names", "renamed", "message", "help"),
    [
        (["S"], {}, "the data has no column `n`", "--map COLUMN=n"),
        (["S", "n"], {"cost": "K"}, "the data has no column `cost`", "its columns"),
        (["S", "n", "price"], {"K": "price"}, "the data has no column `K`", "`--map price=K`"),
        (["S", "n", "price"], {"price": "k"}, "the program declares no `k`", "`K`"),
        ([""], {}, "one array without names", ".npz"),
    ],
)
def test_columns_that_do_not_fit(
    names: list[str], renamed: dict[str, str], message: str, help: str
) -> None:
    with pytest.raises(GradcliError) as caught:
        bound_columns(parsed(PROGRAM), names, {}, renamed)
    first = caught.value.diagnostics[0]
    assert message in first.message
    assert help in (first.help or str(caught.value)), first.help
    assert caught.value.exit_code == 2


def test_renamings() -> None:
    assert parse_renamings(["price=S", " a = b "]) == {"price": "S", "a": "b"}
    with pytest.raises(GradcliError, match="expected COLUMN=NAME"):
        parse_renamings(["price"])


@pytest.mark.parametrize(("width", "rows"), [(1, 2**16), (1_000, 8_388), (100_000, 2**10)])
def test_blocks_of_long_rows_are_shorter(width: int, rows: int, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, width)))
    node = parsed("var x\noutput y = sum(x)")
    job = Job(node, Request(str(tmp_path / "x.npy"), str(tmp_path / "out.csv"), OPTIONS))
    assert job.block_rows == pytest.approx(rows, rel=0.01)  # the file has a header


@pytest.mark.parametrize("by", ["of", "wrt"])
@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("totl", "did you mean `total`?"),
        ("tt", "its names are `total`, `x`"),  # nothing is that close
    ],
)
def test_names_that_no_row_can_have(by: str, name: str, help: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(4))
    request = Request(
        str(tmp_path / "x.npy"), str(tmp_path / "out.csv"), OPTIONS.with_changes(**{by: (name,)})
    )
    with pytest.raises(GradcliError, match=f"the program has no `{name}`") as caught:
        Job(parsed("var x\ntotal = 2 * x\noutput total"), request)
    assert (caught.value.exit_code, caught.value.diagnostics[0].help) == (2, help)


def test_no_row_succeeds_and_keys_are_kept(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", id=np.arange(3.0), x=np.arange(3.0))
    request = Request(
        str(tmp_path / "d.npz"), str(tmp_path / "out.csv"), OPTIONS, keep=("id",), threads=1
    )
    summary = Job(parsed("var x\nexpect x < 0\noutput y = 2 * x"), request).run(
        lambda summary, total: None
    )
    assert (summary.rows, summary.failed, summary.exit_code) == (3, 3, 6)
    assert (tmp_path / "out.csv").read_text() == "id,y,dy/dx\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("var x: float[2]\noutput f = sum(x * x[0])", "thread"),
        ("var x: float[2]\noutput f = sum(exp(x) * x[0])", "thread"),
        ("var x: float[2]\ny = x[0]\nfor i in range(5) { y = y * x[1] + i }\noutput y", "thread"),
        ('var x: float[2]\nprint f"{x:9}"\noutput f = sum(exp(x) * x[0])', "process"),
    ],
)
def test_threads_compute_what_is_native(text: str, kind: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=np.random.default_rng(0).normal(size=(5000, 2)))
    outputs = []
    for threads in (2, 1):
        out = tmp_path / f"{threads}.jsonl"
        job = Job(
            parsed(text),
            Request(str(tmp_path / "d.npz"), str(out), OPTIONS, threads=threads, block_rows=1000),
        )
        job.run(lambda summary, total: None)
        assert job.summary.kind == (kind if policy().compiles and can_compile(0) else "process")
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(("printed", "is_here"), [("", False), ('print f"{x:9}"\n', True)])
def test_one_thread_writes_while_machine_code_computes(
    printed: str, is_here: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "d.npz", x=np.arange(5000.0))
    threads, computers = set(), set()

    class Watched(Computer):
        def done(self, *arguments: Any) -> Outcome:
            threads.add(threading.get_ident())
            computers.add(self)
            return super().done(*arguments)

    monkeypatch.setattr(jobs, "Computer", Watched)
    request = Request(
        str(tmp_path / "d.npz"), str(tmp_path / "out.npz"), OPTIONS, threads=1, block_rows=1000
    )
    job = Job(parsed(f"var x\n{printed}output f = x * x"), request)
    job.run(lambda summary, total: None)
    is_native = policy().compiles and can_compile(0) and not is_here
    assert threads.isdisjoint({threading.get_ident()}) == is_native
    assert computers.isdisjoint({job._computer}) == is_native  # each thread has its own


@pytest.mark.skipif(not can_fork(), reason="processes don't fork here")
def test_nothing_forks_while_a_thread_of_an_earlier_job_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork would wait for ever for a lock that the thread holds."""
    monkeypatch.setattr(jobs, "PATIENCE", 0.01)
    np.savez(tmp_path / "d.npz", x=np.arange(5000.0))
    text = 'var x: float\nprint f"{x:9}"\noutput f = x * x'
    over = threading.Event()
    kinds, outputs = [], []
    start(partial(over.wait, 60))
    for turn in range(2):
        out = tmp_path / f"{turn}.jsonl"
        request = Request(str(tmp_path / "d.npz"), str(out), OPTIONS, threads=2, block_rows=1000)
        job = Job(parsed(text), request)
        job.run(lambda summary, total: None)
        kinds.append(job.summary.kind)
        outputs.append(out.read_bytes())
        over.set()
        assert all_end(60)
    assert kinds == ["thread", "process"]
    assert outputs[0] == outputs[1]
