"""What functions and other words of other languages are called here.

An unknown name is looked up here before the closest known one is suggested. Whole phrases of other
languages stand in `lang/phrases.py`; NumPy's other names of a builtin are aliases of its entry.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..diagnostics import did_you_mean


def _by_word(phrases: dict[str, str]) -> dict[str, str]:
    return {word: meaning for meaning, words in phrases.items() for word in words.split()}


_FN = "a function is defined with `fn name(…) { … }`"
_BLOCK = "a block stands in braces: `if c { … }`"

# Constants, which no program means as names of its own.
OTHER_CONSTANTS = _by_word(
    {
        "write `true`": "True TRUE",
        "write `false`": "False FALSE",
        "write `none`": "None NULL null nothing nullptr NA",
        "write `pi`": "M_PI π",
        "write `e`": "M_E ℯ",
        "write `inf`": "Inf INFINITY Infinity",
        "write `nan`": "NaN NAN",
    }
)

# Words of statements, and constants.
OTHER_WORDS = OTHER_CONSTANTS | _by_word(
    {
        _FN: "def function func fun subroutine endfunction",
        _BLOCK: "then do begin endif enddo endwhile endfor",
        "an anonymous function is `fn(x) = …`": "lambda",
        "a plain name is assigned without a keyword; a variable is declared with `var`": "let "
        "local auto",
        "write `elif`": "elseif elsif",
        "write `break`": "exit",
        "write `continue`": "cycle",
        "a collection of variables is a `module Name(…) { … }`": "class struct type",
        'write `import "file.tg" as name`': "from",
        "builtins need no import: leave it out": "library require using use",
        "a tape is opened with `tape t { … }`": "with",
        "write `expect`": "assert",
        "there is nothing to delete; values go when nothing needs them": "del deallocate clear",
        "a block may be empty: `{ }`": "pass",
        "`:=` updates a `var` from inside a function": "global nonlocal",
        'write `expect error "…" { … }` where a failure is expected': "try except catch",
        "the language raises no errors of its own; see `expect`": "raise throw stop",
        "write `==`": "is",
        "write `if c { … } elif d { … }`": "switch case match",
        "write `while true { … }`, which `break` leaves": "repeat until",
        "the language has no concurrency": "async await",
        "write `return`": "yield",
        "a function is called by its name: `f(x)`": "call",
        "a program needs no head: it begins with its first statement": "program main",
    }
)

# Functions, by the builtin that does the same. NumPy's other spellings are aliases in the table.
_BUILTINS = _by_word(
    {
        "log": "ln alog dlog logf Log",
        "sin": "dsin sinf Sin",
        "cos": "dcos cosf Cos",
        "exp": "dexp expf Exp",
        "sqrt": "dsqrt sqrtf Sqrt",
        "abs": "dabs fabsf Abs cabs",
        "log10": "lg dlog10 alog10",
        "sign": "sgn signum",
        "mod": "rem",
        "maximum": "pmax",
        "minimum": "pmin",
        "where": "ifelse merge",
        "float64": "dble Float64 double float",
        "int64": "int Int Int64",
        "len": "length numel nrow",
        "count_nonzero": "nnz",
        "tile": "repmat",
        "uniform": "runif",
        "normal": "rnorm",
        "randint": "randi",
        "dot": "dot_product",
        "append": "push push_back",
        "cumsum": "cumulative_sum",
        "gamma": "tgamma",
        "solve": "linsolve mldivide",
        "std": "sd",
        "arange": "seq",
        "range": "xrange seq_len",
        "grad": "derivative gradients ForwardDiff",
        "vmap": "pmap",
        "sort": "sorted",
        "zeros": "empty",
        "einsum": "tensordot",
        "eigh": "eig eigen eigvals",
        "backward": "backprop",
        "stop_gradient": "stop_grad",
    }
)

_OUTSIDE = "values come from outside: declare `var x`, and give `--set x=@FILE`"
_PRINT = 'write `print x`, or `print f"x = {x:.3f}"`'
_EACH = "write `[f(v) for v in xs]`"

# Functions that have no builtin for a counterpart, by what to write.
_CALLS = _by_word(
    {
        _OUTSIDE: "load loadtxt genfromtxt read_csv open fopen read input scanf",
        _PRINT: "printf println fprintf disp display cat puts echo cout",
        'write `f"x = {x:.3f}"`': "str sprintf format num2str string paste paste0",
        "a list is written `[a, b]`": "c tuple list vector",
        _EACH: "map sapply lapply arrayfun",
        "write `x.T`": "t adjoint",
        "write `x.shape`": "size dim shape ncol columns",
        "write `zeros(n)`": "allocate malloc calloc",
        "random numbers are seeded by `--seed`": "PRNGKey seed set_seed manual_seed srand",
        "leave it out: what runs often is compiled": "jit njit compile",
        "write `pause { … }`": "no_grad inference_mode",
        "declare it with `var`": "requires_grad_ Variable Parameter",
        "leave it out: `grad` never accumulates": "zero_grad",
        "leave it out: values are what they are": "item numpy",
        "leave it out: no other name sees a change of a value; `array(x)` copies a variable's": (
            "copy deepcopy clone"
        ),
        "write `len(x) == 0`": "isempty",
        "`l[-1]` is the last item, and `l[:-1]` the list without it": "pop pop_back",
        "the device is an option: `--device cuda`": "cuda cpu to device_put",
        "write a loop: `for v in xs { … }`": "scan fori_loop while_loop reduce",
        "write `if`: a branch may depend on values": "cond",
        "an element is updated by `x[i] = v`": "at",
        "a tape is opened with `tape t { … }`": "GradientTape",
    }
)

# Functions that are short formulas here, by that.
FORMULAS = _by_word(
    {
        "gamma(n + 1)": "factorial",
        "exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1))": "comb binom binomial nchoosek",
        "where(x < 0, 0.0, 1.0)": "heaviside",
        "1 / x": "reciprocal",
        "1 / cos(x)": "sec",
        "1 / sin(x)": "csc",
        "1 / tan(x)": "cot",
        "1 / cosh(x)": "sech",
        "a + t * (b - a)": "lerp",
        "ndtr(x)": "cdf pnorm",
        "exp(-x**2 / 2) / sqrt(2 * pi)": "pdf dnorm",
        "x / (1 + abs(x))": "softsign",
        "x * tanh(softplus(x))": "mish",
        "-softplus(-x)": "log_sigmoid logsigmoid",
        "clip(x, -1, 1)": "hardtanh",
        "xlogy(p, p / q)": "rel_entr",
        "sum(xlogy(p, p / q))": "kl_div kl_divergence",
        "-sum(xlogy(p, p))": "entropy",
        "-mean(xlogy(t, p) + xlogy(1 - t, 1 - p))": "binary_cross_entropy bce bce_loss",
        "mean((y - t)**2)": "mse mse_loss mean_squared_error",
        "x[1:] - x[:-1]": "diff",
        "sum((y[1:] + y[:-1]) * (x[1:] - x[:-1])) / 2": "trapz trapezoid",
        "max(x) - min(x)": "ptp",
        "interp(q, linspace(0, 1, len(x)), sort(x))": "quantile",
        "interp(q / 100, linspace(0, 1, len(x)), sort(x))": "percentile",
        "exp(linspace(log(a), log(b), n))": "geomspace",
        "roll(x, len(x) // 2)": "fftshift",
        "where(mask, v, x)": "masked_fill",
        "x[mask]": "masked_select compress",
        "x[::-1]": "reversed rev",
        "abs(a - b) <= 1e-8": "isclose",
        "all(abs(a - b) <= 1e-8)": "allclose isapprox",
        "all(a == b)": "array_equal",
        "stack([a, b], axis = 1)": "column_stack cbind",
        "a @ b": "mm mv bmm",
        "eigh(a)[0]": "eigvalsh",
        "svd(a)[1]": "svdvals",
    }
)

# Packages whose functions are builtins here: `np.linalg.norm` is `norm`.
_NAMES = """
    np numpy math cmath torch jnp jax tf tensorflow scipy keras autograd onp pd plt
    random linalg special F Math std LinearAlgebra Statistics Random stats lax
"""
PACKAGES = frozenset(_NAMES.split())

# Keyword arguments of other packages.
_KEYWORDS = {
    "dim": "axis",
    "dims": "axis",
    "keepdim": "keepdims",
    "size": "shape",
    "argnums": "wrt",
    "loc": "mean",
    "scale": "std",
    "in_dims": "in_axes",
}


def is_no_input(name: str, following: str) -> bool:
    """Whether a free name means something in another language, and is nobody's input; `following`
    is the character behind it."""
    return name in OTHER_CONSTANTS or (name in PACKAGES and following == ".")


def meant(name: str, called: bool = False) -> str:
    """What a name of another language is here, as help; "" for one that isn't known. `called`: it
    stands where a function does."""
    from . import ALIASES  # not before a name is unknown

    builtin = ALIASES.get(name) or _BUILTINS.get(name)
    if builtin:
        return f"did you mean `{builtin}`?"
    if not called or name in OTHER_WORDS:
        return OTHER_WORDS.get(name, "")
    return f"write `{FORMULAS[name]}`" if name in FORMULAS else _CALLS.get(name, "")


def suggestion(name: str, known: Iterable[str], called: bool = False) -> str:
    """Help for an unknown name: what it is here, or the known name that it is close to."""
    return meant(name, called) or did_you_mean(name, known)


def keyword(name: str) -> str:
    """What a keyword argument is called here; "" for one that isn't known."""
    return _KEYWORDS.get(name, "")
