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
        "the device is an option: `--device cuda`": "cuda cpu to device_put",
        "write a loop: `for v in xs { … }`": "scan fori_loop while_loop reduce",
        "write `if`: a branch may depend on values": "cond",
        "an element is updated by `x[i] = v`": "at",
        "a tape is opened with `tape t { … }`": "GradientTape",
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
    return OTHER_WORDS.get(name, "") or (_CALLS.get(name, "") if called else "")


def suggestion(name: str, known: Iterable[str], called: bool = False) -> str:
    """Help for an unknown name: what it is here, or the known name that it is close to."""
    return meant(name, called) or did_you_mean(name, known)


def keyword(name: str) -> str:
    """What a keyword argument is called here; "" for one that isn't known."""
    return _KEYWORDS.get(name, "")
