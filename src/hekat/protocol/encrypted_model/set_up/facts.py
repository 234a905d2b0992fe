"""What a model is of: the columns, and how they were standardised. Hosts know it; an owner apart is told."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.encrypted_model.arithmetic.fixed_point import MAGNITUDE_BITS, WEIGHT_BITS, refuse_magnitude
from hekat.protocol.encrypted_model.messages import FactsMessage
from hekat.protocol.encrypted_model.owned_model import OwnedModel
from hekat.protocol.encrypted_model.set_up.moments import Moments
from hekat.protocol.encrypted_model.settings import EncryptedModelSettings
from hekat.protocol.encrypted_model.steps import FACTS_STEP
from hekat.protocol.shares.share_array import ShareArray, to_floats
from hekat.wire import to_bytes

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ModelFacts:
    """`columns` by name; `moments` of these and, in a regression, of the label after them."""

    columns: tuple[str, ...]
    moments: Moments = field(repr=False)

    def message(self) -> FactsMessage:
        """What an owner that is no host is told."""
        moments = self.moments
        return FactsMessage(list(self.columns), moments.row_count, moments.means, moments.spreads)

    def own(self, weights: ShareArray, round_number: int, settings: EncryptedModelSettings) -> OwnedModel:
        """The model of the weights (columns + 1, K, 2), the intercept last, for columns as they stand in tables.

        Raises DivergedError for a weight beyond the room that all numbers have.
        """
        numbers = to_floats(weights, WEIGHT_BITS)
        if float(np.abs(numbers).max()) >= 2.0**MAGNITUDE_BITS:
            refuse_magnitude("a weight of the trained model")
        count = len(self.columns)
        means, spreads = self.moments.means[:count], self.moments.spreads[:count]
        label_mean, label_spread = 0.0, 1.0
        if settings.task == "linear":
            label_mean, label_spread = float(self.moments.means[-1]), float(self.moments.spreads[-1])
        scaled = numbers[:count] / spreads[:, np.newaxis] * label_spread
        intercept = numbers[count] * label_spread + label_mean - means @ scaled
        return OwnedModel(
            task=settings.task,
            classes=settings.classes,
            columns=self.columns,
            round_number=round_number,
            row_count=self.moments.row_count,
            weights=scaled,
            intercept=intercept,
            means=means,
            spreads=spreads,
        )


def receive_facts(channel: RecordedChannel, settings: EncryptedModelSettings) -> ModelFacts:
    """What all hosts tell an owner that is none of them. Raises ProtocolError where they do not tell the same."""
    told = {host: channel.receive(host, FACTS_STEP, FactsMessage) for host in settings.hosts}
    first = told[settings.hosts[0]]
    for host, facts in told.items():
        if to_bytes(facts) != to_bytes(first):
            raise ProtocolError(
                f"hosts {settings.hosts[0]!r} and {host!r} tell the owner of different columns",
                expected="the same names, row count, means and spreads",
                got="others",
                cure="find out which of them departs from the protocol",
            )
    count = len(first.columns) + (settings.task == "linear")
    if not first.columns or first.means.shape != (count,) or first.spreads.shape != (count,):
        raise ProtocolError(
            "hosts tell the owner of columns that do not fit the job",
            expected=f"a mean and a spread for each of {count}",
            got=f"shapes {first.means.shape}, {first.spreads.shape}",
            cure="all roles must run the same job and release",
        )
    return ModelFacts(tuple(first.columns), Moments(first.row_count, first.means, first.spreads))
