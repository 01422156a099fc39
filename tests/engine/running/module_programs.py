"""Modules that several tests make instances of."""

from __future__ import annotations

LINE = "module Line(a, b = 1.0) { var w = a; fn call(x) = w*x + b }\n"
