"""Blind signatures: two parties find the ids they share; the signer never sees what it signs."""

import hashlib

from hekat import rsa
from hekat.wire import from_bytes, to_bytes


def tags(ids, signatures):
    """What may leave the signer: a signature itself would let anybody test guesses of its id with the public key."""
    rows = signatures.to_limbs()
    return [hashlib.sha256(b"run 1" + row.tobytes() + id_).digest() for id_, row in zip(ids, rows, strict=True)]


# The signer: a fresh key of 3072 bits, a proof that blinding under it hides, and tags of its ids in no order.
keys = rsa.generate_keys()
proof = to_bytes(rsa.prove_permutation(keys.private))
signer_ids = [b"ada", b"grace", b"emmy"]
signer_hashes = rsa.hash_to_group(keys.public, signer_ids, context=b"run 1")
signer_tags = set(tags(signer_ids, rsa.sign(keys.private, signer_hashes)))

# The client, with the public key alone: what it sends is uniform, whatever its ids are.
public = from_bytes(to_bytes(keys.public), rsa.PublicKey)
rsa.check_permutation(public, from_bytes(proof, rsa.Signatures, public_key=public))
client_ids = [b"alan", b"grace", b"ada"]
blinded, state = rsa.blind(rsa.hash_to_group(public, client_ids, context=b"run 1"))
request = to_bytes(blinded)

# The signer signs the batch; nothing leaves unless every signature holds.
answer = to_bytes(rsa.sign(keys.private, from_bytes(request, rsa.BlindedItems, public_key=keys.public)))

# The client unblinds, which verifies each signature, and looks for its tags among the signer's.
signatures = rsa.unblind(state, from_bytes(answer, rsa.BlindSignatures, public_key=public))
print([id_.decode() for id_, tag in zip(client_ids, tags(client_ids, signatures), strict=True) if tag in signer_tags])
