"""A site: trains what it is sent, as any app does; each task to train but the first is a line in SITE.rounds."""

import json

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from dense.asked import ASKED, IS_PROTECTED, PLACE


def mods():
    if not IS_PROTECTED:
        return []
    import hekat.flower

    return [hekat.flower.protected]


app = ClientApp(mods=mods())


@app.train()
def train_here(message: Message, context: Context) -> Message:
    from network.mlp_work import MlpWork, load_rows

    site = str(context.node_config["party"])
    lines = PLACE / f"{site}.rounds"
    number = lines.read_text().count("\n") + 1 if lines.exists() else 1
    vector = message.content["arrays"]["model"].numpy()
    np.save(PLACE / f"{site}.npy", vector)
    with lines.open("a") as file:
        file.write(json.dumps({"event": "round" if number > 1 else "begun", "round": number}) + "\n")
    work = MlpWork(ASKED["hidden"], ASKED["batch_rows"], ASKED["learning_rate"])
    trained = work.train(vector, *load_rows(PLACE, site), site, number)
    records = {"arrays": ArrayRecord({"model": Array(trained)}), "metrics": MetricRecord({"num-examples": 1})}
    return Message(content=RecordDict(records), reply_to=message)


@app.evaluate()
def evaluate_here(message: Message, context: Context) -> Message:
    from network.mlp_work import MlpWork, load_rows

    work = MlpWork(ASKED["hidden"], ASKED["batch_rows"], ASKED["learning_rate"])
    share = work.right_share(
        message.content["arrays"]["model"].numpy(), *load_rows(PLACE, str(context.node_config["party"]))
    )
    metrics = MetricRecord({"num-examples": 1, "accuracy": share})
    return Message(content=RecordDict({"metrics": metrics}), reply_to=message)
