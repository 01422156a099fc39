"""Files written block by block, and a block with a column of each kind."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from gradcli.diagnostics import GradcliError
from gradcli.rows.writing import WRITERS, Column


def written(
    path: Path, blocks: Sequence[Sequence[Column]], cuts: Sequence[int] = (), garbage: bytes = b""
) -> bytes:
    """The bytes of a file in the format that its ending says; after each block in `cuts`, another
    writer goes on."""
    make = WRITERS[path.suffix[1:]]
    writer = make(str(path), None)
    for k, block in enumerate(blocks):
        try:
            position = json.loads(json.dumps(writer.append(block)))
        except GradcliError:
            writer.close()
            raise
        if k in cuts:
            if k + 1 < len(blocks):
                writer.append(blocks[k + 1])  # finished, but nobody has noted its position
            writer.close()
            with open(blocks_of(path), "ab") as file:
                file.write(garbage)
            writer = make(str(path), position)
    writer.finish()
    return path.read_bytes()


def example(n: int, seed: int = 0) -> list[Column]:
    """A block with a column of each kind."""
    random = np.random.default_rng(seed)
    numbers = random.standard_normal(n) * 10.0 ** random.integers(-300, 300, n)
    numbers[:4] = [math.nan, math.inf, -math.inf, -0.0][:n]
    words = np.array(
        [["a", 'b"c,', "x\ny", None, "", "\u00e9\t\\"][k % 6] for k in range(n)], dtype=object
    )
    return [
        Column("id", pa.array([f"k{k}" if k % 4 else None for k in range(n)], pa.string())),
        Column("t", words),
        Column("f", numbers),
        Column("df/dx", random.standard_normal((n, 2)), np.arange(n) % 7 == 3),
        Column("i", np.arange(n) * 2**55),
        Column("b", np.arange(n) % 2 == 0),
        Column("z", numbers[::-1] + 1j * random.standard_normal(n)),
        Column("none", np.full(n, np.nan), np.ones(n, bool)),
        Column("m", random.standard_normal((2, 3, n)).transpose(2, 0, 1)),
        Column("s", random.standard_normal(n).astype(np.float32)),
    ]


def blocks_of(path: Path) -> Path:
    """The file that has the blocks until all are there."""
    return path.with_name(path.name + ".blocks") if path.suffix == ".npz" else path


FORMATS = list(WRITERS)


def numeric(block: list[Column]) -> list[Column]:
    return [column for column in block if column.name not in ("id", "t", "i")]


def fitting(format: str, block: list[Column]) -> list[Column]:
    return numeric(block) if format == "npy" else block
