"""The syntax tree: what the text says, one node a construct, each with its span.

Spans are left out of comparisons, so two spellings of one program are equal. Long chains are flat
(`a + b + c` is one `Arithmetic`), so that nothing that walks the tree needs a deep stack. `depth`
is the height of the tree below a node; the parser refuses more than `MAX_DEPTH`. Comparing, hashing
and printing nodes recurse: do it only where the depth is known to be small.
"""

from .expressions import *  # noqa: F403
from .nodes import *  # noqa: F403
from .statements import *  # noqa: F403
