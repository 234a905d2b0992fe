"""The training script of an NVIDIA FLARE app, as any user writes one: receive, train, send. Nothing in it encrypts.

    nvflare_client.py BENCHMARKS PLACE HIDDEN BATCH_ROWS LEARNING_RATE

BENCHMARKS is the folder to import from, PLACE has each site's rows; each task received is a line in SITE.rounds, and
the last model received lies in SITE.npy.
"""

import json
import sys
from pathlib import Path

import numpy as np
import nvflare.client as flare

KEY = "numpy_key"


def main(benchmarks, place, hidden, batch_rows, learning_rate):
    sys.path.insert(0, benchmarks)
    from network.mlp_work import MlpWork, load_rows

    work, place = MlpWork(int(hidden), int(batch_rows), float(learning_rate)), Path(place)
    flare.init()
    site = flare.get_site_name()
    features, labels = load_rows(place, site)
    number = 0
    while flare.is_running():
        received = flare.receive()
        if received is None:
            break
        vector = np.asarray(received.params[KEY], np.float32)
        if number:
            with (place / f"{site}.rounds").open("a") as lines:
                lines.write(json.dumps({"event": "round", "round": number}) + "\n")
        np.save(place / f"{site}.npy", vector)
        number += 1
        trained = work.train(vector, features, labels, site, number)
        flare.send(flare.FLModel(params={KEY: trained}, params_type="FULL", meta={"NUM_STEPS_CURRENT_ROUND": 1}))


if __name__ == "__main__":
    main(*sys.argv[1:])
