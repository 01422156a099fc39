"""Convolutions of images and of vectors."""

from __future__ import annotations

from functools import partial
from typing import Any

from .op import Op, OpError
from .rows import beside, inner_shapes, with_rows
from .rules import Shape, conj, one_of, shown, wholes

_op = partial(Op, category="signal")


# ---- convolution of images -----------------------------------------------------------------------
#
# The sum of x * kernel * y over all the places where they meet is linear in each of the three.
# `conv`, `conv_image` and `conv_kernel` are its gradients by y, x and kernel, and so each other's.


def _pair(name: str, value: Any, what: str, least: int) -> tuple[int, int]:
    """An option that is one int, or one for rows and one for columns."""
    pair = wholes(name, value, what)
    if len(pair) not in (1, 2) or min(pair) < least:
        raise OpError(
            f"`{name}` needs one int from {least} up for `{what}`, or [rows, columns], not "
            f"{shown(value)}"
        )
    return pair[0], pair[-1]


def _places(x: Shape, kernel: Shape, stride: Any, padding: Any) -> tuple[int, int]:
    """In how many places a kernel fits along the rows and the columns."""
    if len(x) != 4 or len(kernel) != 4:
        raise OpError(
            "`conv` needs images (n, c, h, w) and kernels (o, c, h, w)",
            "for vectors there is `convolve`",
            f"the shapes are {x} and {kernel}",
        )
    if x[1] != kernel[1]:
        raise OpError(
            (
                f"`conv` needs as many channels in the kernels: {kernel[1]} there, {x[1]} in the "
                "images"
            ),
            label=f"the shapes are {x} and {kernel}",
        )
    steps, borders = _pair("conv", stride, "stride", 1), _pair("conv", padding, "padding", 0)
    rooms = [n + 2 * border - k for n, k, border in zip(x[2:], kernel[2:], borders, strict=True)]
    if min(rooms) < 0:
        raise OpError(
            f"`conv`: kernels of {kernel[2:]} don't fit into images of {x[2:]} with padding "
            f"{padding}"
        )
    return rooms[0] // steps[0] + 1, rooms[1] // steps[1] + 1


def _windows(x: Any, kernel: Shape, places: Shape, stride: Any) -> Any:
    """Yields, for each element of a kernel, the view of the padded images that it multiplies, and
    its place in the kernel."""
    steps = _pair("conv", stride, "stride", 1)
    for i in range(kernel[2]):
        for j in range(kernel[3]):
            ends = i + steps[0] * (places[0] - 1) + 1, j + steps[1] * (places[1] - 1) + 1
            yield x[:, :, i : ends[0] : steps[0], j : ends[1] : steps[1]], i, j


def _padded(xp: Any, x: Any, padding: Any) -> Any:
    rows, columns = _pair("conv", padding, "padding", 0)
    widths = ((0, 0), (0, 0), (rows, rows), (columns, columns), *((0, 0),) * (x.ndim - 4))
    return xp.pad(x, widths) if rows or columns else x


def _conv_shape(x: Shape, kernel: Shape, stride: Any, padding: Any) -> Shape:
    return (*x[:1], *kernel[:1], *_places(x, kernel, stride, padding))


def _conv(xp: Any, x: Any, kernel: Any, stride: Any, padding: Any) -> Any:
    x, kernel = xp.asarray(x), xp.asarray(kernel)
    shape = _conv_shape(x.shape, kernel.shape, stride, padding)
    total = xp.zeros((*shape[:2], shape[2] * shape[3]), dtype=xp.result_type(x, kernel))
    for part, i, j in _windows(_padded(xp, x, padding), kernel.shape, shape[2:], stride):
        total += xp.matmul(kernel[:, :, i, j], part.reshape(*part.shape[:2], -1))
    return total.reshape(shape)


def _conv_image(xp: Any, y: Any, kernel: Any, size: Any, stride: Any, padding: Any) -> Any:
    (rows, columns), borders = size, _pair("conv", padding, "padding", 0)
    n, (_, channels) = y.shape[0], kernel.shape[:2]
    total = xp.zeros(
        (n, channels, rows + 2 * borders[0], columns + 2 * borders[1]),
        dtype=xp.result_type(y, kernel),
    )
    flat = y.reshape(*y.shape[:2], -1)
    for part, i, j in _windows(total, kernel.shape, y.shape[2:], stride):
        part += xp.matmul(kernel[:, :, i, j].T, flat).reshape(part.shape)
    return total[:, :, borders[0] : borders[0] + rows, borders[1] : borders[1] + columns]


def _conv_kernel(xp: Any, x: Any, y: Any, size: Any, stride: Any, padding: Any) -> Any:
    shape = (y.shape[1], x.shape[1], *size)
    total = xp.zeros(shape, dtype=xp.result_type(x, y))
    for part, i, j in _windows(_padded(xp, x, padding), shape, y.shape[2:], stride):
        total[:, :, i, j] = xp.tensordot(y, part, axes=((0, 2, 3), (0, 2, 3)))
    return total


def _image_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for rows of `conv` and `conv_image`: rows of images are more images, unless each row
    has kernels of its own."""
    x, kernel = operands
    if not laned[1]:
        y = compute(xp.moveaxis(x, -1, 0).reshape(-1, *x.shape[1:-1]), kernel, **options)
        return xp.moveaxis(y.reshape(n, x.shape[0], *y.shape[1:]), 0, -1)
    x, steps = (
        with_rows(xp, x, laned[0], n),
        {name: options[name] for name in ("stride", "padding")},
    )
    inner, shape = x.shape[:-1], kernel.shape[:-1]
    dtype = xp.result_type(x, kernel)
    if "size" not in options:
        places = _places(inner, shape, **steps)
        total = xp.zeros((inner[0], shape[0], *places, n), dtype=dtype)
        for part, i, j in _windows(
            _padded(xp, x, steps["padding"]), shape, places, steps["stride"]
        ):
            total += xp.einsum("acpqr,ocr->aopqr", part, kernel[:, :, i, j])
        return total
    (rows, columns), borders = options["size"], _pair("conv", steps["padding"], "padding", 0)
    total = xp.zeros(
        (inner[0], shape[1], rows + 2 * borders[0], columns + 2 * borders[1], n), dtype=dtype
    )
    for part, i, j in _windows(total, shape, inner[2:], steps["stride"]):
        part += xp.einsum("aopqr,ocr->acpqr", x, kernel[:, :, i, j])
    return total[:, :, borders[0] : borders[0] + rows, borders[1] : borders[1] + columns]


def _kernel_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The rule for rows of `conv_kernel`: a product of matrices for each row."""
    x, y = (with_rows(xp, *pair, n) for pair in zip(operands, laned, strict=True))
    shape = (y.shape[1], x.shape[1], *options["size"])
    total = xp.zeros((n, *shape), dtype=xp.result_type(x, y))
    back = xp.moveaxis(y, (-1, 1), (0, 1)).reshape(n, shape[0], -1)
    for part, i, j in _windows(
        _padded(xp, x, options["padding"]), shape, y.shape[2:-1], options["stride"]
    ):
        total[..., i, j] = xp.matmul(
            back, xp.moveaxis(part, (-1, 1), (0, -1)).reshape(n, -1, shape[1])
        )
    return xp.moveaxis(total, 0, -1)


def _conv_back_image(m: Any, g: Any, y: Any, x: Any, kernel: Any, **options: Any) -> Any:
    return m.conv_image(g, conj(m, kernel), **options | {"size": tuple(x.shape[2:])})


def _conv_back_kernel(m: Any, g: Any, y: Any, x: Any, kernel: Any, **options: Any) -> Any:
    return m.conv_kernel(conj(m, x), g, **options | {"size": tuple(kernel.shape[2:])})


# ---- convolution of vectors ----------------------------------------------------------------------

MODES = ("full", "same", "valid")


def _kept(name: str, a: Shape, v: Shape, mode: Any) -> tuple[int, int]:
    """The elements of the full result that a mode keeps: the first one, and how many."""
    if len(a) != 1 or len(v) != 1 or not a[0] or not v[0]:
        raise OpError(
            f"`{name}` needs two vectors with elements: the shapes are {a} and {v}",
            "for images there is `conv`",
        )
    one_of(name, mode, "mode", MODES)
    short, long = sorted((a[0], v[0]))
    if mode == "full":
        return 0, short + long - 1
    if mode == "valid":
        return short - 1, long - short + 1
    return (short if name == "correlate" and a[0] < v[0] else short - 1) // 2, long


def _vectors(name: str) -> dict[str, Any]:
    """The `compute`, rule for rows and shape of `convolve` or `correlate`, by the array module's
    function of that name."""

    def compute(xp: Any, a: Any, v: Any, mode: Any) -> Any:
        a, v = xp.asarray(a), xp.asarray(v)
        _kept(name, a.shape, v.shape, mode)
        return getattr(xp, name)(a, v, mode=mode)

    def rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
        """Adds up the longer vector times each element of the shorter, at shifted places."""
        shape_a, shape_v = inner_shapes(operands, laned)
        start, count = _kept(name, shape_a, shape_v, options["mode"])
        a, v = beside(operands, laned)
        v = xp.conj(v[::-1]) if name == "correlate" else v
        long, short = (a, v) if len(a) >= len(v) else (v, a)
        total = xp.zeros((len(a) + len(v) - 1, n), xp.result_type(a, v))
        for k in range(len(short)):
            total[k : k + len(long)] += short[k] * long
        return total[start : start + count]

    return {
        "compute": compute,
        "rows": rows,
        "result_shape": lambda a, v, mode: (_kept(name, a, v, mode)[1],),
    }


def _opened(m: Any, name: str, g: Any, a: Any, v: Any, mode: str) -> tuple[Any, str]:
    """Converts a cotangent of mode "same" to one of "full", with zeros for what was cut off."""
    if mode != "same":
        return g, mode
    start, count = _kept(name, tuple(a.shape), tuple(v.shape), mode)
    return m.pad(g, width=[start, a.size + v.size - 1 - start - count]), "full"


def _mode_back(mode: str, one: Any, other: Any) -> str:
    """The mode that takes a cotangent back to an operand: "full" undoes "valid", and "valid" undoes
    "full"."""
    return "full" if mode == "valid" and one.size >= other.size else "valid"


def _convolve_back(m: Any, g: Any, y: Any, one: Any, other: Any, mode: str) -> Any:
    g, mode = _opened(m, "convolve", g, one, other, mode)
    return m.correlate(g, other, mode=_mode_back(mode, one, other))


def _correlate_back_left(m: Any, g: Any, y: Any, a: Any, v: Any, mode: str) -> Any:
    g, mode = _opened(m, "correlate", g, a, v, mode)
    return m.convolve(g, v, mode=_mode_back(mode, a, v))


def _correlate_back_right(m: Any, g: Any, y: Any, a: Any, v: Any, mode: str) -> Any:
    g, mode = _opened(m, "correlate", g, a, v, mode)
    return m.correlate(a, g, mode=_mode_back(mode, v, a))


OPS = [
    _op(
        "conv",
        "x, kernel; stride=1, padding=0",
        "Images (n, c, h, w) weighed by kernels (o, c, kh, kw) wherever these fit: (n, o, …, …).",
        multilinear=True,
        integers="keep",
        aliases=("conv2d",),
        compute=_conv,
        rows=_image_rows,
        result_shape=_conv_shape,
        saves=("x", "kernel"),
        note="the kernels aren't turned round",
        vjp=(_conv_back_image, _conv_back_kernel),
    ),
    _op(
        "convolve",
        'a, v; mode="full"',
        "The convolution of two vectors; modes are full, same, valid.",
        multilinear=True,
        integers="keep",
        saves=("a", "v"),
        **_vectors("convolve"),
        vjp=(_convolve_back, lambda m, g, y, a, v, mode: _convolve_back(m, g, y, v, a, mode)),
    ),
    _op(
        "correlate",
        'a, v; mode="valid"',
        "The sums of a[n + k] * conj(v[n]) for every shift k; modes are full, same, valid.",
        multilinear=True,
        integers="keep",
        saves=("a", "v"),
        **_vectors("correlate"),
        vjp=(_correlate_back_left, _correlate_back_right),
    ),
    _op(
        "conv_image",
        "y, kernel; size, stride, padding",
        "The images' gradient of conv.",
        internal=True,
        multilinear=True,
        compute=_conv_image,
        rows=_image_rows,
        saves=("y", "kernel"),
        vjp=(
            lambda m, g, y, back, kernel, size, **options: m.conv(g, conj(m, kernel), **options),
            lambda m, g, y, back, kernel, size, **options: _conv_back_kernel(
                m, conj(m, back), y, conj(m, g), kernel, **options
            ),
        ),
    ),
    _op(
        "conv_kernel",
        "x, y; size, stride, padding",
        "The kernels' gradient of conv.",
        internal=True,
        multilinear=True,
        compute=_conv_kernel,
        rows=_kernel_rows,
        saves=("x", "y"),
        vjp=(
            lambda m, g, y, x, back, size, **options: _conv_back_image(
                m, conj(m, back), y, x, conj(m, g), **options
            ),
            lambda m, g, y, x, back, size, **options: m.conv(conj(m, x), g, **options),
        ),
    ),
]
