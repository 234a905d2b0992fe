"""A protected app between start-up kits, as in production: bound keys, approved job, mutual TLS."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.launch.nvflare.installed_engine import one_engine_at_a_time, run_apart, skip_where_ports_are_taken

__all__ = ["one_engine_at_a_time"]  # a fixture of all tests here

EXAMPLES = Path(__file__).parents[4] / "examples"

pytest.importorskip("nvflare", reason="needs hekat[nvflare]")
pytestmark = [pytest.mark.long, pytest.mark.waits]

# What the operators of three sites do, by the words of examples/hospitals_nvflare.py, with an app in the job's place.
PROGRAM = """
import json, os, sys
from pathlib import Path
place, examples = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(examples))
import hospitals_nvflare as operators
sites, poc, names = place / "sites", place / "poc", ["north", "lake", "county"]
operators.HOSPITALS = names
os.environ |= {"NVFLARE_POC_WORKSPACE": str(poc)}
keys = "\\n".join(operators.make_site(sites, role) for role in (*names, "aggregator"))
job = place / "job.toml"
heads = ["format = 2", 'name = "x-rays"', 'protocol = "averaging"', f"parties = {json.dumps(names)}", "rounds = 3"]
job.write_text("\\n".join([*heads, "weight_max = 1000", "[party_keys]", keys, ""]))
for role in (*names, "aggregator"):
    with (sites / role / "site.toml").open("a") as file:
        file.write('[policy]\\nprotocols = ["averaging"]\\n')
for role in names:
    operators.command("hekat", "job", "approve", job, "--site", sites / role / "site.toml")
operators.command("nvflare", "poc", "prepare", "-c", *names, "--force")
kits = next(poc.glob("*/prod_00"))
for role, kit in {**{role: role for role in names}, "aggregator": "server"}.items():
    operators.connect(kits / kit, sites / role)
try:
    operators.command("nvflare", "poc", "start", "-ex", "admin@nvidia.com")
    from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe
    from nvflare.recipe.prod_env import ProdEnv
    from hekat.nvflare import protect
    script = str(examples / "protect_nvflare" / "client.py")
    recipe = NumpyFedAvgRecipe(name="x-rays", min_clients=3, num_rounds=3, model=[0.0] * 4, train_script=script)
    app = protect(recipe, job=job)
    env = ProdEnv(str(kits / "admin@nvidia.com"), login_timeout=operators.COMES_UP_WITHIN_S)
    run = recipe.run(env)
    outcomes = operators.wait_for_outcomes(sites, app.run_id)
    run.get_result(timeout=60)
finally:
    operators.stop(kits)
(place / "told.json").write_text(json.dumps({"run_id": app.run_id, "kits": str(kits), "outcomes": outcomes}))
"""


def test_three_sites_protect_an_app_with_bound_keys_over_mutual_tls(tmp_path: Path) -> None:
    skip_where_ports_are_taken()
    environment = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = run_apart([sys.executable, "-c", PROGRAM, str(tmp_path), str(EXAMPLES)], environment, timeout_s=280)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    told = json.loads((tmp_path / "told.json").read_text())
    ended = {role: (one["outcome"], one["error"]) for role, one in told["outcomes"].items()}
    assert ended == dict.fromkeys((*ended,), ("finished", ""))
    parties = [role for role in ended if role != "aggregator"]
    assert len(parties) == 3
    models = [np.load(tmp_path / "sites" / role / "runs" / told["run_id"] / "model.npz") for role in parties]
    for model in models:
        assert model["numpy_key"].any()
        np.testing.assert_array_equal(model["numpy_key"], models[0]["numpy_key"])
    # All that the server has of the job: its logs, and the model that it persisted.
    server = Path(told["kits"]) / "server"
    kept = b"".join(path.read_bytes() for path in server.rglob("*") if path.is_file())
    weights = np.asarray(models[0]["numpy_key"])
    for dtype in (np.float32, np.float64):
        assert weights.astype(dtype).tobytes()[:16] not in kept
    assert b"hekat" in kept
