"""Runs `hekat run` on a job and tells when its rounds ended: watched_run.py PLACE HEKAT."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def main(place: Path, hekat: str) -> None:
    from network.round_watch import RoundWatch

    with RoundWatch(place, "runs/*/events.jsonl") as watch:
        subprocess.run([hekat, "run", str(place / "job.toml"), "--runs", str(place / "runs")], check=True)
    (place / "told.json").write_text(json.dumps({"ends": watch.told()}))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main(Path(sys.argv[1]), sys.argv[2])
