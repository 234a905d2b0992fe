"""What every party and the aggregator agree on before trees are grown across rows, checked once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from hekat.errors import InputError
from hekat.model.trees import TreeTraining
from hekat.protocol.horizontal.validation_settings import MAX_HOLD_OUT
from hekat.protocol.horizontal_trees.private.settings import (
    LeafNoise,
    TreesPrivacy,
    check_only_noised,
    plan_leaf_noise,
)
from hekat.protocol.noise_claim import refuse_exact
from hekat.protocol.secure_sum.integer_sums import MOST_MAGNITUDE
from hekat.protocol.secure_sum.settings import CodecSettings, Opening, Protection, SumSettings
from hekat.protocol.setting_checks import refuse_setting


@dataclass(frozen=True)
class HorizontalTreesSettings:
    """Everything public about one run: the fields of `SumSettings`, and how trees are grown on the sums.

    `classes` are the labels' names in order; None: a regression. `hold_out` is the fraction of every party's rows that
    trees do not learn from and the model is measured on; with early stopping and `hold_out` 0 it is the training's
    validation fraction. `min_parties`: a sum of fewer parties' rows is not opened; 0 means all parties, since sums with
    a party and without it differ by its counts of rows. `privacy` None: sums are exact.
    """

    parties: tuple[str, ...]
    aggregator: str
    classes: tuple[str, ...] | None
    weight_max: int
    protection: Protection = "lattice"
    opening: Opening = "committee"
    authority: str | None = None
    key_bits: int = 3072
    training: TreeTraining = field(default_factory=TreeTraining)
    hold_out: float = 0.0
    allow_two_parties: bool = False
    check_sum: bool = False
    min_parties: int = 0
    privacy: TreesPrivacy | None = None

    def __post_init__(self) -> None:
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
            if len(self.classes) < 2 or len(set(self.classes)) < len(self.classes):
                refuse_setting("classes", "two classes or more, each once", ", ".join(self.classes) or "none")
        if not (self.hold_out == 0 or 0 < self.hold_out <= MAX_HOLD_OUT):
            refuse_setting("validation.hold_out", f"0, or a fraction up to {MAX_HOLD_OUT}", self.hold_out)
        if not 0 <= self.min_parties <= len(self.parties):
            refuse_setting("min_parties", f"0 to {len(self.parties)}, the parties of the job", self.min_parties)
        if self.weight_max * self.largest_level > MOST_MAGNITUDE:
            raise InputError(
                "sums of gradients do not fit",
                expected=f"weight_max times 2^(gradient_bits - 1) up to {MOST_MAGNITUDE:,}",
                got=f"weight_max {self.weight_max:,} and {self.training.gradient_bits} bits",
                cure="lower training.gradient_bits, or weight_max, the bound on the rows of a party",
            )
        _ = self.sums
        if self.privacy is not None:
            self._check_privacy()

    def _check_privacy(self) -> None:
        check_only_noised(
            self.training, classes=self.classes is not None, hold_out=self.hold_out, check_sum=self.check_sum
        )
        if self.protection != "lattice" or self.opening != "committee":
            found = self.protection if self.protection != "lattice" else f"lattice, opened by {self.opening}"
            committee = "'lattice' with opening 'committee': elsewhere somebody sees one party's sums, with a share of "
            refuse_exact("protection.kind", f"{committee}the noise", found)
        _ = self.leaf_noise

    @cached_property
    def leaf_noise(self) -> LeafNoise:
        """The noise of each iteration, where there is `privacy`. Raises as `plan_leaf_noise`."""
        assert self.privacy is not None  # the caller's
        return plan_leaf_noise(
            self.privacy, self.training, self.sums, tree_count=self.tree_count, weight_max=self.weight_max
        )

    @cached_property
    def sums(self) -> SumSettings:
        """The settings of the run's sums. Raises as `SumSettings`."""
        return SumSettings(
            parties=self.parties,
            aggregator=self.aggregator,
            weight_max=self.weight_max,
            protection=self.protection,
            opening=self.opening,
            authority=self.authority,
            key_bits=self.key_bits,
            codec=CodecSettings(),
            allow_two_parties=self.allow_two_parties,
            check_sum=self.check_sum,
            min_parties=self.min_parties or len(self.parties),
        )

    @property
    def largest_level(self) -> int:
        """The largest magnitude of a row's rounded gradient; hessians are summed less as much, and reach no further."""
        return 1 << (self.training.gradient_bits - 1)

    @property
    def held_out_fraction(self) -> float:
        """The share of every party's rows that is held out."""
        return self.hold_out or (self.training.validation_fraction if self.training.early_stopping else 0.0)

    @property
    def class_count(self) -> int:
        """0 for a regression."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def tree_count(self) -> int:
        """K, the trees of one iteration: one, or one for each class of three or more."""
        return self.class_count if self.class_count > 2 else 1

    @property
    def leader(self) -> str:
        """The party that makes the key pair: the first one named."""
        return self.sums.leader

    @property
    def everyone(self) -> tuple[str, ...]:
        """Every role: the parties, the aggregator, and the key authority where there is one."""
        return self.sums.everyone

    @property
    def bears_dropouts(self) -> bool:
        """Whether sums go on without a party that drops out."""
        return self.sums.bears_dropouts


def describe_privacy(settings: HorizontalTreesSettings, releases: int | None = None) -> str:
    """What so many releases (None: an iteration each) tell of a row at the most, and to whom; "" without privacy."""
    privacy = settings.privacy
    if privacy is None:
        return ""
    noise, count = settings.leaf_noise, settings.training.max_iter if releases is None else releases
    claimed, alone = (noise.epsilon(count, privacy, at_one=at_one) for at_one in (False, True))
    unit = "a row left out" if privacy.neighbours == "zero-out" else "a row replaced"
    return (
        f"epsilon {claimed:.3g} at delta {privacy.delta:g} (zCDP, {unit}) over {count:,} releases, against "
        f"{noise.colluders} of the parties together; {alone:.3g} against one"
    )
