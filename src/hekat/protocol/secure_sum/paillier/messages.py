"""Every message of protection `paillier`, each field with what it discloses and to whom."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.wire import ciphertext, message, public, sealed


@message("horizontal/public-key", version=1)
@dataclass(frozen=True)
class PublicKeyMessage:
    """Leader to aggregator, once: what it needs to add ciphertexts, and nothing that opens them."""

    public_key: bytes = public()


@message("horizontal/shared-secrets", version=1)
@dataclass(frozen=True)
class SharedSecretsMessage:
    """Leader to each party, once, sealed: the key pair all parties share (BatchCrypt, Algorithm 1)."""

    private_key: bytes = sealed("the Paillier private key that all parties share")
    digest_key: bytes = sealed("the key under which parties compare model digests")


@message("horizontal/update", version=1)
@dataclass(frozen=True)
class UpdateMessage:
    """Party to aggregator: its packed and encrypted update, weight, counters and count slot."""

    ciphertexts: bytes = ciphertext(under="all parties (shared Paillier key)")


@message("horizontal/sum", version=1)
@dataclass(frozen=True)
class SumMessage:
    """Aggregator to each party: the sum of the updates; the parties open it and so learn the aggregate."""

    ciphertexts: bytes = ciphertext(under="all parties (shared Paillier key): each learns the sum")
    addend_count: int = public()
