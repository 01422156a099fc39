"""What an evaluation is asked and what it answers: plain dataclasses, shared by the Python door,
the CLI and the reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

from ..diagnostics import Diagnostic
from ..engine.execution import Expectation, Settings

# The options that are one of a few words.
CHOICES = {
    "mode": ("auto", "forward", "reverse"),
    "unconnected": ("none", "zero", "error"),
    "dtype": ("float64", "float32"),
}
# Those that are integers, and the least that each may be.
LEAST = {"seed": 0, "max_steps": 1, "threads": 1, "max_memory": 1, "repeat": 1}


@dataclass(frozen=True, slots=True)
class Options:
    """How to run a program. What stands here means the same in Python (`with_options`) and on the
    command line.

    of, wrt       targets and sources by name; empty: every output, every trainable variable
    grad          whether gradients are computed
    jacobian      whether Jacobians are
    hessian       whether Hessians are
    hessian_blocks  whether Hessians are, with the mixed blocks of two variables
    sparse        whether Jacobians and Hessians are lists of their entries: `{"rows", "cols",
                  "values", "shape"}`
    mode          "reverse" or "forward": how to differentiate; "auto" chooses
    unconnected   "none", "zero" or "error": what an unconnected gradient gives
    dtype         the run's float type, "float64" or "float32"
    device        "cpu", "cuda" or "cuda:1"
    seed          of the random builtins
    max_steps     statements executed at most; None is unlimited
    threads       that compute blocks of rows of `vmap` at once; results don't depend on it
    max_memory    bytes that one allocation may take at most; None: what the machine has free
    debug_nan     whether to look for the operation that made what isn't finite: an error
    repeat        how often the program runs; timings hold one entry a run
    closed_form   seconds that SymPy may take to simplify the closed forms; 0 for no closed forms
    """

    of: tuple[str, ...] = ()
    wrt: tuple[str, ...] = ()
    grad: bool = True
    jacobian: bool = False
    hessian: bool = False
    hessian_blocks: bool = False
    sparse: bool = False
    mode: str = "auto"
    unconnected: str = "none"
    dtype: str = "float64"
    device: str = "cpu"
    seed: int = 0
    max_steps: int | None = None
    threads: int = 1
    max_memory: int | None = None
    repeat: int = 1
    closed_form: float = 0.0
    debug_nan: bool = False
    ignore_extra: bool = False
    tracks: bool = (
        False  # keep track of the statement being executed, for limits that strike from outside
    )

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name}={getattr(self, name)!r}: it is one of {', '.join(map(repr, known))}"
                )
        for name, least in LEAST.items():
            value = getattr(self, name)
            is_left_out = value is None and name in ("max_steps", "max_memory")
            if not is_left_out and not (isinstance(value, Integral) and int(value) >= least):
                raise ValueError(f"{name}={value!r}: it is an integer, {least} or more")

    @property
    def differentiates(self) -> bool:
        """Whether any derivative of the outputs is wanted."""
        return self.grad or self.jacobian or self.hessian or self.hessian_blocks

    @property
    def is_plain(self) -> bool:
        """Whether only outputs and derivatives are asked for, of a program that nothing limits."""
        return self == Options(
            of=self.of,
            wrt=self.wrt,
            grad=self.grad,
            jacobian=self.jacobian,
            hessian=self.hessian,
            hessian_blocks=self.hessian_blocks,
            sparse=self.sparse,
            mode=self.mode,
            unconnected=self.unconnected,
            dtype=self.dtype,
            device=self.device,
            seed=self.seed,
            threads=self.threads,
            ignore_extra=self.ignore_extra,
        )

    @property
    def settings(self) -> Settings:
        """What concerns the run itself."""
        return Settings(
            self.dtype, self.device, self.seed, self.max_steps, self.max_memory, self.tracks
        )

    def with_changes(self, **changes: Any) -> Options:
        return replace(self, **changes)


@dataclass
class Evaluation:
    """The answer. Values are Python numbers, strings, None, NumPy arrays, and lists and dicts of
    these.

    gradients[output][variable]  has the variable's shape, or is None where unconnected (the
                                 diagnostics say why)
    jacobians[output][variable]  has the output's shape and then the variable's; of a list or dict
                                 there is one in each place
    hessians[output][variable]   has the variable's shape twice; a mixed block is under "x,z", in
                                 the order of the variables

    closed_forms[output]         has under "value" the closed form, a string, or nested lists of
                                 them for an array, and under "gradients" that of each gradient by
                                 variable

    With the option `sparse` Jacobians and Hessians are dicts of what isn't zero by structure: the
    elements of output and variable as `rows` and `cols`, counted in C order, their `values`, and
    the `shape` of the matrix.

    Each has an entry for every output that is differentiated, in the order of the outputs, if it
    was asked for. For an output that isn't a scalar, gradient and Hessian are those of the sum of
    its elements; it is listed in `summed`.

    To say why a gradient is missing takes another run. In a program that runs again and again, it
    is made once somebody reads `diagnostics`.
    """

    file: str
    outputs: dict[str, Any] = field(default_factory=dict)
    gradients: dict[str, dict[str, Any]] = field(default_factory=dict)
    jacobians: dict[str, dict[str, Any]] = field(default_factory=dict)
    hessians: dict[str, dict[str, Any]] = field(default_factory=dict)
    closed_forms: dict[str, dict[str, Any]] = field(default_factory=dict)
    summed: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    printed_values: list[list[Any]] = field(default_factory=list)
    expectations: list[Expectation] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # which outputs get no gradient unasked
    timings: list[float] = field(default_factory=list)  # seconds a run, value and gradient
    mode: str = "reverse"  # how gradients were computed

    @property
    def errors(self) -> list[Diagnostic]:
        """The errors among the diagnostics."""
        found = self.__dict__.get("diagnostics", ())  # there are none where warnings come later
        return [each for each in found if each.severity == "error"]

    def explain_later(self, explain: Callable[[], list[Diagnostic]]) -> None:
        """Has the diagnostics, none of which is an error, found once somebody reads them."""
        del self.diagnostics
        self._explain = explain

    def __getattr__(self, name: str) -> Any:
        if name != "diagnostics" or "_explain" not in self.__dict__:
            raise AttributeError(f"an evaluation has no `{name}`", name=name, obj=self)
        self.diagnostics = self.__dict__.pop("_explain")()
        return self.diagnostics

    def __getstate__(self) -> dict[str, Any]:
        found = self.diagnostics  # from here on they are there
        return {**vars(self), "diagnostics": found}

    @property
    def exit_code(self) -> int:
        """0, or 1 where an `expect` failed, or the highest code among the error diagnostics."""
        failed = 1 if any(not e.passed for e in self.expectations) else 0
        return max([failed, *(d.exit_code for d in self.diagnostics)])


__all__ = ["Evaluation", "Expectation", "Options"]
