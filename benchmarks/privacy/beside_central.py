"""Jobs with differential privacy beside central DP-SGD at the same epsilon: how much accuracy does sharing cost?

Each job has five parties (credit: three), secret coins for rows, and the epsilon that zCDP and Poisson coins prove
against the reader of the sums, `colluders` = 1. Central DP-SGD has the least noise that loss distributions allow at
that epsilon. Both have the same model, rounds, rate, clip and rows. Accuracy is of the test rows, a mean over seeds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from hekat.launch.horizontal.run import run_job
from hekat.model import make_model
from hekat.run.horizontal.load_inputs import load_inputs
from measuring.record import print_rows, write_results
from privacy.central import Plan, central_noise, train_centrally
from training.data import load_mnist

NAMES = "abcdefgh"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with images/ and credit/")
    parser.add_argument("--only", default="", help="the data sets whose names hold this")
    parser.add_argument("--rows", type=int, default=0, help="training rows; 0: all")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 3.0, 8.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    rows = []
    for name, load, plan in (("MNIST", _mnist, _plan_mnist), ("credit", _credit, _plan_credit)):
        if options.only not in name:
            continue
        train, test = load(options.data)
        kept = np.random.default_rng(0).permutation(len(train[1]))[: options.rows or None]
        train = (train[0][kept], train[1][kept])
        for epsilon in options.epsilon:
            rows.append(measure(name, plan(epsilon), train, test, options.seeds))
            print(rows[-1], flush=True)
    print_rows(rows)
    if not options.no_write:
        print(write_results("privacy", rows))
    return 0


def _plan_mnist(epsilon: float) -> Plan:
    return Plan("logistic", (), 10, 100, 1.0, 1.0, 0.05, epsilon, 1e-5)


def _plan_credit(epsilon: float) -> Plan:
    return Plan("logistic", (), 2, 100, 0.5, 1.0, 0.05, epsilon, 1e-5)


def measure(name: str, plan: Plan, train: Any, test: Any, seeds: int) -> dict[str, Any]:
    """A row of figures: accuracies in per cent, noise multipliers, seconds of a job."""
    parties = 3 if name == "credit" else 5
    noise = central_noise(plan)
    central = [_accuracy(plan, train_centrally(plan, *train, noise=noise, seed=seed), test) for seed in range(seeds)]
    exact = _accuracy(plan, train_centrally(plan, *train, noise=0.0, seed=0), test)
    shared, multiplier, seconds = [], 0.0, 0.0
    for _ in range(seeds):
        with tempfile.TemporaryDirectory() as place:
            _write_job(Path(place), plan, train, test, parties)
            start = time.process_time()
            summary = run_job(load_inputs(Path(place) / "job.toml"), Path(place) / "runs").summary
            seconds += (time.process_time() - start) / seeds
        shared.append(100 * summary["results"][-1]["metrics"]["accuracy"])
        multiplier = summary["privacy"]["noise"]
    return {
        "data": name,
        "rows": len(train[1]),
        "parties": parties,
        "seeds": seeds,
        "epsilon": plan.epsilon,
        "exact": round(exact, 2),
        "central": round(float(np.mean(central)), 2),
        "central_spread": round(float(np.std(central)), 2),
        "shared": round(float(np.mean(shared)), 2),
        "shared_spread": round(float(np.std(shared)), 2),
        "points": round(float(np.mean(shared) - np.mean(central)), 2),
        "noise_central": round(noise, 3),
        "noise_shared": round(multiplier, 3),
        "job_cpu_s": round(seconds, 1),
    }


def _accuracy(plan: Plan, parameters: dict[str, np.ndarray], test: Any) -> float:
    model = make_model(plan.model, test[0].shape[1], plan.class_count, hidden=plan.hidden)
    return 100 * float((model.predict(parameters, test[0]) == test[1]).mean())


def _mnist(folder: Path) -> tuple[Any, Any]:
    split = load_mnist(folder)
    flat = [part.numpy().reshape(len(part), -1).astype(np.float64) for part in (split.train_inputs, split.test_inputs)]
    return (flat[0], split.train_labels.numpy()), (flat[1], split.test_labels.numpy())


def _credit(folder: Path) -> tuple[Any, Any]:
    def read(name: str) -> np.ndarray:
        return np.loadtxt(folder / "credit" / f"default_credit_homo_{name}.csv", delimiter=",", skiprows=1)

    train, test = np.concatenate([read(name) for name in ("guest", "host_1", "host_2")]), read("test")
    return (train[:, 2:], train[:, 1].astype(np.int64)), (test[:, 2:], test[:, 1].astype(np.int64))


def _write_job(place: Path, plan: Plan, train: Any, test: Any, party_count: int) -> None:
    names, count = NAMES[:party_count], len(train[1])
    classes = [str(number) for number in range(plan.class_count)]
    (place / "job.toml").write_text(
        f"""format = 2
name = "privacy"
protocol = "horizontal"
parties = {list(names)}
aggregator = "hub"
data = "rows"
test_data = "test"
classes = {classes}
weight_max = {count}
[model]
name = "{plan.model}"
hidden = {list(plan.hidden)}
seed = 1
[training]
rounds = {plan.rounds}
learning_rate = {plan.learning_rate}
optimiser = "momentum"
[privacy]
unit = "row"
clip = {plan.clip}
epsilon = {plan.epsilon}
delta = {plan.delta}
divisor = {round(plan.sampling * count)}
batches = "poisson-secret"
sampling = {plan.sampling}
colluders = 1
"""
    )
    site = ["format = 1", '[policy]\nprotections = ["lattice"]', f"max_rounds = {plan.rounds}"]
    for name, part in zip(names, np.array_split(np.arange(count), party_count), strict=True):
        np.savez(place / f"{name}.npz", X=train[0][part], y=train[1][part])
        budget = f'data_set = "{name}"\nepsilon = {2 * plan.epsilon}\ndelta = {plan.delta}\ncolluders = 1'
        site.append(f'[party.{name}]\nstate = "state/{name}"\n[party.{name}.privacy]\n{budget}')
        site.append(f'[party.{name}.data.rows]\nsource = "npz"\npath = "{name}.npz"')
    np.savez(place / "test.npz", X=test[0], y=test[1])
    site.append('[common_data.test]\nsource = "npz"\npath = "test.npz"')
    (place / "site.toml").write_text("\n".join(site) + "\n")


if __name__ == "__main__":
    sys.exit(main())
