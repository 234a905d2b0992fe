"""Tables that follow the code: messages and what they tell, committees, engine operations, the picture of layers."""

from __future__ import annotations

import dataclasses
import inspect
import re
import tomllib

import pytest
from tests.documents.markdown import CODE, ROOT, TEXTS, blocks, table_rows

from hekat.engine.interface import Engine
from hekat.own_loop.calls import messages as loop_messages
from hekat.own_loop.split import messages as split_loop_messages
from hekat.protocol.encrypted_model import messages as encrypted_model_messages
from hekat.protocol.encrypted_model.prediction import messages as encrypted_model_prediction_messages
from hekat.protocol.horizontal import messages
from hekat.protocol.psi import messages as psi_messages
from hekat.protocol.secure_sum.agreement import messages as sum_messages
from hekat.protocol.secure_sum.masked import messages as masked_messages
from hekat.protocol.secure_sum.masked.opening.committee import equivocation_bound, form_committee
from hekat.protocol.secure_sum.paillier import messages as paillier_messages
from hekat.protocol.secure_sum.plain import messages as plain_messages
from hekat.protocol.vertical_linear.arbiter import messages as arbiter_messages
from hekat.protocol.vertical_linear.prediction import messages as prediction_messages
from hekat.protocol.vertical_linear.shared_weights import messages as shared_weights_messages
from hekat.protocol.vertical_network import messages as network_messages
from hekat.protocol.vertical_network.guest_layer import messages as guest_layer_messages
from hekat.protocol.vertical_network.prediction import messages as network_prediction_messages
from hekat.protocol.vertical_network.sealed import messages as sealed_network_messages
from hekat.protocol.vertical_trees import messages as tree_messages
from hekat.protocol.vertical_trees.prediction import messages as tree_prediction_messages
from hekat.wire import disclosure_of, kind_name

SECURITY, ARCHITECTURE = TEXTS["SECURITY.md"], TEXTS["docs/explanation/architecture.md"]


def _message_types() -> list[type]:
    modules = (
        messages,
        sum_messages,
        masked_messages,
        paillier_messages,
        plain_messages,
        loop_messages,
        split_loop_messages,
        psi_messages,
        arbiter_messages,
        shared_weights_messages,
        prediction_messages,
        tree_messages,
        tree_prediction_messages,
        encrypted_model_messages,
        encrypted_model_prediction_messages,
        network_messages,
        guest_layer_messages,
        sealed_network_messages,
        network_prediction_messages,
    )
    members = [member for module in modules for member in inspect.getmembers(module)]
    return [value for _, value in members if dataclasses.is_dataclass(value) and isinstance(value, type)]


def test_the_disclosure_table_is_that_of_the_messages() -> None:
    section = SECURITY.split("## What each role learns")[1].split("What the parties find")[0]
    stated: dict[tuple[str, str], tuple[str, str]] = {}
    kind = ""
    for message, _, field, disclosure_class, tells in table_rows(section)[1:]:
        kind = message.strip("`") or kind
        stated[kind, field.strip("`")] = (disclosure_class, tells)
    declared = {
        (kind_name(message), field): disclosure
        for message in _message_types()
        for field, disclosure in disclosure_of(message).items()
    }
    assert set(stated) == set(declared)
    assert {key: disclosure.kind for key, disclosure in declared.items()} == {k: v[0] for k, v in stated.items()}
    for key, disclosure in declared.items():
        if disclosure.kind in ("disclosed", "sealed"):
            assert stated[key][1] == disclosure.detail


@pytest.mark.parametrize(
    ("name", "heading", "columns"),
    [
        ("docs/explanation/security.md", "## How many may work together", (0, 1, 2, 3, 4, 5, 6)),
        ("docs/spec/committee.md", "## Sizes", (0, 1, 2, 3, 6, 4, 7)),
    ],
)
def test_the_sizes_of_committees_are_those_of_the_code(name: str, heading: str, columns: tuple[int, ...]) -> None:
    """Parties, members, threshold, spare members, least included, dishonest members and parties that are borne."""
    rows = table_rows(TEXTS[name].split(heading)[1].split("\n## ")[0])[1:]
    assert len(rows) >= 7
    for row in rows:
        stated = [0 if row[column].strip("*") == "none" else int(row[column].strip("*")) for column in columns]
        count = stated[0]
        made = form_committee(
            names := [f"p{number}" for number in range(count)], names[:7], allow_two_parties=count == 2
        )
        members = len(made.members)
        borne = equivocation_bound(members, made.threshold)
        spare = members - made.threshold
        assert stated == [count, members, made.threshold, spare, made.least_included, borne, made.least_included - 2]


def test_the_engine_table_names_every_operation() -> None:
    section = ARCHITECTURE.split("## Engines")[1].split("\n## ")[0]
    named = {operation for row in table_rows(section)[1:] for operation in CODE.findall(row[0])}
    operations = {name for name, _ in inspect.getmembers(Engine, inspect.isfunction) if not name.startswith("_")}
    assert named == operations


def test_the_layer_picture_is_the_contract() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = [c["layers"] for c in contract["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    expected = [[part.strip().removeprefix("hekat.") for part in layer.split("|")] for layer in layers]
    picture = blocks(ARCHITECTURE.split("## Layers")[1], "")[0]
    # What a layer is for stands behind three spaces or more.
    names = [re.split(r" {3,}", line)[0] for line in picture.splitlines()]
    drawn = [[part.strip().split("/")[0] for part in name.split("|")] for name in names]
    assert drawn == expected
