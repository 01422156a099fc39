"""Batch Jacobians: each row of a target by the same row of a source, with one sweep per element of
a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import Diagnostic
from ...ops import OPS
from ..ad.derivatives import gradients, note_unconnected
from ..ad.targets import read_target, verify_target
from ..backends.backend import count, shape_of
from ..operations.apply import apply
from ..trace.run import Run
from ..trace.tape import Site
from ..trace.unregistered import request
from ..trace.windows import Window
from ..values.boxes import primal
from ..values.kinds import map_structure, read, show_shape
from .compressed import batch_rows

MOVEAXIS, RESHAPE = OPS["moveaxis"], OPS["reshape"]


@request
def batch_jacobian(
    run: Run, site: Site, operands: list[Any], options: dict[str, Any], window: Window | None = None
) -> Any:
    """Implements `batch_jacobian(target, source)`: the Jacobian of each row of the target by the
    same row of the source.

    Its shape is (batch,) + target.shape[1:] + source.shape[1:]; of several sources there is one
    for each place of their structure. If rows depend on each other, their
    derivatives are summed, as in TensorFlow, with a warning.
    """
    target = read_target(operands[0])
    return map_structure(lambda by: _by_source(run, site, target, by, window), operands[1])


def _by_source(run: Run, site: Site, target: Any, by: Any, window: Window | None) -> Any:
    """The batch Jacobian by one of the sources."""
    shape, inner = shape_of(primal(target)), shape_of(primal(read(by)))
    verify_batch(run, shape, inner, site)
    traced = verify_target(run, target, site.span)

    recorded = None if run.once and run.group is None and not run.level else site
    (rows,) = batch_rows(run, traced[0], [by], recorded, window) if traced else [None]
    if rows is None:
        note_unconnected(run, target, by, site.span, window)
        return None

    def pull(seed: Any) -> Any:
        # A plain sweep can't pull back duals.
        return gradients(run, [(traced[0], seed)], [by], run.level > 0, window)[0]

    warn_of_mixing(run, site, primal(target), rows, pull)
    return joined(run, site, rows, shape, inner)


def verify_batch(run: Run, shape: tuple[int, ...], inner: tuple[int, ...], site: Site) -> None:
    """Raises GradcliError (E314) unless the first axes of a target and a source are the
    same batch.
    """
    if not shape or not inner or shape[0] != inner[0]:
        ours, theirs = show_shape(shape), show_shape(inner)
        run.fail(
            "E314",
            f"the first axes of target {ours} and source {theirs} aren't one batch",
            site.span,
        )


def joined(run: Run, site: Site, rows: Any, shape: tuple[int, ...], inner: tuple[int, ...]) -> Any:
    """Arranges the result of `batch_rows` as the batch Jacobian of a target of `shape` by a source
    of shape `inner`.
    """
    whole = shape + inner[1:]
    if not count(whole):
        return run.backend.xp.zeros(whole, primal(rows).dtype)
    moved = apply(run, site.in_derivative(MOVEAXIS), (rows,), {"source": 0, "destination": 1})
    return apply(run, site.in_derivative(RESHAPE), (moved,), {"shape": list(whole)})


def warn_of_mixing(
    run: Run, site: Site, target: Any, rows: Any, pull: Callable[[Any], Any]
) -> None:
    """Warns (W204) where rows of the target depend on other rows of the source.

    It is so if pulling back a cotangent that weights the rows differently doesn't give the weighted
    `rows`, which `batch_rows` computed with equal weights.
    """
    xp, n = run.backend.xp, target.shape[0]
    if n < 2 or not target.size or run.group is not None:
        return
    rows = primal(rows)
    weights, along = (1 + (xp.arange(m) * 0.618034) % 1 for m in (n, len(rows)))
    seed = (weights[:, None] * along).reshape(target.shape).astype(target.dtype)
    mixed = primal(pull(seed))
    expected = sum(float(w) * row for w, row in zip(along, rows, strict=True))
    expected = (expected.T * weights).T
    finite = xp.isfinite(mixed) & xp.isfinite(expected)
    error, size = (
        xp.where(finite, abs(part), 0).max(initial=0.0) for part in (mixed - expected, expected)
    )
    if error > (1e-9 if mixed.dtype in ("float64", "complex128") else 1e-4) * max(
        size, abs(xp.where(finite, mixed, 0)).max()
    ):
        help = (
            "this is the gradient of the sum over the batch; `jacobian` has every row of the "
            "target by every row of the source"
        )
        run.warn(
            Diagnostic(
                "W204", "the rows of the batch mix: they depend on each other", site.span, help=help
            )
        )
