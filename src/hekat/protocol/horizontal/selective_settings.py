"""What a job says that masks only a part of every update, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.errors import InputError
from hekat.privacy.mask_rules import MaskRules
from hekat.privacy.sensitivity.directions import MODES, Mode
from hekat.protocol.secure_sum.selective.agree_on_mask import STEPS
from hekat.protocol.setting_checks import check_choice, refuse_setting

MOST_MAP_ROWS = 2**40
MASK_GROUP = "mask"


@dataclass(frozen=True)
class SelectiveSettings:
    """The values that the parties find most sensitive are masked; all others go to the aggregator in the clear.

    `rules` say how many, which layers always or never, in what groups. `mode` and `row_count` say how each party maps
    the model at the start; parties agree on a new mask after every `refresh` rounds, never for 0.
    """

    rules: MaskRules
    mode: Mode = "random"
    row_count: int = 256
    refresh: int = 0

    def __post_init__(self) -> None:
        if self.rules.fraction == 1.0:
            raise InputError(
                "nothing is left to choose", expected="a part below 1", got="all values masked", cure="remove masked"
            )
        check_choice("protection.map", self.mode, MODES)
        for name, value, least, most in (
            ("map_rows", self.row_count, 1, MOST_MAP_ROWS),
            ("refresh", self.refresh, 0, 10**6),
        ):
            if not least <= value <= most:
                refuse_setting(f"protection.{name}", f"a whole number from {least} to {most}", value)

    def is_due(self, number: int) -> bool:
        """Whether a mask is agreed on before round `number`."""
        return number == 1 or (self.refresh > 0 and (number - 1) % self.refresh == 0)

    def group_before(self, number: int) -> str:
        """What the sums are called by which the mask of round `number` is agreed on."""
        return MASK_GROUP if number == 1 else f"{MASK_GROUP}-{number}"

    def steps_before(self, number: int) -> tuple[str, ...]:
        """The sums ahead of round `number`, in their order."""
        group = self.group_before(number)
        return tuple(f"{group}/{step}" for step in STEPS) if self.is_due(number) else ()

    @property
    def in_words(self) -> str:
        """How much of an update goes where."""
        exposed = ", EMBEDDINGS MAY BE AMONG THEM" if self.rules.expose_embeddings else ""
        return (
            f"{format_part(self.rules.fraction)} of the values of every update are masked; "
            f"{format_part(1 - self.rules.fraction)} go to the aggregator IN THE CLEAR{exposed}"
        )


def format_part(part: float) -> str:
    """A part of all as a percentage, to four digits."""
    return f"{100 * part:.4g} %"
