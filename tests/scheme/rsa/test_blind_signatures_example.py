"""The example that a tutorial shows runs as it stands."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "blind_signatures.py"


def test_example_finds_the_shared_ids():
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['grace', 'ada']\n"
