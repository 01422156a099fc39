"""Rows out: a run that was killed, or found a full disk, goes on to the same bytes."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradcli.rows.writing import WRITERS
from gradcli.rows.writing.files import DamagedError

from .writing import FORMATS, blocks_of, example, fitting, written


@pytest.mark.parametrize("format", FORMATS)
@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    cuts=st.sets(st.integers(0, 5)),
    garbage=st.binary(max_size=20),
)
def test_a_run_that_was_killed_ends_with_the_same_bytes(
    tmp_path: Path, format: str, sizes: list[int], cuts: set[int], garbage: bytes
) -> None:
    blocks = [fitting(format, example(n, k)) for k, n in enumerate(sizes)]
    whole = written(tmp_path / f"a.{format}", blocks)
    assert written(tmp_path / f"b.{format}", blocks, sorted(cuts), garbage) == whole


@pytest.mark.parametrize("format", FORMATS)
def test_a_run_that_was_killed_while_it_finished(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"a.{format}"
    blocks = [fitting(format, example(n, n)) for n in (20, 30)]
    whole = written(path, blocks)
    make = WRITERS[format]
    writer = make(str(path), None)
    position = [writer.append(block) for block in blocks][-1]
    for _ in range(3):
        writer.finish()
        assert path.read_bytes() == whole
        writer = make(str(path), position)
    writer.close()


@pytest.mark.parametrize("format", FORMATS)
def test_a_partial_file_that_has_lost_something(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"a.{format}"
    writer = WRITERS[format](str(path), None)
    position = writer.append(fitting(format, example(20)))
    writer.close()
    partial = blocks_of(path)
    os.truncate(partial, 10)
    with pytest.raises(DamagedError, match=f"`{partial.name}` is shorter than it was"):
        WRITERS[format](str(path), position)
    partial.unlink()
    with pytest.raises(DamagedError, match=f"there is no `{partial.name}`"):
        WRITERS[format](str(path), position)


@pytest.mark.parametrize("format", FORMATS)
def test_bits_that_have_flipped(tmp_path: Path, format: str) -> None:
    """In what is finished: they are found when the file is taken up, and before it is finished, or
    don't matter."""
    path, chance = tmp_path / f"a.{format}", random.Random(format)
    blocks = [fitting(format, example(n, n)) for n in (5, 7)]
    whole = written(path, blocks)
    path.unlink()
    for k in range(60):
        writer = WRITERS[format](str(path), None)
        position = [writer.append(block) for block in blocks][-1]
        with open(blocks_of(path), "r+b") as file:
            at = chance.randrange(os.path.getsize(file.name))
            file.seek(at)
            byte = file.read(1)[0] ^ 1 << chance.randrange(8)
            file.seek(at)
            file.write(bytes([byte]))
        try:
            if k % 2:
                writer.close()
                writer = WRITERS[format](str(path), json.loads(json.dumps(position)))
            writer.finish()
        except DamagedError as error:
            assert f"`{blocks_of(path).name}` has other bytes" in str(error)  # noqa: PT017 - either is right
            writer.close()
        else:
            assert (format, path.read_bytes()) == ("npy", whole), "its header is written at the end"


@pytest.mark.parametrize("format", FORMATS)
def test_a_full_disk(tmp_path: Path, format: str) -> None:
    """The error arrives as it is, and what was finished before can be gone on with."""
    import resource
    import signal

    path = tmp_path / f"a.{format}"
    blocks = [fitting(format, example(n, n)) for n in (50, 2000, 10)]
    whole = written(path, blocks)
    writer = WRITERS[format](str(path), None)
    position = writer.append(blocks[0])
    # A limit on the size of files fails as a full disk does, in the middle of a write.
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (blocks_of(path).stat().st_size + 5000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            writer.append(blocks[1])
        assert caught.value.errno
        writer.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    writer = WRITERS[format](str(path), position)
    for block in blocks[1:]:
        writer.append(block)
    writer.finish()
    assert path.read_bytes() == whole
