"""An app of NVIDIA FLARE as it was, and two lines of Hekat: three sites train, and the server sees no model.

python examples/protect_nvflare/app.py
"""

import tempfile
from pathlib import Path

import numpy as np
from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe
from nvflare.recipe.sim_env import SimEnv

from hekat.nvflare import protect

SITES = ["north", "lake", "county"]


def main(place):
    recipe = NumpyFedAvgRecipe(
        name="app",
        min_clients=3,
        num_rounds=3,
        model=[0.0] * 4,
        train_script=str(Path(__file__).with_name("client.py")),
    )
    app = protect(recipe, parties=SITES, runs=place / "runs")
    recipe.run(SimEnv(clients=SITES, workspace_root=str(place / "workspace")))
    for role, outcome in app.outcomes().items():
        print(f"{role:<11} {outcome.outcome} {outcome.kind} {outcome.error}".rstrip())
    models = [np.load(app.folder_of(site) / "model.npz")["numpy_key"] for site in SITES]
    print("every site has the model", models[0].round(3), all(np.array_equal(models[0], one) for one in models))
    seen = np.load(next((place / "workspace").rglob("server.npy")))
    print("the server has         ", seen)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="hekat-protect-") as folder:
        main(Path(folder))
