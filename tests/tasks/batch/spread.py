"""A job whose blocks are computed elsewhere: its data, its programs, its command."""

from __future__ import annotations

from pathlib import Path

from tests.tasks.batch.jobs import Process

ROWS, BLOCK_ROWS = 300, 25


def make_folder(tmp_path: Path) -> Path:
    """Data with a row that can't be read, `p.tg` with imports and expectations, and `slow.tg`,
    endless in one row."""
    lines = ["id,x,y", *(f"r{k},{'banana' if k == 77 else k / 100},{k % 7}" for k in range(ROWS))]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "scaled.tg").write_text("fn scaled(x, w) { return x * w[0] + w[1] }\n")
    (tmp_path / "p.tg").write_text(
        'import nn\nimport "lib/scaled.tg" as scaled\nvar x\nvar y\nvar w: float[2]\nnet = nn.Dense(2, 1, tanh)\n'
        "expect x < 2.5\ns = 0.0\nwhile s < 3 { s += abs(x) + 0.1 }\n"
        "output f = sum(net(scaled.scaled(x, w) + [s, 1.0])) * y\n"
    )
    (tmp_path / "slow.tg").write_text(
        "var x\nvar y\ni = 0\nwhile i < 300 { i += 1 }\ns = 0.0\nwhile x == 2.0 { s = 1 - s }\noutput f = x * y\n"
    )
    return tmp_path


def job(
    *more: str, out: str = "out.csv", rows: str = "data.csv", program: str = "p.tg"
) -> list[str]:
    given = ["--set", "w=[2.0, 0.5]"] if program == "p.tg" else ["--max-steps", "100000"]
    return [
        "batch",
        program,
        "--rows",
        rows,
        "-o",
        out,
        "--keep",
        "id",
        "--block-rows",
        str(BLOCK_ROWS),
        *given,
        *more,
    ]


def result(folder: Path, out: str = "out.csv") -> tuple[bytes, bytes]:
    return (folder / out).read_bytes(), (folder / f"{out}.rejects.jsonl").read_bytes()


def told(process: Process) -> list[str]:
    """What it says but for the last line, which has times."""
    return process.err.splitlines()[:-1]
