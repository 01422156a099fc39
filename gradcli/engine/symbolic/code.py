"""Closed forms as functions of a programming language: one for each output, one for each of its
derivatives.

Parameters are the variables that occur, in the order of their declaration: numbers, or arrays of
their shape (in C, all elements in one line). A function whose form is an array returns one; in C it
writes the elements to `out`. What occurs several times in a function is computed once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import sympy

from .algebra import as_number
from .calculus import each, flat
from .languages import load
from .languages.printer import Function, UnwritableError, ascii_letters


class Part(NamedTuple):
    """A function to be written: its name, its description, its form (an expression or an array of
    them), and its `group`, whose functions have the same parameters."""

    name: str
    title: str
    form: Any
    group: str


class Program(NamedTuple):
    """A module's text, and what it leaves out: parts, and what the language lacks for each."""

    text: str
    omitted: list[tuple[Part, str]]


def program(to: str, parts: list[Part], sources: Mapping[str, Any]) -> Program:
    """A module with a function for each part, in the language `to`. `sources` are the symbols of
    the variables, by name: a symbol, or an array."""
    return _Writer(to, parts, sources).program()


class _Writer:
    def __init__(self, to: str, parts: list[Part], sources: Mapping[str, Any]) -> None:
        self.sources = sources
        self.parts = [part._replace(form=each(as_number, part.form)) for part in parts]
        self.wanted: list[str] = []  # what each provisional name stands for
        self.variables = {name: self._provisional(name) for name in sources}
        self.functions = {part.name: self._provisional(part.name) for part in parts}
        self.steps: list[Any] = []  # the symbols of what is computed once
        self.names: dict[Any, str] = {}
        self.language = load(to, self.names)
        for name, symbols in sources.items():
            for index, symbol in _elements(symbols):
                variable, shape = self.variables[name], np.shape(symbols)
                self._call(
                    symbol, self.language.element(variable, index, shape) if shape else variable
                )

    def _provisional(self, wanted: str) -> str:
        """A placeholder that stands for a name until all words of the text are known."""
        self.wanted.append(wanted)
        return f"v{len(self.wanted) - 1}q"

    def _call(self, symbol: Any, text: str) -> None:
        """Says what an element of a variable is called: it, or its real and its imaginary part."""
        if isinstance(symbol, sympy.Symbol):
            self.names[symbol] = text
        else:
            self.names.update(
                (part, form.format(text))
                for part, form in zip(_symbols(symbol), self.language.parts, strict=False)
            )

    def program(self) -> Program:
        written, omitted = [], []
        for part in self.parts:
            try:
                written.append((part, *self._body(part.form)))
            except UnwritableError as error:
                omitted.append((part, str(error)))
        if not written:
            return Program("", omitted)
        language = self.language
        titles = {f"\0{k}\0": part.title for k, (part, *_) in enumerate(written)}
        used = {
            group: set().union(
                *(
                    form.free_symbols
                    for part, *_ in written
                    if part.group == group
                    for form in flat(part.form)
                )
            )
            for group in {part.group for part, *_ in written}
        }
        functions = [
            language.function(
                Function(
                    self.functions[part.name],
                    mark,
                    self._parameters(used[part.group]),
                    steps,
                    value,
                )
            )
            for mark, (part, steps, value) in zip(titles, written, strict=True)
        ]
        text = self._named(language.gap.join(functions))
        for mark, title in titles.items():
            text = text.replace(mark, title if language.unicode else ascii_letters(title))
        return Program(language.file(text), omitted)

    def _body(self, form: Any) -> tuple[list[tuple[str, str]], Any]:
        """What a function computes first, by name, and its value."""
        forms = flat(form)
        shared, reduced = [], forms
        # what stands in a branch may have no value outside it
        if not any(part.has(sympy.Piecewise) for part in forms):
            shared, reduced = sympy.cse(forms, symbols=self._temporaries(), order="none")
        steps = [(self.names[symbol], self.language.expression(step)) for symbol, step in shared]
        texts = [self.language.expression(part) for part in reduced]
        return steps, np.array(texts, dtype=object).reshape(form.shape) if isinstance(
            form, np.ndarray
        ) else texts[0]

    def _temporaries(self) -> Iterable[Any]:
        """Symbols for what is computed once: the same ones in every function."""
        yield from self.steps
        while True:
            self.steps.append(sympy.Dummy(real=True))
            self.names[self.steps[-1]] = self._provisional(f"t{len(self.steps) - 1}")
            yield self.steps[-1]

    def _parameters(self, used: set[Any]) -> list[tuple[str, tuple[int, ...]]]:
        """The variables among the symbols: provisional name and shape."""
        return [
            (self.variables[name], np.shape(symbols))
            for name, symbols in self.sources.items()
            if not used.isdisjoint(
                part for _, symbol in _elements(symbols) for part in _symbols(symbol)
            )
        ]

    def _named(self, text: str) -> str:
        """The text with the names that the program has, as far as the language lets them."""
        language = self.language
        folded = str.casefold if language.folds else str
        taken = {folded(word) for word in {*re.findall(r"[^\W\d]\w*", text), *language.words}}
        final = {}
        for k, wanted in enumerate(self.wanted):
            base = chosen = language.identifier(wanted)
            tries = 1
            while folded(chosen) in taken:
                chosen, tries = f"{base}_" if tries == 1 else f"{base}_{tries}", tries + 1
            taken.add(folded(chosen))
            final[f"v{k}q"] = chosen
        return re.sub(r"v\d+q", lambda found: final.get(found[0], found[0]), text)


def _elements(form: Any) -> Iterable[tuple[tuple[int, ...], Any]]:
    """The scalar forms in one, with their indices."""
    return (
        [(index, form[index]) for index in np.ndindex(*form.shape)]
        if isinstance(form, np.ndarray)
        else [((), form)]
    )


def _symbols(symbol: Any) -> list[Any]:
    """The symbols that an element of a variable is made of: itself, or those of its real and its
    imaginary part."""
    return (
        [symbol]
        if isinstance(symbol, sympy.Symbol)
        else sorted(symbol.free_symbols, key=str, reverse=True)
    )
