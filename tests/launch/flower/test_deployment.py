"""The demo as users run it: a SuperLink, three SuperNodes, three party processes; and what the server could find."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from hekat.state.model_file import load_model

ROOT = Path(__file__).parents[3]
HOSPITALS = ("northside", "lakeview", "county")
ROUNDS = 2
LEARNING_RATE = 0.5

pytest.importorskip("flwr", reason="needs hekat[flower]")
pytestmark = [pytest.mark.long, pytest.mark.waits, pytest.mark.timeout(1500)]


def _task() -> ModuleType:
    path = ROOT / "examples" / "flower_hospitals" / "app" / "wards" / "task.py"
    spec = importlib.util.spec_from_file_location("wards_task", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_three_supernodes_train_the_mean_of_plain_fedavg_and_the_server_finds_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "KEEP": str(tmp_path), "ROUNDS": str(ROUNDS)}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "hospitals_flower.py")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1400,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 arrays, metrics {}" in done.stdout

    task, planted = _task(), []
    model = task.make_model()
    for _ in range(ROUNDS):
        trained = {}
        for number, hospital in enumerate(HOSPITALS):
            (features, labels), _ = task.load_rows(number)
            trained[hospital] = (*task.train(model, features, labels, LEARNING_RATE), len(labels))
            planted += [values.tobytes() for values in trained[hospital][0].values() if values.size > 1]
        total = sum(count for _, _, count in trained.values())
        model = {
            name: sum(one[name].astype(float) * count for one, _, count in trained.values()) / total for name in model
        }
        model = {name: values.astype(np.float32) for name, values in model.items()}
        planted.append(model["weight"].tobytes())
    for hospital in HOSPITALS:
        (path,) = (tmp_path / "sites" / hospital / "runs").glob("*/model.npz")
        for name, values in load_model(path)[0].items():
            # Bounded by the rounding of 16 bits in [-4, 4] at weights of up to 256, in each round.
            np.testing.assert_allclose(values, model[name], atol=1e-3)

    sites = tmp_path / "sites"
    servers = [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and not any((sites / one) in path.parents for one in HOSPITALS)
    ]
    assert any(path.name == "superlink.db" and path.stat().st_size for path in servers)
    for path in servers:
        content = path.read_bytes()
        assert not any(secret in content for secret in planted), path
        assert not re.search(rb"num-examples\W{1,4}(100|150|200)\b", content), path
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in left
