"""The firms of the tests of launched vertical runs."""

from __future__ import annotations

from tests.launch.vertical_linear.conftest import firms, key_files, make_firms, three_firms, weights_of

__all__ = ["firms", "key_files", "make_firms", "three_firms", "weights_of"]
