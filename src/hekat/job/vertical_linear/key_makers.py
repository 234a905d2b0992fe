"""Which roles of a vertical job make a Paillier key of their own."""

from __future__ import annotations

from hekat.job.vertical_linear.job_file import VerticalJob


def key_makers(job: VerticalJob) -> tuple[str, ...]:
    """The arbiter where there is one; else guest and hosts, each for what others compute under it.

    A guest that holds no shares has nothing to encrypt.

    Under `lattice` none: the arbiter's key of that kind takes no search for primes, so it is made in the session.
    Prediction on shares is encrypted whatever the protection of the training is.
    """
    settings = job.settings
    predicts = job.measures or settings.calibration_rows > 0
    if settings.protection != "paillier" and (settings.form != "shared_weights" or not predicts):
        return ()
    if settings.arbiter is not None:
        return (settings.arbiter,)
    return tuple(name for name in settings.parties if name in (*settings.holders, *settings.hosts))
