"""The server: FedAvg, with Hekat around it where the benchmark asks for it."""

import numpy as np
from flwr.app import Array, ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from dense.asked import ASKED, IS_PROTECTED, PLACE

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    sites = ASKED["sites"]
    strategy = FedAvg(min_available_nodes=len(sites), min_train_nodes=len(sites), min_evaluate_nodes=len(sites))
    if IS_PROTECTED:
        import hekat.flower

        strategy = hekat.flower.Protected(strategy, parties=sites)
    start = ArrayRecord({"model": Array(np.load(PLACE / "first.npy"))})
    strategy.start(grid, initial_arrays=start, num_rounds=ASKED["rounds"] + 1, timeout=600)
