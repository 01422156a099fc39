"""A job of many blocks, which tests stop, and the folder of its data."""

from __future__ import annotations

from pathlib import Path

ROWS, BLOCK_ROWS = 600, 50
FORMATS = ("csv", "jsonl", "parquet", "arrow", "npy", "npz")


def with_data(folder: Path) -> Path:
    """The folder, with data and with programs for it: one that ends, and one that doesn't at row
    500."""
    lines = ["x,y", *(f"{k / 100},{k % 7}" for k in range(ROWS))]
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    (folder / "p.tg").write_text("var x\nvar y\nf = x**2 * exp(-y)\noutput f\n")
    (folder / "loop.tg").write_text(
        "var x\nvar y\ni = 0\nwhile x == 5.0 { i = 1 - i }\noutput f = x * y\n"
    )
    interpreted = 'print f"{x:9}"\n'  # which isn't compiled
    (folder / "interpreted.tg").write_text((folder / "loop.tg").read_text() + interpreted)
    return folder


def job(
    *more: str, out: str = "out.csv", program: str = "p.tg", rows: str = "data.csv"
) -> list[str]:
    return ["batch", program, "--rows", rows, "-o", out, "--block-rows", str(BLOCK_ROWS), *more]
