"""What the server runs: FedAvg, protected."""

from flwr.app import Array, ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from hekat.flower import Protected
from wards.task import make_model

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    strategy = Protected(FedAvg(), parties=["northside", "lakeview", "county"])
    start = ArrayRecord({name: Array(values) for name, values in make_model().items()})
    result = strategy.start(grid, initial_arrays=start, num_rounds=int(context.run_config["rounds"]), timeout=300)
    print(f"the server's result: {len(result.arrays)} arrays, metrics {result.evaluate_metrics_clientapp}")
