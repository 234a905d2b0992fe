"""One party's part of a split network as a file, and what such a part must be to predict with."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from hekat.protocol.vertical_network.model_part import NetworkPart, usual_top_kind
from hekat.protocol.vertical_network.network_settings import NetworkShape
from hekat.protocol.vertical_network.settings import SHARED
from hekat.run.vertical.part_files import Arrays, Facts, PartForm, SavedPart, read_label_privacy, shared_facts
from hekat.run.vertical_network.part_checks import TEXTS, check_described, check_network_part
from hekat.state.file_format import FileFormat

NETWORK_FORMAT = FileFormat("part of a split network", ("0.3.0",))
SavedNetwork = SavedPart[NetworkPart]
_PREFIX: Final = "part/"
_OF_LABELS: Final = ("label_privacy", "labels_accepted")
# What the job said to all parties.
_ALIKE: Final = (
    "form",
    "guest",
    "hosts",
    "task",
    "classes",
    "epochs",
    "host_bottom",
    "protection",
    "network",
    "widths",
    "limit_spreads",
    *_OF_LABELS,
)


def _describe(part: NetworkPart) -> tuple[Facts, Arrays]:
    facts: dict[str, Any] = {name: getattr(part, name) for name in (*TEXTS, *_OF_LABELS, "epochs", "limit_spreads")}
    facts["network"], facts["widths"] = asdict(part.network), dict(part.widths)
    return facts, {f"{_PREFIX}{name}": values for name, values in part.arrays.items()}


def _read(described: Facts, arrays: Arrays) -> NetworkPart:
    # A file of an earlier release does not say it.
    usual_top = usual_top_kind(described["form"], is_guest=described["party"] == described["guest"])
    described = {"top_kind": usual_top, **described}
    check_described(described)
    part = NetworkPart(
        **shared_facts(described),
        **{name: described[name] for name in TEXTS},
        epochs=described["epochs"],
        network=NetworkShape(**described["network"]),
        widths=described["widths"],
        limit_spreads=float(described["limit_spreads"]),
        label_privacy=read_label_privacy(described),
        labels_accepted=described["labels_accepted"],
        arrays={name.removeprefix(_PREFIX): one for name, one in arrays.items() if name.startswith(_PREFIX)},
    )
    check_network_part(part)
    return part


def _unlike(first: NetworkPart, other: NetworkPart) -> list[str]:
    return [name for name in _ALIKE if getattr(first, name) != getattr(other, name)]


NETWORK_PARTS: Final = PartForm(
    format=NETWORK_FORMAT,
    kind="network part",
    describe=_describe,
    read=_read,
    unlike=_unlike,
    usual={"form": SHARED},
)
