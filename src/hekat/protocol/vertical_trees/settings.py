"""Everything public about one training of trees across columns, checked as a whole when it is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from hekat.model.trees import TreeTraining
from hekat.protocol.setting_checks import is_whole
from hekat.protocol.vertical.job_settings import check_choice, check_parties, check_task_classes, refuse_setting
from hekat.protocol.vertical.label_privacy import check_epsilon

Task = Literal["regression", "binary", "multiclass"]
Protection = Literal["lattice", "paillier", "none"]
TASKS: tuple[str, ...] = get_args(Task)
PROTECTIONS: tuple[str, ...] = get_args(Protection)
BIN_LEAK_ACCEPTED = "the guest may learn bins of hosts"
LEAST_KEY_BITS = 2048
LEVEL_SUMS = 1 << 24
"""The sums of a level that a guest keeps room for by default: some 4 GiB, where all parties are in one process."""
MOST_LEVEL_SUMS = 1 << 32


@dataclass(frozen=True)
class VerticalTreesSettings:
    """One training of boosted trees: who holds labels (`guest`), who holds other columns (`hosts`), its protection.

    `classes` None means a regression. Under protection `lattice` the parameter set is always the same; `key_bits` is
    the size of Paillier keys. Protection `none` sends gradients in the clear, for a comparison on public data.

    With `hide_partition` no host hears which rows are in which node of a tree; hosts cannot hold the guest to
    `min_samples_leaf` then. The first `label_party_first_trees` iterations use columns of the guest alone.
    `bin_leak_accepted` is the sentence BIN_LEAK_ACCEPTED where the job waives the rule on what sums tell the guest of
    hosts' columns. `max_level_sums` bounds the guest's memory, whatever bins hosts say that they have
    (`sums_plan.check_level_sums`). `label_privacy` is the epsilon of randomised response: each label is replaced once
    with known odds, and training sees no other.

    Raises JobError with the cure.
    """

    guest: str
    hosts: tuple[str, ...]
    task: Task = "binary"
    classes: tuple[str, ...] | None = None
    protection: Protection = "lattice"
    key_bits: int = 3072
    training: TreeTraining = field(default_factory=TreeTraining)
    hide_partition: bool = False
    label_party_first_trees: int = 0
    bin_leak_accepted: str | None = None
    max_level_sums: int = LEVEL_SUMS
    label_privacy: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(self.hosts))
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
        check_choice("model.task", self.task, TASKS)
        check_choice("protection.kind", self.protection, PROTECTIONS)
        check_parties(self.hosts, self.parties)
        check_task_classes(self.task, self.classes)
        check_epsilon(self.label_privacy, self.classes)
        if not is_whole(self.key_bits) or self.key_bits < LEAST_KEY_BITS or self.key_bits % 64:
            refuse_setting("protection.key_bits", f"{LEAST_KEY_BITS} or more, a multiple of 64", self.key_bits)
        if not isinstance(self.hide_partition, bool):
            refuse_setting("protection.hide_partition", "true or false", repr(self.hide_partition))
        first = self.label_party_first_trees
        if not is_whole(first) or not 0 <= first <= self.training.max_iter:
            refuse_setting(
                "protection.label_party_first_trees", f"0 to {self.training.max_iter}, the trees of the training", first
            )
        if self.bin_leak_accepted not in (None, BIN_LEAK_ACCEPTED):
            refuse_setting("bin_leak.accepted", f"the words {BIN_LEAK_ACCEPTED!r}, or no such line", "other words")
        if not is_whole(self.max_level_sums) or not 1 <= self.max_level_sums <= MOST_LEVEL_SUMS:
            refuse_setting("protection.max_level_sums", f"1 to {MOST_LEVEL_SUMS:,}", self.max_level_sums)

    @property
    def parties(self) -> tuple[str, ...]:
        """The guest, then the hosts."""
        return (self.guest, *self.hosts)

    @property
    def everyone(self) -> tuple[str, ...]:
        """All roles; each of them holds rows."""
        return self.parties

    @property
    def target_count(self) -> int:
        """K, the number of trees of an iteration: one, or one for each class of three or more."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)
