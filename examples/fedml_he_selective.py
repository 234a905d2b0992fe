"""FedML-HE's selective encryption (section 4.2) over the lattice scheme: only what a map ranks first is masked."""

import numpy as np

from hekat.fedml_he import Params, dec, enc, flatten, flatten_mask, he_aggregate, key_gen
from hekat.model import make_model
from hekat.privacy import MaskRules, choose_mask, sensitivity_map

model = make_model("mlp", 20, 3, hidden=(16,))
rows, labels = np.random.default_rng(1).normal(size=(64, 20)), np.arange(64) % 3
weights = model.init(7)
found = sensitivity_map(model, rows, labels, params=weights)
vector, shape = flatten(weights)
mask = flatten_mask(choose_mask(found, MaskRules(0.1)), shape)

pk, sk = key_gen(Params(client_count=3))
uploads = [enc(key, vector, mask=mask) for key in pk]
print(uploads[0])
print(np.abs(dec(sk, he_aggregate(uploads), mask=mask) - vector).max() < 1e-4)
