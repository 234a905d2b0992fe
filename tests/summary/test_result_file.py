"""A role's result as a file: what is written is what is read, to the bit, and anything else is refused."""

from __future__ import annotations

import json

import pytest

from hekat.errors import StateError
from hekat.protocol.horizontal.training.training_state import RoundRecord
from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.summary.horizontal.role_result import RoleResult, TrainedFacts
from hekat.summary.horizontal.table_facts import TableFacts
from hekat.summary.horizontal.traffic import StepBytes, SumTraffic, Traffic
from hekat.summary.psi.role_result import IntersectionResult
from hekat.summary.result_file import decode_result, encode_result

RECORD = RoundRecord(1, 0.1 + 0.2, 3, 60, {"weight": 0.5}, 120, 3, {"auc": 1 / 3}, {"weight": 3}, {"weight": 60})
FULL = RoleResult(
    role="north",
    seconds=1e-9,
    seconds_by_step={"train": 0.25},
    traffic=Traffic(7, 9, {"sums": StepBytes(1, 2, 3, 4)}),
    table=TableFacts(40, 4, {"no": 20, "yes": 20}, False, ("a note",)),
    records=(RECORD,),
    metrics=({"accuracy": 0.5},),
    trained=TrainedFacts(1, (RECORD.loss,), {"accuracy": 0.5}, {}, 20),
    sum_traffic=SumTraffic(1, 2, 3, 4),
    packing=Packing(60, 18, 100, 1, 0.5, 0.9),
    members=("north", "east"),
    not_compared=("east",),
    keeps_older_committee=True,
    records_with_run=True,
    other_sums_accepted=True,
    model_caveats=("of a site's own code",),
)
BARE = RoleResult("hub", 2.0, {}, Traffic(0, 0))


@pytest.mark.parametrize("result", [FULL, BARE], ids=["a party's", "an aggregator's"])
def test_what_is_written_is_what_is_read(result) -> None:
    assert decode_result(encode_result(result, "horizontal"), RoleResult, "horizontal", "it") == result


def test_a_count_among_metrics_stays_a_count() -> None:
    """Reports refuse a number of rows that is none."""
    trained = TrainedFacts(1, (0.5,), {}, {"rows": 15, "accuracy": 1.0}, 20, ({"rows": 5, "rounds": 2},))
    kept = RoleResult("north", 1.0, {}, Traffic(0, 0), trained=trained)
    found = decode_result(encode_result(kept, "horizontal"), RoleResult, "horizontal", "it").trained
    assert found is not None
    assert type(found.validation["rows"]) is type(found.folds[0]["rounds"]) is int


def test_a_word_of_a_few_is_checked() -> None:
    result = IntersectionResult("bank", 1.0, {}, 1, 2, 3, "3 ids", "rows", 2)
    data = encode_result(result, "psi")
    assert decode_result(data, IntersectionResult, "psi", "it") == result
    with pytest.raises(StateError, match="damaged"):
        decode_result(data.replace(b'"rows"', b'"all"'), IntersectionResult, "psi", "it")


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(format=99),
        lambda content: content.update(protocol="psi"),
        lambda content: content.pop("result"),
        lambda content: content["result"].pop("traffic"),
        lambda content: content["result"].update(seconds="long"),
        lambda content: content["result"].update(records={}),
        lambda content: content["result"]["table"].update(rows=True),
    ],
)
def test_other_files_are_refused(change) -> None:
    content = json.loads(encode_result(FULL, "horizontal"))
    change(content)
    with pytest.raises(StateError):
        decode_result(json.dumps(content).encode(), RoleResult, "horizontal", "result.json")


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"null"])
def test_what_is_no_result_is_refused(data) -> None:
    with pytest.raises(StateError, match="damaged"):
        decode_result(data, RoleResult, "horizontal", "result.json")
