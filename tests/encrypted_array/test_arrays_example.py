"""The example that a tutorial shows runs as it stands."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "arrays.py"


@pytest.mark.long
def test_example_prints_what_its_comments_promise():
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    array, answer, votes = done.stdout.splitlines()
    assert "3072-bit key" in array
    assert answer == "[2.135 2.205]"
    assert votes == "[60 62 64 66 68] from 2 ciphertexts"
