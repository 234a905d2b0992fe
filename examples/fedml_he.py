"""FedML-HE's six operations (Table 2 of the paper), over the lattice scheme and over CKKS."""

import numpy as np

from hekat.fedml_he import Params, dec, enc, flatten, he_aggregate, key_gen, reshape

models = [{"weight": np.full((2, 3), value, np.float32), "steps": np.array(9)} for value in (0.1, 0.2, 0.6)]
rows = [700, 200, 100]

# Lattice: one-time keys for each client and round; whole weights, at the clients, that the server cannot read.
pk, sk = key_gen(Params(client_count=3, weight_max=700))
uploads = [enc(key, flatten(model)[0], weight=n) for key, model, n in zip(pk, models, rows, strict=True)]
print(reshape(dec(sk, he_aggregate(uploads)), models[0]))

# CKKS, an extra: one key pair, plaintext weights at the server, results flooded with noise before they are shared.
pk, sk = key_gen(Params("ckks"))
uploads = [enc(pk, flatten(model)[0]) for model in models]
total = he_aggregate(uploads, [n / sum(rows) for n in rows])
print(reshape(dec(sk, total), models[0]))
