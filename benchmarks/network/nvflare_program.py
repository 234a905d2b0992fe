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
    recipe, pattern, played = _recipes()[way](place, asked)
    sites = asked["sites"]
    with RoundWatch(place, pattern.format(site=sites[0])) as watch:
        start = time.time()
        recipe.run(SimEnv(clients=sites, workspace_root=str(place / "workspace")))
        seconds = time.time() - start
    told = {"seconds": seconds, "ends": watch.told()}
    if played is not None:
        told["outcomes"] = {role: one.outcome for role, one in played.outcomes().items()}
        told["run_id"] = played.run_id
    (place / "told.json").write_text(json.dumps(told))


def _recipes() -> dict[str, Any]:
    return {"plain": _plain, "protected": _protected, "job": _job}


def _plain(place: Path, asked: dict[str, Any]) -> tuple[Any, str, None]:
    """(the recipe, where a site notes its rounds, what tells how Hekat's roles ended)."""
    from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe

    recipe = NumpyFedAvgRecipe(
        name="app",
        initial_ckpt=str(place / "first.npy"),
        min_clients=len(asked["sites"]),
        num_rounds=asked["rounds"] + 1,
        train_script=str(BENCHMARKS / "network" / "nvflare_client.py"),
        train_args=f"{BENCHMARKS} {place} {asked['hidden']} {asked['batch_rows']} {asked['learning_rate']}",
    )
    return recipe, "{site}.rounds", None


def _protected(place: Path, asked: dict[str, Any]) -> tuple[Any, str, Any]:
    import hekat.nvflare

    recipe, pattern, _ = _plain(place, asked)
    return recipe, pattern, hekat.nvflare.protect(recipe, parties=asked["sites"], runs=place / "runs")


def _job(place: Path, asked: dict[str, Any]) -> tuple[Any, str, Any]:
    from hekat.nvflare import HekatRecipe

    recipe = HekatRecipe(place / "job.toml", runs=place / "runs")
    return recipe, "runs/{site}/*/events.jsonl", recipe


if __name__ == "__main__":
    sys.path.insert(0, str(BENCHMARKS))
    main(Path(sys.argv[1]), sys.argv[2])
