"""An ordinary training script of NVIDIA FLARE's Client API: logistic regression on the rows of one site."""

import numpy as np
import nvflare.client as flare

ROWS = {"north": 120, "lake": 80, "county": 200}
TRUTH = np.array([1.5, -2.0, 0.5, 1.0])


def load_rows(site):
    """Stands for a site's own data: four columns, and who is ill."""
    rng = np.random.default_rng(list(ROWS).index(site))
    features = rng.normal(size=(ROWS[site], len(TRUTH)))
    chance = 1 / (1 + np.exp(-features @ TRUTH))
    return features, (rng.random(ROWS[site]) < chance).astype(float)


def train(weights, features, ill, epochs=5, learning_rate=0.5):
    for _ in range(epochs):
        chance = 1 / (1 + np.exp(-features @ weights))
        weights = weights - learning_rate * features.T @ (chance - ill) / len(ill)
    return weights


def main():
    flare.init()
    features, ill = load_rows(flare.get_site_name())
    while flare.is_running():
        model = flare.receive()
        weights = train(model.params["numpy_key"], features, ill)
        accuracy = float(((features @ weights > 0) == ill).mean())
        flare.send(
            flare.FLModel(
                params={"numpy_key": weights},
                metrics={"accuracy": accuracy},
                meta={"NUM_STEPS_CURRENT_ROUND": len(ill)},
            )
        )


if __name__ == "__main__":
    main()
