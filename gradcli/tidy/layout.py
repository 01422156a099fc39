"""The style: what stands on a line, and where a line ends that is too long.

Operators but `**` stand between blanks, and so does the `=` of a keyword. A line that is too long
ends inside brackets, or after an operator or an assignment sign. What stands in brackets goes on a
line of its own, or on one line an element, with a comma after the last; a comma that was written
there keeps it so. Of numbers as many stand on a line as fit, of a matrix a row. Statements stay on
the lines that they were written on, where they fit there.
"""

from __future__ import annotations

from .document import HARD, LINE, SETTLE, SOFT, Document, IfBroken, Indent, concat, group
from .lexemes import Lexeme
from .shapes import is_, is_comprehension, is_function, is_group, is_hugged, is_number, is_row
from .spacing import chain, gap, takes_comma
from .structure import Block, Body, Bracket, Element, Item, Statement, first_lexeme

_ASSIGNS = ("=", "AUGMENT", "UPDATE")
_PREFIXES = ("return", "print", "output", "expect", "watch", "if", "elif", "while")
_BLANKS = (2, 1)  # that are kept between statements: of the program, in blocks
_FURTHER = 8  # than the line it goes on: a condition, so that it stands apart from the block


def layout(body: Body) -> Document:
    """The document of a program."""
    document = _Layout().body(body, 0)
    return [*document, HARD] if document else []


def _notes(lexeme: Lexeme) -> list[Document]:
    """The comments before a token, which are then taken."""
    notes: list[Document] = [*lexeme.comments]
    lexeme.comments.clear()
    return notes


def _ends(blanks: int, limit: int, above: list[Document]) -> list[Document]:
    """The ends of a line and of the empty lines below it, where there is anything above."""
    return [HARD] * (1 + min(blanks, limit)) if above else []


def _runs(statements: list[Statement]) -> list[list[Statement]]:
    """Statements that stand on one line together."""
    runs: list[list[Statement]] = []
    for statement in statements:
        if statement.joined:
            runs[-1].append(statement)
        else:
            runs.append([statement])
    return runs


def _joined(statements: list[Document]) -> Document:
    """Statements on one line where they fit, else each on its own."""
    document = statements[:1]
    for statement in statements[1:]:
        document += [IfBroken("", ";"), LINE, statement]
    return group(document) if len(statements) > 1 else document


def _elements(items: list[Item]) -> list[Element]:
    """A comma list without brackets."""
    elements = [Element([])]
    for item in items:
        if isinstance(item, Lexeme) and item.kind == ",":
            elements[-1].comma = item
            elements.append(Element([]))
        else:
            elements[-1].items.append(item)
    return elements


def _has_if(items: list[Item]) -> bool:
    """Whether an expression is a conditional."""
    return any(k and is_(item, "if") for k, item in enumerate(items))


def _filled(separated: list[Document]) -> list[Document]:
    """Elements with commas between them, as many on a line as fit."""
    pairs = zip(separated[2::3], separated[3::3], strict=True)  # after `x,` a line and the next
    filled = separated[:1]
    for line, element in pairs:
        filled += [",", group([line, element])]
    return filled


class _Layout:
    """Makes documents: a method for each kind of text."""

    # ---- statements ----

    def body(self, body: Body, depth: int) -> list[Document]:
        """The statements of a program or a block, without the ends of the first and the last
        line."""
        document: list[Document] = []
        limit = _BLANKS[min(depth, 1)]
        for run in _runs(body.statements):
            for comment in run[0].leading:
                document += [*_ends(comment.blanks, limit, document), comment.text]
            document += _ends(run[0].blanks, limit, document)
            document.append(_joined([self.statement(item.items, depth) for item in run]))
            document.append(SETTLE)
            if run[-1].trailing is not None:
                document.append(run[-1].trailing)
        for comment in body.ending:
            document += [*_ends(comment.blanks, limit, document), comment.text]
        return document

    def statement(self, items: list[Item], depth: int) -> Document:
        """A statement: its blocks all stand on one line, or none does. The block of a function
        without a name belongs to an expression."""
        blocks: list[Block] = []
        document: list[Document] = []
        start = 0
        for k, item in enumerate(items):
            if isinstance(item, Block) and not is_function(items[max(0, k - 2) :]):
                blocks.append(item)
                document += [self.words(items[start:k], _FURTHER), " ", self.block(item, depth + 1)]
                start = k + 1
                if start < len(items):
                    notes = _notes(first_lexeme(items[start:]))
                    document += [*notes, HARD] if notes else [" "]
        if start < len(items):
            document.append(self.words(items[start:], 4))
        is_broken = not all(block.inline for block in blocks)
        return group(document, is_broken) if blocks else document

    def block(self, block: Block, depth: int) -> Document:
        """`{ … }`, to stand in a group that is broken unless it is inline."""
        body = block.body
        if not (body.statements or body.ending or body.opening):
            return "{ }"
        opening: list[Document] = [body.opening] if body.opening else []
        return ["{", *opening, Indent([LINE, *self.body(body, depth)]), LINE, "}"]

    def inner_block(self, block: Block) -> Document:
        """The block of a function without a name."""
        return group(self.block(block, 1), not block.inline)

    def words(self, items: list[Item], by: int) -> Document:
        """A statement without its blocks, or what stands before one of them. Where it goes on in
        another line, that begins `by` columns further right."""
        signs = [k for k, item in enumerate(items) if is_(item, *_ASSIGNS)]
        k = signs[0] if signs else 0
        if k > 0 and not is_function(items[max(0, k - 2) :]):
            return [self.target(items[:k]), " ", self.item(items[k]), self.value(items[k + 1 :])]
        if is_(items[0], "for"):
            k = next(k for k, item in enumerate(items) if is_(item, "in"))
            return [self.target(items[:k]), " in ", group(self.listed(items[k + 1 :], by))]
        if is_(items[0], *_PREFIXES) and len(items) > 1:
            is_call = is_(items[0], "print", "watch") and len(items) == 2 and is_group(items[1])
            listed = self.listed(items[1:], by)
            return [self.item(items[0]), "" if is_call else " ", group(listed)]
        return group(self.listed(items, by))

    def target(self, items: list[Item]) -> Document:
        """What stands before an assignment sign."""
        first, *others = _elements(items)
        document: list[Document] = []
        for element in others:
            document += [
                ",",
                *_notes(first_lexeme(element.items)),
                LINE,
                self.beside(element.items),
            ]
        return group([self.beside(first.items), Indent(document)])

    def value(self, items: list[Item], in_brackets: bool = False) -> Document:
        """What follows an assignment sign. Where it has operators, and needs more than one line,
        the first begins after the sign."""
        notes = _notes(first_lexeme(items))
        is_divided = not is_function(items) and (_has_if(items) or bool(chain(items).signs))
        if notes or (is_divided and len(_elements(items)) == 1):
            return group(Indent([*notes, LINE, group(self.listed(items, 0, in_brackets))]))
        return [" ", group(self.listed(items, 4, in_brackets))]

    def listed(self, items: list[Item], by: int, in_brackets: bool = False) -> list[Document]:
        """An expression, or a comma list of some."""
        first, *others = _elements(items)
        document: list[Document] = []
        for element in (first, *others):
            notes = _notes(first_lexeme(element.items)) if element is not first else []
            start: list[Document] = [*notes, LINE] if element is not first else []
            text = self.expression(element.items, by, in_brackets)
            document.append([*start, text, "," if element.comma else ""])
        return [document[0], Indent(document[1:], by)] if others else [document[0]]

    # ---- expressions ----

    def expression(self, items: list[Item], by: int, in_brackets: bool) -> Document:
        """An expression. Its lines end after operators, in brackets also before the words of a
        conditional; all but the first begin `by` columns further right."""
        if is_function(items):
            return self.function(items, in_brackets)
        if _has_if(items):
            return self.conditional(items, by, in_brackets)
        parts, signs = chain(items)
        if not signs:
            return self.beside(items)
        others: list[Document] = []
        for sign, part in zip(signs, parts[1:], strict=True):
            others += [f" {sign.text}", *_notes(first_lexeme(part)), LINE]
            others.append(group(self.expression(part, 4, in_brackets)))
        return [group(self.expression(parts[0], 4, in_brackets)), Indent(others, by)]

    def conditional(self, items: list[Item], by: int, in_brackets: bool) -> Document:
        """`then if condition else otherwise`. Outside brackets a line can't end at its words."""
        start = next(k for k, item in enumerate(items) if k and is_(item, "if"))
        middle = next(k for k, item in enumerate(items) if is_(item, "else"))
        document: list[Document] = [group(self.expression(items[:start], 4, in_brackets))]
        for k, part in ((start, items[start + 1 : middle]), (middle, items[middle + 1 :])):
            notes = _notes(first_lexeme(items[k:]))
            inner = self.expression(part, by if _has_if(part) else 4, in_brackets)
            word = [*notes, LINE if in_brackets else " ", self.item(items[k]), " "]
            document.append(Indent([*word, inner if _has_if(part) else group(inner)], by))
        return document

    def function(self, items: list[Item], in_brackets: bool) -> Document:
        """`fn(c) = EXPR` or `fn(c) { … }`."""
        head = [self.item(items[0]), self.bracket(items[1], items[0])]
        body = items[2]
        if isinstance(body, Block):
            following = [" ", self.expression(items[3:], 4, in_brackets)] if items[3:] else []
            return [*head, " ", self.inner_block(body), *following]
        return [*head, " ", self.item(body), self.value(items[3:], in_brackets)]

    def beside(self, items: list[Item]) -> Document:
        """Items on a line, with the blanks between them."""
        document: list[Document] = []
        for k, item in enumerate(items):
            if k:
                document.append(gap(items, k))
            document += _notes(first_lexeme([item]))
            if isinstance(item, Bracket):
                document.append(self.bracket(item, items[k - 1] if k else None))
            elif isinstance(item, Block):
                document.append(self.inner_block(item))
            else:
                document.append(item.text)
        return concat(document)

    def item(self, item: Item) -> Document:
        """One token."""
        assert isinstance(item, Lexeme)
        return item.text

    # ---- brackets ----

    def bracket(self, item: Item, before: Item | None) -> Document:
        """`(…)`, `[…]` or a dict, behind `before`."""
        assert isinstance(item, Bracket)
        elements, kind = item.elements, item.open.kind
        start, end = item.open.text, item.close.text
        if not elements and not item.close.comments:
            return start + end
        if not elements:
            return group([start, Indent(_notes(item.close)), SOFT, end])
        if is_hugged(item):
            return concat([start, self.element(elements[0], kind), end])
        notes = _notes(first_lexeme(elements[0].items))
        ends = takes_comma(before, item) and not is_comprehension(elements[-1])
        comma = IfBroken(",", "") if ends else ""
        is_filled = kind == "[" and all(map(is_number, elements))  # while comments are still there
        separated = self.separated(elements, kind)
        inner: Document = [*separated, comma]
        if is_filled:
            inner = [*_filled(separated), comma]
        elif kind != "[" or not all(map(is_row, elements)):
            inner = group(inner, elements[-1].comma is not None)
        return group([start, Indent([*notes, SOFT, inner, *_notes(item.close)]), SOFT, end])

    def separated(self, elements: list[Element], kind: str) -> list[Document]:
        """Elements with commas between them, each perhaps on its own line."""
        document: list[Document] = []
        for k, element in enumerate(elements):
            if k:
                document += [",", *_notes(first_lexeme(element.items)), LINE]
            document.append(self.element(element, kind))
        return document

    def element(self, element: Element, kind: str) -> Document:
        """What stands between two commas in a bracket of a kind."""
        items = element.items
        if kind == "[" and any(is_(item, ":") for item in items):
            return self.slice(items)
        if is_comprehension(element):
            return self.comprehension(items)
        if len(items) > 2 and is_(items[0], "NAME", "STRING") and is_(items[1], "=", ":"):
            sign = " = " if is_(items[1], "=") else ": "
            return [self.item(items[0]), sign, group(self.expression(items[2:], 4, True))]
        return self.expression(items, 0, True)

    def comprehension(self, items: list[Item]) -> Document:
        """`item for names in iterable if condition`, each on its own line where one is too long."""
        starts = [0]
        for k, item in enumerate(items):
            if is_(item, "for") or (is_(item, "if") and len(starts) > 1):
                starts.append(k)
        document: list[Document] = []
        for start, end in zip(starts, [*starts[1:], len(items)], strict=True):
            if start == 0:
                document.append(group(self.expression(items[:end], 4, True)))
                continue
            word, part = self.item(items[start]), items[start + 1 : end]
            document += [*_notes(first_lexeme(items[start:])), LINE, word, " "]
            if is_(items[start], "for"):
                k = next(k for k, item in enumerate(part) if is_(item, "in"))
                document += [self.target(part[:k]), " in "]
                part = part[k + 1 :]
            document.append(group(self.expression(part, 4, True)))
        return document

    def slice(self, items: list[Item]) -> Document:
        """`start:stop:step`."""
        document: list[Document] = []
        start = 0
        for k, item in enumerate([*items, None]):
            if item is None or is_(item, ":"):
                if k > start:
                    document.append(group(self.expression(items[start:k], 4, True)))
                document.append(self.item(item) if item else "")
                start = k + 1
        return document
