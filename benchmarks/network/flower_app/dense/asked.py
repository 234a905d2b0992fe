"""What the benchmark asks of the app: BENCH_PLACE names the folder, BENCH_CODE where local work is imported from."""

import json
import os
import sys
from pathlib import Path

PLACE = Path(os.environ["BENCH_PLACE"])
ASKED = json.loads((PLACE / "asked.json").read_text())
IS_PROTECTED = ASKED["way"] == "protected"
sys.path.insert(0, os.environ["BENCH_CODE"])
