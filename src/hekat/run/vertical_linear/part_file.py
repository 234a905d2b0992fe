"""One party's part of a vertical regression as a file."""

from __future__ import annotations

from typing import Any, Final

from hekat.protocol.psi.settings import DEFAULT_KEY_BITS
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.run.vertical.part_files import Arrays, Facts, PartForm, SavedPart, read_label_privacy, shared_facts
from hekat.run.vertical_linear.part_checks import COUNTS, NUMBERS, TEXTS, check_described, check_part, unlike
from hekat.state.file_format import FileFormat

# Format 2 may hold a mixing of columns, and a calibration.
PART_FORMAT = FileFormat("model part", ("0.2.0", "0.2.0"))

RegressionPart = SavedPart[ModelPart]


def _describe(part: ModelPart) -> tuple[Facts, Arrays]:
    facts: dict[str, Any] = {name: getattr(part, name) for name in (*TEXTS, *COUNTS, *NUMBERS)}
    facts["share_holders"] = list(part.share_holders)
    facts["label_privacy"] = part.label_privacy
    arrays = {"means": part.means, "spreads": part.spreads, **{f"part/{key}": one for key, one in part.arrays.items()}}
    return facts, arrays


def _read(described: Facts, arrays: Arrays) -> ModelPart:
    check_described(described)
    facts: dict[str, Any] = {name: described[name] for name in (*TEXTS, *COUNTS)}
    facts |= {name: float(described[name]) for name in NUMBERS}
    part = ModelPart(
        **shared_facts(described),
        **facts,
        share_holders=tuple(described["share_holders"]),
        label_privacy=read_label_privacy(described),
        means=arrays["means"],
        spreads=arrays["spreads"],
        arrays={name.removeprefix("part/"): one for name, one in arrays.items() if name.startswith("part/")},
    )
    check_part(part)
    return part


PARTS: Final = PartForm(
    format=PART_FORMAT,
    kind="model part",
    describe=_describe,
    read=_read,
    unlike=unlike,
    # A part of an earlier release says no holders, and is one of two parties' in this form; or no size of keys, and
    # predicted with keys of the default size; or no label privacy, and had none.
    usual={"share_holders": [], "intersection_key_bits": DEFAULT_KEY_BITS, "label_privacy": None},
)
