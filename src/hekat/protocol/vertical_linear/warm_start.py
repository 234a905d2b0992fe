"""Whether training may begin with the weights of an earlier model part: weights must mean the same in both."""

from __future__ import annotations

from collections.abc import Iterator

from hekat.data import describe_schema_difference
from hekat.errors import InputError
from hekat.protocol.vertical_linear.mixing import MIXING
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings


def check_warm_start(
    part: ModelPart, settings: VerticalLinearSettings, columns: tuple[str, ...], *, begin_anew: str
) -> None:
    """Raise InputError unless a party may begin a training by `settings` on its `columns` with its `part`.

    Form, parties, task, classes, label privacy, columns and whether these are mixed must be the same, classes and
    columns in the same order. In form `shared_weights`, holders, the order of hosts, and value_bits, the scale of the
    shares, must be the same too. `begin_anew` opens the cure: it says how training begins without a part.
    """
    for what, expected, got in _compared(part, settings):
        if expected != got:
            raise _refusal(part.party, what, expected, got, begin_anew)
    difference = describe_schema_difference(columns, part.columns)
    if difference:
        expected = f"the {len(columns)} columns that it has now, in their order"
        raise _refusal(part.party, "columns", expected, difference, begin_anew)


def _compared(part: ModelPart, settings: VerticalLinearSettings) -> Iterator[tuple[str, str, str]]:
    """Each name that is compared, with its value in the training and in the part."""
    yield "form", str(settings.form), part.form
    yield "parties", _name_parties(settings.guest, settings.hosts), _name_parties(part.guest, part.hosts)
    yield "task", str(settings.task), part.task
    yield "classes", _name_classes(settings.classes), _name_classes(part.classes)
    yield "label privacy", str(settings.label_privacy), str(part.label_privacy)
    yield "kind of columns", _name_mixing(settings.training.mixes_columns), _name_mixing(MIXING in part.arrays)
    if part.form == "shared_weights":
        # Weights of all parties lie side by side in the order of holders and hosts.
        yield "holders", " and ".join(settings.holders), " and ".join(part.holders)
        yield "order of hosts", ", ".join(settings.hosts), ", ".join(part.hosts)
        yield "value_bits", str(settings.fixed_point.value_bits), str(part.value_bits)


def _name_mixing(is_mixed: bool) -> str:
    return "mixed by rule (no learning_rate)" if is_mixed else "as they are (with a learning_rate)"


def _name_parties(guest: str, hosts: tuple[str, ...]) -> str:
    """Hosts in alphabetical order: their order gives no weight another meaning."""
    return f"guest {guest}; hosts {', '.join(sorted(hosts))}"


def _name_classes(classes: tuple[str, ...] | None) -> str:
    return "none" if classes is None else ", ".join(map(repr, classes))


def _refusal(party: str, what: str, expected: str, got: str, begin_anew: str) -> InputError:
    return InputError(
        f"a warm start from {'another' if what in ('form', 'task', 'kind of columns') else 'other'} {what} at {party}",
        expected=expected,
        got=f"in the earlier part: {got}",
        cure=f"{begin_anew}, or start from a model of the same {what}",
    )
