"""The CKKS parameter sets by name: FedML-HE's own, and one whose results may be shared."""

from __future__ import annotations

from typing import Final

from hekat.scheme.ckks.parameters import CkksParameters

# FedML-HE's defaults (section 5.1): depth 1, scale 2^52, batch 4096, 128 bits of security. N and the primes hold this
# in SEAL; no flooding is sound with them: hekat.scheme.ckks.noise says what they reach.
FEDML_HE: Final = CkksParameters("FedML-HE", 8192, (60, 52, 60), 52, 4096, 64.0)
# Room for flooding at 128 bits over 2^20 opened ciphertexts, with deviations below 10^-7.
FLOODED: Final = CkksParameters("flooded", 16384, (52, 52, 52, 52, 40, 52), 203, 8192, 8.0)

SETS: Final = {parameters.name: parameters for parameters in (FEDML_HE, FLOODED)}


def make_parameters(scale_bits: int, batch: int = 4096, *, value_bound: float = 64.0) -> CkksParameters:
    """FedML-HE's set with another scale and number of values in a ciphertext, as its Table 4 varies them.

    Raises as `CkksParameters`.
    """
    base = FEDML_HE
    name = f"{base.name}-{batch}-{scale_bits}"
    return CkksParameters(name, base.degree, base.prime_bits, scale_bits, batch, value_bound)
