"""A guest's labels, replaced before anything of a training sees them.

What is trained, fitted, stopped by and told then follows from the answers alone, in any protocol and form: no party,
and no coalition without the guest, learns more of a label than its answer tells. Rows that are held out to measure on
keep their labels, since what is measured stays with the guest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from hekat.data import Table
from hekat.data.ids import Ids
from hekat.errors import InputError, JobError
from hekat.ledger import Ledger
from hekat.ledger.privacy.records import LabelsRecord
from hekat.protocol.vertical.guest_labels import LabelledTask, read_labels
from hekat.protocol.vertical.job_settings import refuse_setting
from hekat.protocol.vertical.label_privacy.label_flips import LabelFlips, LabelQuestion
from hekat.protocol.vertical.label_privacy.randomised_response import IntArray, RandomisedResponse

NEW_FLIPS: Final = (
    "new flips: labels are replaced by a key that began with this run; were the same rows trained on before, hosts add "
    "both up, so put the earlier file of label flips back"
)


@dataclass(frozen=True)
class OwnLabels:
    """What a guest's site keeps of its labels: their `flips`, and the `name` that it calls them by (their column).

    `warn` is called with a line for the user.
    """

    flips: LabelFlips = field(repr=False)
    name: str
    warn: Callable[[str], None] = lambda text: None


def check_epsilon(epsilon: float | None, classes: tuple[str, ...] | None) -> None:
    """Raise JobError for an epsilon out of range, and for one in a regression; None passes."""
    if epsilon is None:
        return
    if classes is None:
        refuse_setting("label_privacy.epsilon", "none for a regression: only classes can be replaced", epsilon)
    try:
        RandomisedResponse(epsilon, len(classes))
    except InputError as error:
        raise JobError(
            "label_privacy.epsilon refused", expected=error.expected, got=error.got, cure=error.cure
        ) from None


def answer_once(
    classes: IntArray, ids: Ids | None, question: LabelQuestion, epsilon: float, own: OwnLabels | None, ledger: Ledger
) -> tuple[IntArray, RandomisedResponse]:
    """The answers (rows,) that stand in for class numbers, and their odds; the ledger says so.

    Raises InputError where the site keeps no flips, and as `LabelFlips.flip`.
    """
    response = RandomisedResponse(epsilon, len(question.classes))
    if own is None:
        raise InputError(
            "label privacy has no flips",
            expected="the flips of labels that the guest's site keeps",
            got="none",
            cure="give the guest a state folder in its site file",
        )
    answers = own.flips.flip(classes, ids, question, response)
    ledger.note("setup", response.describe(), "disclosed")
    LabelsRecord(response.epsilon, response.class_count, response.keep_odds).write(ledger)
    if own.flips.is_new:
        ledger.note("setup", NEW_FLIPS, "disclosed")
        own.warn(NEW_FLIPS)
    return answers, response


def replace_labels(
    table: Table, settings: LabelledTask, epsilon: float, own: OwnLabels | None, ledger: Ledger
) -> Table:
    """The guest's rows to train on, with answers in place of labels.

    Args:
        table: The guest's common rows, without those that are held out.
        settings: Who the guest is, and the classes.
        epsilon: Of the job.
        own: What the guest's site keeps.
        ledger: The guest's.

    Raises:
        InputError: The labels cannot be trained on, rows have no ids, or the site keeps no flips.
        PolicyError, StateError: As `LabelFlips.flip`.
    """
    assert settings.classes is not None  # `check_epsilon`
    labels = read_labels(table, settings).astype(np.int64)
    question = LabelQuestion("" if own is None else own.name, settings.classes)
    answers, _ = answer_once(labels, table.ids, question, epsilon, own, ledger)
    return replace(table, labels=np.array(settings.classes)[answers])
