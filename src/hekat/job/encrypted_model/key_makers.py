"""Which roles of a training on an encrypted model make a Paillier key of their own."""

from __future__ import annotations

from hekat.job.encrypted_model.job_file import EncryptedModelJob


def key_makers(job: EncryptedModelJob) -> tuple[str, ...]:
    """The arbiter under `paillier`; its key of `lattice` takes no search for primes, so it is made in the session."""
    return (job.settings.arbiter,) if job.settings.protection == "paillier" else ()
