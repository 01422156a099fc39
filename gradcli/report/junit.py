"""JUnit's XML: suites of test cases, with their counts."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ..diagnostics import printable, printable_lines

_COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def document(root: Element) -> str:
    """The suites below `root` as XML, with how many cases they have, and how many failed."""
    for suite in root:
        cases = list(suite)
        suite.set("tests", str(len(cases)))
        for attribute, tag in (
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def case_of(suite: Element, file: str, name: str) -> Element:
    """A new test case of a suite."""
    return SubElement(suite, "testcase", classname=valid(file), name=valid(name))


def add(case: Element, tag: str, message: str, text: str) -> None:
    """Adds a `failure`, an `error` or `skipped` to a test case."""
    inner = SubElement(case, tag, message=valid(message))
    if tag != "skipped":
        inner.set("type", tag)
    inner.text = _NEVER.sub("\ufffd", printable_lines(text)) or None


_NEVER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not even escaped


def valid(text: str) -> str:
    """A line of text as XML can hold it."""
    return _NEVER.sub("\ufffd", printable(text))
