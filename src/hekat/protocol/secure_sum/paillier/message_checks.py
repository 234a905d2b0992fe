"""What the aggregator receives under protection `paillier`, checked for form before it is added."""

from __future__ import annotations

from hekat.protocol.secure_sum.agreement.message_checks import refuse_size
from hekat.scheme.paillier import Ciphertexts


def check_ciphertexts(ciphertexts: Ciphertexts, party: str, step: str, first: Ciphertexts | None) -> None:
    """Raises InputError where an update is no row of ciphertexts, or not as many as the `first` party's."""
    expected = "one or more" if first is None else str(len(first))
    if len(ciphertexts.shape) != 1 or not ciphertexts.size or (first is not None and ciphertexts.shape != first.shape):
        refuse_size(f"party {party}", f"an update of another size in {step}", expected, ciphertexts.shape)
