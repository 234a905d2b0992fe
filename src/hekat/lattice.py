"""Lattice aggregation, under the name users call it by: `hekat.lattice.choose_parameters(16, 10)`."""

from hekat.scheme.lattice import *  # noqa: F403
from hekat.scheme.lattice import __all__ as __all__
