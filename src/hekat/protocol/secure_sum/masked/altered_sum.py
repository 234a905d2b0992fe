"""The error for a sum that is not the uploads' sum; its words accuse no role that may be honest."""

from __future__ import annotations

from pathlib import Path

from hekat.errors import AlteredSumError
from hekat.protocol.secure_sum.settings import SumSettings


def altered_sum_error(step: str, settings: SumSettings, why: Exception, noted: Path) -> AlteredSumError:
    """Ends a run in which the secrets' sum was found and does not open what the aggregator sent as the sum.

    `noted`: the party's file that says so.
    """
    may_be = ["the aggregator altered it", "a party uploaded what it had not dealt, or beyond its lanes"]
    if settings.opening == "authority":
        may_be.append(f"{settings.authority} released another sum of secrets")
    elif settings.opening == "committee":
        may_be.append("members released false shares, one alone where no release was to spare")
    return AlteredSumError(
        f"the sum of {step} is not the sum of the uploads it is stated to be: {'; or '.join(may_be)}",
        expected="a sum that opens with the secrets of exactly those uploads",
        got=str(why),
        cure="the run ends here, and this party opens no more sums of the job: compare the ledgers, which hold the "
        f"digests of all uploads and of the sum. It is noted in {noted}; who removes that file goes on with the job, "
        "and may tell whoever altered the sum one more bit of the updates",
    )
