"""What each hospital's SuperNode runs: the code of any Flower app, and one mod."""

from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from hekat.flower import protected
from wards.task import accuracy_of, load_rows, loss_of, train

app = ClientApp(mods=[protected])


def model_of(message):
    return {name: array.numpy() for name, array in message.content["arrays"].items()}


@app.train()
def train_here(message: Message, context: Context) -> Message:
    (features, labels), _ = load_rows(int(context.node_config["hospital"]))
    rate = float(context.run_config["learning-rate"])
    model, loss = train(model_of(message), features, labels, rate)
    records = {
        "arrays": ArrayRecord({name: Array(values) for name, values in model.items()}),
        "metrics": MetricRecord({"num-examples": len(labels), "train-loss": loss}),
    }
    return Message(content=RecordDict(records), reply_to=message)


@app.evaluate()
def evaluate_here(message: Message, context: Context) -> Message:
    _, (features, labels) = load_rows(int(context.node_config["hospital"]))
    model = model_of(message)
    metrics = {
        "num-examples": len(labels),
        "loss": loss_of(model, features, labels),
        "accuracy": accuracy_of(model, features, labels),
    }
    return Message(content=RecordDict({"metrics": MetricRecord(metrics)}), reply_to=message)
