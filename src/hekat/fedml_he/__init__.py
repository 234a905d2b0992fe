"""The six operations of FedML-HE (Table 2) under the paper's names, over the lattice scheme or CKKS.

    pk, sk = key_gen(params)
    vector, shape = flatten(local_model)
    enc_local_model = enc(pk, vector)
    enc_global_model = he_aggregate(enc_models, weight_factors)
    vector = dec(sk, enc_global_model)
    global_model = reshape(vector, shape)

A thin module for readers of the paper, and for comparison; `hekat run` and `hekat.federate` do the same with parties,
signed messages, committees and ledgers, over the lattice scheme alone. The schemes differ where the mathematics does:

"lattice" (default): every upload has a one-time secret of its own, and the sum opens with the sum of the secrets. So
    `key_gen` gives `pk` as a tuple, one key for each client and one aggregation, secret to that client; `sk` opens one
    sum, once. The weight is the client's, `enc(pk[i], vector, weight=n_i)`: a server that multiplied one upload by
    a weight could read secrets from what is opened, so `he_aggregate` takes no weights here.
    `enc(pk[i], vector, mask=mask)` masks only the values that a mask chooses, and leaves the others to the server in
    the clear, as the paper's section 4.2 proposes: to compare, since masking all costs fewer bytes than float32.
"ckks": one key pair as in the paper. Weights are plaintext at the server. The holder of `sk` reads every upload.

Source: FedML-HE, Table 2 and Algorithm 1.
"""

from hekat.fedml_he.clear_part import ClearPart, flatten_mask
from hekat.fedml_he.model_vector import ModelShape, flatten, reshape
from hekat.fedml_he.operations import dec, enc, he_aggregate, key_gen
from hekat.fedml_he.over_lattice import ClientKey, EncryptedModel, OpeningKey, mean_error_bound
from hekat.fedml_he.params import Params

__all__ = [
    "ClearPart",
    "ClientKey",
    "EncryptedModel",
    "ModelShape",
    "OpeningKey",
    "Params",
    "dec",
    "enc",
    "flatten",
    "flatten_mask",
    "he_aggregate",
    "key_gen",
    "mean_error_bound",
    "reshape",
]
