"""`compare.bits`: runs the job again at other bits per value, encrypted, to compare precision and bytes."""

from __future__ import annotations

from dataclasses import replace

from hekat.errors import HekatError, JobError
from hekat.protocol.horizontal.settings import HorizontalSettings

MOST_COMPARED = 4


def check_precision_sweep(compared: tuple[int, ...], settings: HorizontalSettings) -> None:
    """Raise JobError for more than 4, for the same twice, for the job's own, and for bits that the job cannot have."""
    if not compared:
        return
    if settings.protection == "none":
        _refuse("a job whose updates are encrypted", "protection.kind = 'none'", "remove compare.bits")
    if len(compared) > MOST_COMPARED:
        _refuse(f"at most {MOST_COMPARED} numbers of bits", f"{len(compared)}", "each is a whole run: leave some out")
    own = settings.codec.value_bits
    if own in compared or len(set(compared)) < len(compared):
        _refuse(
            f"different numbers of bits, other than the job's own {own}",
            ", ".join(str(bits) for bits in compared),
            "leave out what is there twice; the job's own bits are shown in any case",
        )
    for bits in compared:
        try:
            with_bits(settings, bits)
        except HekatError as error:
            _refuse(error.expected or "bits that codec.value_bits could be", str(bits), "correct compare.bits")


def with_bits(settings: HorizontalSettings, bits: int) -> HorizontalSettings:
    """The same settings at other bits per value. Raises what a job with such codec.value_bits would raise."""
    return replace(settings, codec=replace(settings.codec, value_bits=bits))


def _refuse(expected: str, got: str, cure: str) -> None:
    raise JobError("compare.bits refused", expected=expected, got=got, cure=cure) from None
