"""What tests of faults share: the process that roles are forked from."""

from tests.launch.conftest import fork

__all__ = ["fork"]
