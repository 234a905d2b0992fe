"""Apps of NVIDIA FLARE with scripts of their own, protected, in the simulator: the mean, and what the server saw."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.launch.nvflare.installed_engine import one_engine_at_a_time, run_apart

__all__ = ["one_engine_at_a_time"]  # a fixture of all tests here

EXAMPLE = Path(__file__).parents[4] / "examples" / "protect_nvflare" / "app.py"
SITES = ("north", "lake", "county")
STEPS = {"north": 100, "lake": 200, "county": 300}

pytest.importorskip("nvflare", reason="needs hekat[nvflare]")
pytestmark = [pytest.mark.long, pytest.mark.waits]

# Every site moves its weights by a step of its own, half of it in each later round, and reports what must not leave.
NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 2)
        self.norm = torch.nn.BatchNorm1d(2)
        with torch.no_grad():
            self.layer.weight.fill_(0.5)
            self.layer.bias.fill_(0.25)
"""
CLIENT = """
import nvflare.client as flare
import torch
from nvflare.client.tracking import SummaryWriter

from net import Net

STEPS = {"north": 100, "lake": 200, "county": 300}

flare.init()
site, net, writer = flare.get_site_name(), Net(), SummaryWriter()
number = list(STEPS).index(site) + 1
while flare.is_running():
    model = flare.receive()
    net.load_state_dict({name: torch.as_tensor(value) for name, value in model.params.items()})
    step = 0.2712345 * number * 0.5**model.current_round
    held = net.state_dict().items()
    state = {name: value + (step if value.is_floating_point() else number) for name, value in held}
    # The script itself lies at the server, in the job: what is planted is put together here.
    writer.add_scalar("PLANTED" + "-LOG", float("0.777" + "123456"), 1)
    flare.send(flare.FLModel(
        params=state, metrics={"PLANTED" + "-METRIC": 0.123456789}, meta={"NUM_STEPS_CURRENT_ROUND": STEPS[site]}
    ))
"""
PROGRAM = """
import json, sys
from pathlib import Path
from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
from nvflare.recipe.sim_env import SimEnv
from hekat.nvflare import protect
place = Path(sys.argv[1])
sys.path.insert(0, str(place))
from net import Net
sites = ["north", "lake", "county"]
recipe = FedAvgRecipe(name="app", min_clients=3, num_rounds=2, model=Net(), train_script=str(place / "client.py"))
recipe.add_client_file(str(place / "net.py"))
app = protect(recipe, parties=sites, runs=place / "runs")
recipe.run(SimEnv(clients=sites, workspace_root=str(place / "workspace")))
outcomes = {role: [one.outcome, one.kind, one.error] for role, one in app.outcomes().items()}
(place / "told.json").write_text(json.dumps({"run_id": app.run_id, "outcomes": outcomes}))
"""


def run_program(place: Path, *words: str) -> str:
    environment = {**os.environ, "HOME": str(place), "TMPDIR": str(place)}
    done = run_apart([sys.executable, *words], environment, timeout_s=240)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_example_trains_and_its_server_has_zeros(tmp_path: Path) -> None:
    told = run_program(tmp_path, str(EXAMPLE))
    assert told.count(" finished") == 4
    assert "every site has the model" in told
    assert "True" in told.partition("every site has the model")[2].splitlines()[0]
    assert "[0. 0. 0. 0.]" in told.partition("the server has")[2]


def test_a_torch_app_has_the_weighted_mean_and_its_server_nothing(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "client.py").write_text(CLIENT)
    run_program(tmp_path, "-c", PROGRAM, str(tmp_path))
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["outcomes"] == {role: ["finished", "", ""] for role in (*SITES, "aggregator")}
    steps = [0.2712345 * (number + 1) for number in range(3)]
    moved = 1.5 * float(np.average(steps, weights=list(STEPS.values())))
    models = [np.load(tmp_path / "runs" / site / told["run_id"] / "model.npz") for site in SITES]
    for model in models:
        np.testing.assert_array_equal(model["layer.weight"], models[0]["layer.weight"])
        np.testing.assert_allclose(model["layer.weight"], np.full((2, 64), 0.5 + moved), atol=2e-4)
        np.testing.assert_allclose(model["norm.running_var"], np.full(2, 1.0 + moved), atol=2e-4)
    # All that the server kept: its folder, its logs and the model that it persisted.
    import torch

    server = tmp_path / "workspace" / "app" / "server"
    kept = b"".join(path.read_bytes() for path in server.rglob("*") if path.is_file())
    assert b"hekat.parcel" in kept or b"Aggregated 3/3 results" in kept
    weights = models[0]["layer.weight"].tobytes()
    for planted in (b"PLANTED-METRIC", b"PLANTED-LOG", b"0.777123", weights[:16], b"hekat-party-private"):
        assert planted not in kept
    persisted = torch.load(next(server.rglob("FL_global_model.pt")), weights_only=False)["model"]
    assert all(not torch.as_tensor(value).any() for value in persisted.values())
