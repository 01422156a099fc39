"""Pages of HTML that stand by themselves: no script, nothing from elsewhere. Elements are built and
not written as text, so everything is escaped."""

from __future__ import annotations

from xml.etree.ElementTree import Element, tostring

from ..diagnostics import printable

Content = Element | str | None


def tag(name: str, /, *children: Content, **attributes: object) -> Element:
    """An element with these children, of which None is left out. `class_` is the attribute `class`,
    `data_label` is `data-label`; one that is None is left out."""
    element = Element(name)
    for key, value in attributes.items():
        if value is not None:
            element.set(key.rstrip("_").replace("_", "-"), printable(str(value)))
    for child in children:
        if isinstance(child, str):
            _add_text(element, printable(child))
        elif child is not None:
            element.append(child)
    return element


def _add_text(element: Element, text: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text


def fragment(element: Element) -> str:
    """An element as HTML."""
    return tostring(element, encoding="unicode", method="html")


def document(title: str, style: str, *content: Content) -> str:
    """A page with this style sheet. It may load nothing and run nothing, whatever is in it."""
    sheet = Element("style")
    sheet.text = style  # ours, and on many lines
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag(
            "meta",
            **{"http-equiv": "Content-Security-Policy"},
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        sheet,
    )
    page = tag("html", head, tag("body", *content), lang="en")
    return f"<!DOCTYPE html>\n{fragment(page)}\n"
