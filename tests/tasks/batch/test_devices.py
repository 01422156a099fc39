"""Batches on several GPUs, on the stand-in for them: the same bytes as with one, within the memory
of each; and what is said where there is none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.cli import run
from gradcli.diagnostics import GradcliError
from gradcli.engine.backends.devices import CPU, GPU
from gradcli.engine.backends.selection import backend_for, devices_of
from gradcli.tasks.batch import cluster
from gradcli.tasks.batch.remote import own_device
from gradcli.tasks.batch.workers import dealt
from tests.engine.devices import standin, standin_cuda
from tests.tasks.batch.one_by_one import parsed, together

from .device_rows import FAILING, ON_GPU, ROWS, STRAIGHT, copied, data


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with standin.installed(monkeypatch):
        yield


# ---- several devices -----------------------------------------------------------------------------


def batch(folder: Path, *arguments: str) -> int:
    code = run(
        [
            "batch",
            "-e",
            STRAIGHT,
            "--rows",
            str(folder / "rows.npz"),
            "--set",
            f"w=@{folder / 'w.npy'}",
            "-q",
            *arguments,
        ]
    )
    assert isinstance(code, int)
    return code


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.savez(tmp_path / "rows.npz", **data(), key=np.arange(ROWS))
    np.save(tmp_path / "w.npy", [0.5, 1.0, -1.0, 2.0])
    return tmp_path


def test_two_devices_give_the_bytes_of_one(folder: Path) -> None:
    outputs = []
    for device in ("cuda", "cuda:1", "cuda:all"):
        standin_cuda.copies.clear()
        out = folder / f"{device.replace(':', '-')}.csv"
        assert (
            batch(
                folder, "-o", str(out), "--device", device, "--block-rows", "100", "--keep", "key"
            )
            == 0
        )
        outputs.append(out.read_bytes())
        used = {(copy.thread, copy.device, copy.stream) for copy in standin_cuda.copies}
        assert (
            len({thread for thread, _, _ in used})
            == len({stream for _, _, stream in used})
            == len(used)
        )
        assert {number for _, number, _ in used} == {
            "cuda": {0},
            "cuda:1": {1},
            "cuda:all": {0, 1},
        }[device]
        assert copied() == {
            "in": 2 * ROWS // 100 + len(used),
            "out": 6 * ROWS // 100,
            "one": 4 * ROWS // 100,
        }
    assert outputs[0] == outputs[1] == outputs[2]
    assert outputs[0].count(b"\n") == ROWS + 1


def test_a_sum_over_all_rows(folder: Path) -> None:
    totals = []
    for device in ("cpu", "cuda", "cuda:all"):
        out = folder / f"{device.replace(':', '-')}.npz"
        assert (
            batch(
                folder, "-o", str(out), "--device", device, "--block-rows", "500", "--reduce", "sum"
            )
            == 0
        )
        totals.append(dict(np.load(out)))
    for name, total in totals[0].items():
        np.testing.assert_array_equal(totals[1][name], totals[2][name])
        np.testing.assert_allclose(totals[1][name], total, rtol=1e-12)


def test_rows_that_fail_on_two_devices(folder: Path) -> None:
    rejects = []
    for device in ("cpu", "cuda:all"):
        out = folder / f"{device.replace(':', '-')}.csv"
        rows = str(folder / "rows.npz")
        wanted = ["--rows", rows, "-o", str(out), "--device", device, "--block-rows", "200", "-q"]
        assert run(["batch", "-e", FAILING, *wanted]) == 6
        rejects.append(
            (out.with_name(out.name + ".rejects.jsonl").read_bytes(), out.read_bytes().count(b"\n"))
        )
    assert rejects[0] == rejects[1]
    assert b"is out of range" in rejects[0][0]
    assert b"expect" in rejects[0][0]


def test_a_singular_matrix_fails_in_every_thread(folder: Path) -> None:
    out = folder / "out.csv"
    wanted = [
        "--rows",
        str(folder / "rows.npz"),
        "-o",
        str(out),
        "--device",
        "cuda:all",
        "--block-rows",
        "200",
        "-q",
    ]
    assert (
        run(["batch", "-e", "var x\ny = sum(inv(eye(2) * float64(x > -1.95)))\noutput y", *wanted])
        == 6
    )
    rejects = [
        json.loads(line) for line in out.with_name("out.csv.rejects.jsonl").read_text().splitlines()
    ]
    assert {reject["row"] for reject in rejects} == set(
        np.flatnonzero(data()["x"] <= -1.95).tolist()
    )
    assert {reject["code"] for reject in rejects} == {"E304"}


def test_who_computes_where() -> None:
    assert devices_of("cuda:all") == ("cuda:0", "cuda:1")
    assert devices_of("cuda") == ("cuda",)
    assert dealt("cuda:all") == ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]
    assert dealt("cuda:1") == ["cuda:1", "cuda:1"]
    assert dealt("cuda:all", 3) == ["cuda:0", "cuda:1", "cuda:0"]
    assert dealt("cpu", 3) == ["cpu"] * 3


def test_a_backend_is_the_device_of_the_thread_that_asks() -> None:
    first, second = backend_for("cuda:0"), backend_for("cuda:1")
    assert standin_cuda.device() == 1
    with first.active():
        assert standin_cuda.device() == 0
        with second.active():
            assert standin_cuda.device() == 1
        here = first.xp.asarray(np.ones(2))
    assert standin_cuda.device() == 1
    with second.active(), pytest.raises(TypeError, match="another device"):
        here + 1


def test_workers_of_a_cluster_share_the_devices_that_they_see() -> None:
    found = []
    for name in (0, 1, 2, "tcp://10.0.0.1:4000"):
        found.append(own_device("cuda:all", cluster.number_of(name)))
        assert own_device("cuda:1", cluster.number_of(name)) == "cuda:1"
    assert found[:3] == ["cuda:0", "cuda:1", "cuda:0"]
    assert found[3] in devices_of("cuda:all")


def test_a_cluster_gives_the_bytes_of_one_device(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On workers that are threads here, so that they have the stand-in."""
    distributed = pytest.importorskip("distributed")

    @contextmanager
    def client_for(*_: object) -> Iterator[Any]:
        kinds = {"processes": False, "threads_per_worker": 1, "dashboard_address": None}
        with (
            distributed.LocalCluster(n_workers=2, **kinds) as local,
            distributed.Client(local) as client,
        ):
            yield client

    monkeypatch.setattr(cluster, "client_for", client_for)
    wanted = ["--block-rows", "100", "--keep", "key", "-o"]
    assert batch(folder, *wanted, str(folder / "one.csv"), "--device", "cuda") == 0
    standin_cuda.copies.clear()
    assert (
        batch(
            folder,
            *wanted,
            str(folder / "two.csv"),
            "--device",
            "cuda:all",
            "--scheduler",
            "here:1",
        )
        == 0
    )
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()
    used = {
        (copy.thread, copy.device) for copy in standin_cuda.copies
    }  # Dask may give everything to one of them
    assert 1 <= len({thread for thread, _ in used}) == len(used) <= 2


# ---- memory --------------------------------------------------------------------------------------


def test_the_memory_of_each_device_is_limited(folder: Path) -> None:
    assert (
        batch(
            folder,
            "-o",
            str(folder / "out.csv"),
            "--device",
            "cuda:all",
            "--max-memory",
            "64M",
            "--block-rows",
            "300",
        )
        == 0
    )
    assert standin_cuda.pool.limits == [2**26, 2**26]


def test_rows_that_are_too_many_for_the_memory_run_in_parts() -> None:
    """In a program, or in its gradients only; a row that is too much by itself ends the job."""
    for program in (
        "var x\ny = sum(ones(4) * x)\noutput y",
        "var x\nvar w = ones(4)\ny = x * sum(w)\noutput y",
    ):
        node, columns = parsed(program), {"x": data()["x"]}
        whole = together(node, columns, ON_GPU)
        standin_cuda.pool.limits[0] = 8 * ROWS * 4 // 2
        parts = together(node, columns, ON_GPU)
        standin_cuda.pool.limits[0] = 0
        for a, b in zip(whole.columns, parts.columns, strict=True):
            np.testing.assert_array_equal(a.values, b.values)
        assert (whole.runs, parts.runs) == (1, 3)
    standin_cuda.pool.limits[0] = 30_000
    with pytest.raises(GradcliError) as caught:
        together(parsed("var x\ny = sum(ones(5000) * x)\noutput y"), {"x": data()["x"]}, ON_GPU)
    assert caught.value.diagnostics[0].code == "E405"


def test_a_limit_from_outside_comes_back() -> None:
    standin_cuda.pool.limits[0] = 2**20
    backend = backend_for("cuda")
    for size in (2**21, 2**22, None):
        backend.limit_memory(size)
        assert standin_cuda.pool.limits == [size or 2**20, 0]
    assert backend.free_memory() == 2**20


def test_sizes() -> None:
    """A GPU takes many more rows at once, fewer where rows are wide, the trace is long, or memory
    is short."""
    assert CPU.tile(1, 10) == CPU.block == 2**16
    assert GPU.tile(1, 10) == GPU.block == 2**20
    assert GPU.tile(100, 10) == 2**12 * 20
    assert GPU.tile(1, 10_000) == 2**29 // 80_000
    assert GPU.tile(1, 1000, memory=2**27) == 2**24 // 8000
    assert GPU.tile(1, 10**9) == 64


# ---- without one ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("cuda:2", "E501", "no device `cuda:2`: there are 2"),
        ("cuda:x", "E001", "unknown device `cuda:x`"),
        ("gpu", "E001", "unknown device `gpu`"),
    ],
)
def test_a_device_that_is_not_there(folder: Path, name: str, code: str, message: str) -> None:
    with pytest.raises(GradcliError, match=message) as caught:
        devices_of(name)
    assert caught.value.diagnostics[0].code == code
    assert (
        batch(folder, "-o", str(folder / "out.csv"), "--device", name)
        == caught.value.diagnostics[0].exit_code
    )
    assert {path.name for path in folder.iterdir()} == {"rows.npz", "w.npy"}


@pytest.mark.parametrize("name", ["cuda", "cuda:all"])
def test_without_cupy(tmp_path: Path, name: str) -> None:
    hidden = (
        "import sys; sys.modules['cupy'] = None; from gradcli.cli import main; sys.exit(main())"
    )
    (tmp_path / "rows.csv").write_text("x\n1\n2\n")
    arguments = [
        "-e",
        "x**2",
        "--rows",
        str(tmp_path / "rows.csv"),
        "-o",
        str(tmp_path / "out.csv"),
        "--device",
        name,
    ]
    done = subprocess.run(
        [sys.executable, "-c", hidden, "batch", *arguments], capture_output=True, text=True
    )
    assert (done.stdout, done.returncode) == ("", 5)
    assert f"no device `{name}`: CuPy isn't installed" in done.stderr
    assert "pip install 'gradcli[gpu]'" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
