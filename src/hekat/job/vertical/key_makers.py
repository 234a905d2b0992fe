"""Which roles of a vertical job make a Paillier key of their own."""

from __future__ import annotations

from hekat.job.vertical.job_file import VerticalJob


def key_makers(job: VerticalJob) -> tuple[str, ...]:
    """The arbiter where there is one; else guest and host, each for what the other computes under it.

    Prediction on shares is encrypted whatever the protection of the training is.
    """
    settings = job.settings
    if settings.protection == "none" and (settings.form != "shared_weights" or job.test_data is None):
        return ()
    return settings.parties if settings.arbiter is None else (settings.arbiter,)
