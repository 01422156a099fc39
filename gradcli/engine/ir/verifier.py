"""The former place of what `scalars.py` has, for files that import it from here."""

from .scalars import CHOICES as CHOICES
from .scalars import CHOOSE as CHOOSE
from .scalars import RESTATED as RESTATED
from .scalars import WHERE as WHERE
