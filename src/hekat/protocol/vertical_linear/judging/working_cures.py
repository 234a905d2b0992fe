"""What a refused job with an arbiter can do instead: every cure is judged by the rule that refused the job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from hekat.data import Table
from hekat.errors import HekatError
from hekat.protocol.vertical.batches import batch_count
from hekat.protocol.vertical_linear.label_leak.cures import in_shared_weights, say_shared_weights
from hekat.protocol.vertical_linear.settings import (
    COLUMN_LEAK_ACCEPTED,
    DEFAULT_LIMIT_SPREADS,
    LEAK_ACCEPTED,
    VerticalLinearSettings,
)
from hekat.protocol.vertical_linear.training_settings import LEAST_FEATURE_BITS

Judge = Callable[[Mapping[str, Table], VerticalLinearSettings], None]


def find_working_cures(common: Mapping[str, Table], settings: VerticalLinearSettings, judge: Judge) -> list[str]:
    """The changes of the job, each by itself, with which no rule refuses it any more, the mildest first.

    The waivers are the last: the sites have to allow them.
    """
    search = _Search(common, settings, judge)
    cures = [search.larger_batches(), search.narrower_limit(), search.fewer_feature_bits()]
    found = [cure for cure in cures if cure is not None]
    if not found:
        found = [cure for cure in [search.all_of_these()] if cure is not None]
    other = in_shared_weights(settings)
    if other is not None and search.passes(other):
        found.append(say_shared_weights(settings, other))
    return [*found, search.waivers()]


class _Search:
    """Tries settings on the common rows."""

    def __init__(self, common: Mapping[str, Table], settings: VerticalLinearSettings, judge: Judge) -> None:
        self._common, self._settings, self._judge = common, settings, judge
        self._rows = min(len(table) for table in common.values())

    def passes(self, settings: VerticalLinearSettings) -> bool:
        try:
            self._judge(self._common, settings)
        except HekatError:
            return False
        return True

    def larger_batches(self, base: VerticalLinearSettings | None = None) -> str | None:
        """The smallest batches that pass; `base` is the job with other changes."""
        base = base or self._settings
        now = batch_count(self._rows, base.training.batch_rows)
        few, many = 0, now
        # Batches of more rows pass every rule more easily; each step is judged all the same.
        while many - few > 1:
            middle = (few + many) // 2
            few, many = (middle, many) if self.passes(self._in_batches(base, middle)) else (few, middle)
        if not few:
            return None
        rows = -(-self._rows // few)
        text = f"set training.batch_rows = {rows} or more"
        return text + (f": all {self._rows:,} common rows in one batch" if few == 1 else "")

    def narrower_limit(self) -> str | None:
        settings = self._limited(self._settings)
        if settings is None or not self.passes(settings):
            return None
        return f"set training.limit_spreads = {DEFAULT_LIMIT_SPREADS:g}"

    def fewer_feature_bits(self) -> str | None:
        """The most feature_bits that pass, where fewer bits help at all."""
        least, now = LEAST_FEATURE_BITS, self._settings.fixed_point.feature_bits
        if least >= now or not self.passes(self._with_bits(self._settings, least)):
            return None
        while now - least > 1:
            middle = (least + now) // 2
            least, now = (middle, now) if self.passes(self._with_bits(self._settings, middle)) else (least, middle)
        return f"set fixed_point.feature_bits = {least} or fewer"

    def all_of_these(self) -> str | None:
        """One batch, a limit and the fewest bits together, where none of these helps alone; leaves out what needs not
        be."""
        changed = self._in_batches(self._settings, 1)
        said = [f"set training.batch_rows = 0: all {self._rows:,} common rows in one batch"]
        limited = self._limited(changed)
        if limited is not None:
            changed, said = limited, [*said, f"training.limit_spreads = {DEFAULT_LIMIT_SPREADS:g}"]
        if not self.passes(changed):
            changed = self._with_bits(changed, LEAST_FEATURE_BITS)
            said = [*said, f"fixed_point.feature_bits = {LEAST_FEATURE_BITS}"]
        return " and ".join(said) if self.passes(changed) else None

    def waivers(self) -> str:
        """The words that accept what the job would tell: only those that it needs."""
        hosts = replace(self._settings, label_leak_accepted=LEAK_ACCEPTED)
        guest = replace(self._settings, column_leak_accepted=COLUMN_LEAK_ACCEPTED)
        needed = [("label_leak", LEAK_ACCEPTED)] if self.passes(hosts) else []
        needed = needed or ([("column_leak", COLUMN_LEAK_ACCEPTED)] if self.passes(guest) else [])
        needed = needed or [("label_leak", LEAK_ACCEPTED), ("column_leak", COLUMN_LEAK_ACCEPTED)]
        words = " and ".join(f'{key}.accepted = "{said}"' for key, said in needed)
        policy = " and ".join(f"policy.{key}_waiver = true" for key, _ in needed)
        return f"let the job say {words} and every site {policy}"

    def _limited(self, settings: VerticalLinearSettings) -> VerticalLinearSettings | None:
        """The job with a limit on values; None where it has one as narrow, or can have none."""
        if not settings.training.standardise or 0 < settings.limit_spreads <= DEFAULT_LIMIT_SPREADS:
            return None
        return replace(settings, training=replace(settings.training, limit_spreads=DEFAULT_LIMIT_SPREADS))

    def _in_batches(self, settings: VerticalLinearSettings, count: int) -> VerticalLinearSettings:
        rows = 0 if count == 1 else -(-self._rows // count)
        return replace(settings, training=replace(settings.training, batch_rows=rows))

    def _with_bits(self, settings: VerticalLinearSettings, bits: int) -> VerticalLinearSettings:
        return replace(settings, fixed_point=replace(settings.fixed_point, feature_bits=bits))
