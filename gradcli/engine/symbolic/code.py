"""Closed forms as functions of a programming language: one for each output, one for each of its derivatives.

Parameters are the variables that occur, in the order of their declaration: numbers, or arrays of their shape (in C, all
elements in one line). A function whose form is an array returns one; in C it writes the elements to `out`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import sympy

from .algebra import as_number
from .calculus import each, flat
from .emitter import Emitter
from .languages import LANGUAGES, Language

FORTRAN_LINE = 100
Parameters = list[tuple[str, tuple[int, ...]]]  # names and shapes


class Part(NamedTuple):
    """One function to be: what it is called, what it is in words, its form: an expression or an array of them; and what it
    belongs to: functions of one `group` have the same parameters."""

    name: str
    title: str
    form: Any
    group: str


def program(to: str, parts: list[Part], sources: Mapping[str, Any]) -> str:
    """The text of a module with a function for each part, in the language `to`. `sources` are the symbols of the variables,
    by name: a symbol, or an array. Raises UnwritableError where a form has no words in the language."""
    return _Writer(to, parts, sources).text()


class _Writer:
    def __init__(self, to: str, parts: list[Part], sources: Mapping[str, Any]) -> None:
        self.to, self.language, self.sources = to, LANGUAGES[to], sources
        self.parts = [part._replace(form=each(as_number, part.form)) for part in parts]
        # Until all words of the text are known, names are such as nobody has.
        self.provisional = {name: f"v{k}q" for k, name in enumerate(sources)}
        self.functions = {part.name: f"v{len(sources) + k}q" for k, part in enumerate(parts)}
        self.titles = {f"\0{k}\0": part.title for k, part in enumerate(parts)}
        names = {}
        for name, symbols in sources.items():
            for index, symbol in _elements(symbols):
                shape = getattr(symbols, "shape", ())
                called = self.language.element(self.provisional[name], index, shape) if shape else self.provisional[name]
                for part in _real_parts(symbol):
                    names[part] = called if part == symbol else f"{part.name.partition('(')[0]}_{called}"
        self.names = names
        self.emitter = Emitter(self.language, names)

    def text(self) -> str:
        write = getattr(self, f"_{self.to}")
        functions = [
            write(part, self.functions[part.name], mark, self._parameters(part))
            for part, mark in zip(self.parts, self.titles, strict=True)
        ]
        gap = "\n\n" if self.to in ("python", "numpy") else "\n"
        text = self._named(getattr(self, f"_{self.to}_file")(gap.join(functions)))
        for mark, title in self.titles.items():
            text = text.replace(mark, title if self.language.unicode else _ascii(title))
        return _wrapped(text) if self.to == "fortran" else text

    def _parameters(self, part: Part) -> list[tuple[str, tuple[int, ...]]]:
        """The sources that occur in the parts of its group: provisional name and shape."""
        used = set().union(*(form.free_symbols for other in self.parts if other.group == part.group for form in flat(other.form)))
        return [
            (self.provisional[name], getattr(symbols, "shape", ()))
            for name, symbols in self.sources.items()
            if any(_real_parts(symbol)[0] in used or _real_parts(symbol)[-1] in used for _, symbol in _elements(symbols))
        ]

    def _named(self, text: str) -> str:
        """The text with the names that the program has, as far as the language lets them."""
        taken = {self._folded(word) for word in {*re.findall(r"[^\W\d]\w*", text), *self.language.words}}
        final = {}
        for name, provisional in [*self.provisional.items(), *self.functions.items()]:
            base = _identifier(name, self.language)
            chosen, k = base, 1
            while self._folded(chosen) in taken:
                k += 1
                chosen = f"{base}_" if k == 2 else f"{base}_{k - 1}"
            taken.add(self._folded(chosen))
            final[provisional] = chosen
        return re.sub(r"v\d+q", lambda found: final.get(found[0], found[0]), text)

    def _folded(self, name: str) -> str:
        return name.casefold() if self.language.folds else name

    def _nested(self, form: Any, opening: str = "[", closing: str = "]") -> str:
        if not isinstance(form, np.ndarray):
            return self.emitter.expression(form)
        return opening + ", ".join(self._nested(item, opening, closing) for item in form) + closing

    # ---- Python and NumPy --------------------------------------------------------------------------------------------

    def _python(self, part: Part, name: str, title: str, parameters: Parameters) -> str:
        names = ", ".join(parameter for parameter, _ in parameters)
        value = self._nested(part.form)
        value = f"np.array({value})" if self.to == "numpy" and isinstance(part.form, np.ndarray) else value
        return f"def {name}({names}):\n    # {title}\n    return {value}\n"

    _numpy = _python

    def _python_file(self, body: str) -> str:
        return f"import math\n\n\n{body}" if "math." in body else body

    def _numpy_file(self, body: str) -> str:
        imports = "import numpy as np\n" + ("from scipy import special\n" if "special." in body else "")
        return f"{imports}\n\n{body}"

    # ---- C -----------------------------------------------------------------------------------------------------------

    def _c(self, part: Part, name: str, title: str, parameters: Parameters) -> str:
        listed = [f"const double *{parameter}" if shape else f"double {parameter}" for parameter, shape in parameters]
        if not isinstance(part.form, np.ndarray):
            head = f"/* {title} */\ndouble {name}({', '.join(listed) or 'void'})"
            return f"{head}\n{{\n    return {self._nested(part.form)};\n}}\n"
        lines = "".join(f"    out[{k}] = {self.emitter.expression(item)};\n" for k, item in enumerate(part.form.flat))
        return f"/* {title} */\nvoid {name}({', '.join([*listed, 'double *out'])})\n{{\n{lines}}}\n"

    def _c_file(self, body: str) -> str:
        return f"#include <math.h>\n\n{body}"

    # ---- Fortran -----------------------------------------------------------------------------------------------------

    def _fortran(self, part: Part, name: str, title: str, parameters: Parameters) -> str:
        lines = [f"  ! {title}", f"  pure function {name}({', '.join(n for n, _ in parameters)}) result(value)"]
        lines += [f"    real(dp), intent(in) :: {n}{_dimensions(shape)}" for n, shape in parameters]
        shape = getattr(part.form, "shape", ())
        lines.append(f"    real(dp) :: value{_dimensions(shape)}")
        for index, item in _elements(part.form):
            place = f"({', '.join(str(i + 1) for i in index)})" if shape else ""
            lines.append(f"    value{place} = {self.emitter.expression(item)}")
        return "\n".join([*lines, f"  end function {name}", ""])

    def _fortran_file(self, body: str) -> str:
        ieee = (
            "  use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan, ieee_positive_inf\n"
            if "ieee_" in body
            else ""
        )
        head = f"module closed_forms\n  use, intrinsic :: iso_fortran_env, only: dp => real64\n{ieee}  implicit none\ncontains\n"
        return f"{head}\n{body}\nend module closed_forms\n"

    # ---- Julia and Rust ----------------------------------------------------------------------------------------------

    def _julia(self, part: Part, name: str, title: str, parameters: Parameters) -> str:
        form = part.form
        if getattr(form, "ndim", 0) < 2:
            value = self._nested(form)
        else:  # Julia counts along columns first
            items = ", ".join(self.emitter.expression(item) for item in form.ravel(order="F"))
            value = f"reshape([{items}], {', '.join(map(str, form.shape))})"
        names = ", ".join(parameter for parameter, _ in parameters)
        return f"# {title}\nfunction {name}({names})\n    return {value}\nend\n"

    def _julia_file(self, body: str) -> str:
        special = re.search(r"\b(erfc?|erfinv|gamma|loggamma|polygamma|besseli|zeta)\(", body)
        return f"using SpecialFunctions\n\n{body}" if special else body

    def _rust(self, part: Part, name: str, title: str, parameters: Parameters) -> str:
        def kind(shape: tuple[int, ...]) -> str:
            return "f64" if not shape else f"[{kind(shape[1:])}; {shape[0]}]"

        listed = ", ".join(f"{parameter}: {'&' if shape else ''}{kind(shape)}" for parameter, shape in parameters)
        result = kind(getattr(part.form, "shape", ()))
        head = f"/// {title}\npub fn {name}({listed}) -> {result} {{"
        return f"{head}\n    {self._nested(part.form)}\n}}\n"

    def _rust_file(self, body: str) -> str:
        return body


def _elements(form: Any) -> Iterable[tuple[tuple[int, ...], Any]]:
    """The scalar forms in one, with their indices."""
    return [(index, form[index]) for index in np.ndindex(*form.shape)] if isinstance(form, np.ndarray) else [((), form)]


def _real_parts(symbol: Any) -> list[Any]:
    """The symbols that an element of a variable is made of: itself, or those of its real and its imaginary part."""
    return [symbol] if isinstance(symbol, sympy.Symbol) else sorted(symbol.free_symbols, key=str, reverse=True)


def _identifier(name: str, language: Language) -> str:
    """A name that the language takes, as close to the program's as may be."""
    name = name if language.unicode else _ascii(name).lstrip("_")
    name = name if name.isidentifier() else re.sub(r"\W+", "_", name).strip("_") or "value"
    return name if not name[0].isdigit() else f"_{name}" if language.unicode else f"value_{name}"


def _ascii(text: str) -> str:
    """Text in ASCII: letters such as α by their names."""
    found = []
    for c in text:
        if c.isascii():
            found.append(c)
            continue
        words = unicodedata.name(c, "").split()
        plain = unicodedata.normalize("NFKD", c)
        if plain[0].isascii():
            found.append(plain[0])
        elif "LETTER" in words:
            name = words[words.index("LETTER") + 1]
            found.append(name.capitalize() if "CAPITAL" in words else name.lower())
        else:
            found.append({"∂": "d", "Σ": "sum ", "²": "2"}.get(c, "_"))
    return "".join(found)


def _dimensions(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})" if shape else ""


def _wrapped(text: str) -> str:
    """Fortran in lines of a length that compilers take."""
    lines = []
    for line in text.split("\n"):
        while len(line) > FORTRAN_LINE and not line.lstrip().startswith("!"):
            lines.append(line[:FORTRAN_LINE] + "&")
            line = "      &" + line[FORTRAN_LINE:]
        lines.append(line)
    return "\n".join(lines)
