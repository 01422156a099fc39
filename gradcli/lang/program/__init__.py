"""The resolved program: what `resolve` makes of the syntax tree and the engine compiles. No strings
decide anything here.

Names have become slots of a frame, operators and builtins have become `Op`s, calls of builtins are
bound to their signatures. Every node has the span that errors and trace records point at.

Frames. A frame is a flat row of slots: one for each name of the function (or of the top level). A
name that an inner function captures is a *cell*: its slot holds a box that both frames share.
`Function.captures` says which slots of the enclosing frame are handed to a new function value, and
into which of its own slots they go.
"""

from .expressions import *  # noqa: F403
from .nodes import *  # noqa: F403
from .statements import *  # noqa: F403
