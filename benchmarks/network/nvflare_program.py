"""Runs one NVIDIA FLARE job in the engine's simulator, whose sites are processes, and tells when its rounds ended.

    nvflare_program.py PLACE WAY    with PLACE/asked.json; the answer is PLACE/told.json

Ways: `plain` is the engine's own NumpyFedAvgRecipe; `protected` is the same recipe after protect(recipe, ...); `job` is
HekatRecipe with the job file PLACE/job.toml, for work that does the same or for any other protocol.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[1]


def main(place: Path, way: str) -> None:
    from nvflare.recipe.sim_env import SimEnv

    from network.round_watch import RoundWatch

    asked = json.loads((place / "asked.json").read_text())
    recipe, pattern = _recipes()[way](place, asked)
    sites = asked["sites"]
    with RoundWatch(place, pattern.format(site=sites[0])) as watch:
        start = time.time()
        recipe.run(SimEnv(clients=sites, workspace_root=str(place / "workspace")))
        seconds = time.time() - start
    told = {"seconds": seconds, "ends": watch.told()}
    if way == "job":
        told["outcomes"] = {role: one.outcome for role, one in recipe.outcomes().items()}
        told["run_id"] = recipe.run_id
    (place / "told.json").write_text(json.dumps(told))


def _recipes() -> dict[str, Any]:
    return {"plain": _plain, "protected": _protected, "job": _job}


def _plain(place: Path, asked: dict[str, Any]) -> tuple[Any, str]:
    from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe

    recipe = NumpyFedAvgRecipe(
        name="app",
        initial_ckpt=str(place / "first.npy"),
        min_clients=len(asked["sites"]),
        num_rounds=asked["rounds"] + 1,
        train_script=str(BENCHMARKS / "network" / "nvflare_client.py"),
        train_args=f"{BENCHMARKS} {place} {asked['hidden']} {asked['batch_rows']} {asked['learning_rate']}",
    )
    return recipe, "{site}.rounds"


def _protected(place: Path, asked: dict[str, Any]) -> tuple[Any, str]:
    import hekat.nvflare

    recipe, pattern = _plain(place, asked)
    made = hekat.nvflare.protect(recipe, parties=asked["sites"])
    return made or recipe, pattern


def _job(place: Path, asked: dict[str, Any]) -> tuple[Any, str]:
    from hekat.nvflare import HekatRecipe

    return HekatRecipe(place / "job.toml", runs=place / "runs"), "runs/{site}/*/events.jsonl"


if __name__ == "__main__":
    sys.path.insert(0, str(BENCHMARKS))
    main(Path(sys.argv[1]), sys.argv[2])
