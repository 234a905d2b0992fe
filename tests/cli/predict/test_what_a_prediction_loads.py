"""A joint prediction of a few rows is a short process: it loads nothing that it has no use for."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
import hekat.cli.main
import hekat.cli.predict.with_parts
from hekat.model.metrics import evaluate_probabilities
assert "auc" in evaluate_probabilities(np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([1, 0]))
unused = {
    "numpy.ma", "rich", "scipy", "pandas", "hekat.cli.predict.horizontal",
    "hekat.protocol.vertical_linear.prediction.predict_among_many", "hekat.protocol.vertical_linear.roles",
}
print(sorted(unused & set(sys.modules)))
"""


def test_what_it_has_no_use_for_is_not_loaded() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
