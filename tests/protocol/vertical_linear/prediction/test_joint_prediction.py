"""Joint prediction on plain parts: the receivers get the score, exactly, and nobody gets more than the ledger says."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from hekat.data import Table
from hekat.errors import BoundError, HekatError, InputError, JobError, PartyStoppedError, ProtocolError
from hekat.protocol.vertical_linear.prediction import PredictionSettings
from hekat.protocol.vertical_linear.prediction_masks import to_words
from hekat.protocol.vertical_linear.prediction_messages import (
    MaskedScoresMessage,
    PartialScoresMessage,
    PredictionSeedMessage,
    ScoresMessage,
    TargetSpreadMessage,
)

HOSTS = [("insurer",), ("insurer", "grocer"), ("insurer", "grocer", "phone")]


def refusal(error: PartyStoppedError) -> HekatError:
    assert isinstance(error.__cause__, HekatError)
    return error.__cause__


@pytest.mark.parametrize("hosts", HOSTS)
@pytest.mark.parametrize(("K", "task"), [(1, "logistic"), (3, "logistic"), (1, "linear")])
@pytest.mark.parametrize("who", ["guest", "host", "all"])
def test_receivers_get_the_score_of_all_columns_and_nobody_else_does(make_joint, hosts, K, task, who) -> None:
    joint = make_joint(len(hosts), hosts=hosts, K=K, task=task)
    receivers = {"guest": ("bank",), "host": (hosts[-1],), "all": (*reversed(hosts), "bank")}[who]
    results = joint.play(*receivers)
    spread = joint.parts["bank"].target_spread
    bound = (len(hosts) + 1) * 2.0**-33 * spread + 1e-12 * np.abs(joint.scores).max()
    for name, scores in results.items():
        if name in receivers:
            assert np.abs(scores - joint.scores).max() <= bound
        else:
            assert scores is None


def test_sparse_columns_and_columns_in_another_order_give_the_same_scores(make_joint) -> None:
    joint = make_joint(4)
    (before,) = (scores for scores in joint.play("bank").values() if scores is not None)
    rows = joint.tables["insurer"]
    joint.tables["insurer"] = Table(rows.features[:, ::-1], None, rows.feature_names[::-1], "insurer")
    guests = joint.tables["bank"]
    joint.tables["bank"] = replace(guests, features=csr_array(guests.features))
    np.testing.assert_allclose(joint.play("bank")["bank"], before, rtol=0, atol=2.0**-31)


# --- who learns what -------------------------------------------------------------------------------------------


def test_new_rows_are_kept_within_the_limit_of_training_sparse_ones_too(make_joint) -> None:
    joint = make_joint(4)
    limit = 0.75
    limited = {name: replace(part, limit_spreads=limit) for name, part in joint.parts.items()}
    expected = sum(
        np.clip((np.asarray(joint.tables[name].features) - part.means) / part.spreads, -limit, limit)
        @ part.arrays["weights"]
        for name, part in joint.parts.items()
    )
    expected = expected + joint.parts[joint.guest].arrays["intercept"]
    assert np.abs(expected - joint.scores).max() > 0.01
    joint.parts = limited
    np.testing.assert_allclose(joint.play(joint.guest)[joint.guest], expected, atol=1e-6)
    joint.tables = {
        name: replace(table, features=csr_array(np.asarray(table.features))) for name, table in joint.tables.items()
    }
    np.testing.assert_allclose(joint.play(joint.guest)[joint.guest], expected, atol=1e-6)


def test_two_other_parties_send_their_parts_under_masks_that_differ_each_time(make_joint, messages_of) -> None:
    joint = make_joint(5, hosts=("insurer", "grocer"), rows=400)
    seen = []
    for _ in range(2):
        joint.play("bank")
        assert messages_of(joint, "insurer", PartialScoresMessage) == []
        (seed,) = messages_of(joint, "insurer", PredictionSeedMessage)
        assert joint.heard["insurer"].sent[0][0] == "grocer"
        seen += [seed.seed]
        for host in ("insurer", "grocer"):
            (message,) = messages_of(joint, host, MaskedScoresMessage)
            seen.append(message.values.tobytes())
            # Uniform words: each of the 64 bits is set in half of 400 rows, 8 sigma either way.
            bits = np.unpackbits(message.values.view(np.uint8).reshape(400, 8), axis=1).mean(axis=0)
            assert np.abs(bits - 0.5).max() < 8 * 0.5 / np.sqrt(400)
    assert len(set(seen)) == len(seen)


def test_the_sum_of_masked_parts_is_that_of_the_plain_ones(make_joint, messages_of) -> None:
    joint = make_joint(6, hosts=("insurer", "grocer", "phone"), K=3)
    joint.play("bank")
    masked = [messages_of(joint, host, MaskedScoresMessage)[0].values for host in joint.parts if host != "bank"]
    plain = np.zeros_like(masked[0])
    for name, part in joint.parts.items():
        if name != "bank":
            own = (joint.tables[name].features - part.means) / part.spreads @ part.arrays["weights"]
            plain += to_words(own, 32, 4)
    assert (sum(masked[1:], masked[0]) == plain).all()


def test_the_spread_of_the_target_is_told_only_to_a_host_that_sums(make_joint, messages_of) -> None:
    joint = make_joint(7, hosts=("insurer", "grocer"), task="linear")
    joint.play("bank", "insurer")
    assert messages_of(joint, "bank", TargetSpreadMessage) == []
    joint.play("grocer", "insurer")
    told = [to for to, _, message in joint.heard["bank"].sent if isinstance(message, TargetSpreadMessage)]
    assert told == ["grocer"]
    # The other receiver gets scores alone.
    assert len(messages_of(joint, "grocer", ScoresMessage)) == 1
    learned = {(row.kind, row.disclosure_class) for row in joint.audits["insurer"].learned}
    assert ("vertical-linear/prediction-scores", "disclosed") in learned
    assert "vertical-linear/prediction-spread" not in {kind for kind, _ in learned}


def test_the_ledger_says_that_of_two_parties_one_learns_the_others_part(make_joint) -> None:
    joint = make_joint(8)
    joint.play("insurer")
    notes = {note.what for note in joint.audits["insurer"].notes if note.disclosure_class == "disclosed"}
    assert "the score of every row" in notes
    assert "the score less this party's own part: the part of 'bank' in every score" in notes
    learned = {row.kind: row.disclosure_class for row in joint.audits["insurer"].learned}
    assert learned["vertical-linear/prediction-part"] == "disclosed"
    assert {row.disclosure_class for row in joint.audits["bank"].learned} <= {"public"}
    assert joint.audits["bank"].notes == ()


def test_the_ledger_says_so_to_a_receiver_that_does_not_sum(make_joint) -> None:
    joint = make_joint(8)
    joint.play("bank", "insurer")
    for name, other in (("bank", "insurer"), ("insurer", "bank")):
        notes = {note.what for note in joint.audits[name].notes if note.disclosure_class == "disclosed"}
        assert f"the score less this party's own part: the part of {other!r} in every score" in notes
    learned = {row.kind: row.disclosure_class for row in joint.audits["insurer"].learned}
    assert learned["vertical-linear/prediction-scores"] == "disclosed"


def test_the_ledger_of_three_parties_speaks_of_the_score_alone(make_joint) -> None:
    joint = make_joint(9, hosts=("insurer", "grocer"))
    joint.play("bank")
    assert [note.what for note in joint.audits["bank"].notes] == ["the score of every row"]
    assert {row.disclosure_class for row in joint.audits["bank"].learned} == {"ciphertext"}
    assert {row.disclosure_class for row in joint.audits["grocer"].learned} == {"public", "sealed"}


# --- refusals --------------------------------------------------------------------------------------------------


def test_a_part_of_another_model_is_refused(make_joint) -> None:
    joint = make_joint(10, hosts=("insurer", "grocer"))
    joint.spoil("grocer", model_id="model-2")
    with pytest.raises(PartyStoppedError) as stop:
        joint.play("bank")
    assert isinstance(refusal(stop.value), ProtocolError)
    assert "another part of the model" in str(refusal(stop.value))


def test_other_rows_are_refused(make_joint) -> None:
    joint = make_joint(11)
    joint.tables["insurer"] = joint.tables["insurer"].take(np.arange(22))
    with pytest.raises(PartyStoppedError) as stop:
        joint.play("bank")
    assert "another number of rows; expected as at bank: 23; got at insurer: 22" in str(refusal(stop.value))


def test_no_rows_are_refused(make_joint) -> None:
    joint = make_joint(11)
    for name, table in joint.tables.items():
        joint.tables[name] = table.take(np.arange(0))
    with pytest.raises(PartyStoppedError) as stop:
        joint.play("bank")
    assert isinstance(refusal(stop.value), InputError)
    assert "no rows to predict" in str(refusal(stop.value))


def test_a_model_of_other_parties_is_refused(make_joint) -> None:
    joint = make_joint(12, hosts=("insurer", "grocer"))
    joint.spoil("insurer", hosts=("grocer", "insurer"))
    with pytest.raises(PartyStoppedError) as stop:
        joint.play("bank")
    assert isinstance(refusal(stop.value), InputError)
    assert "a model of other parties" in str(refusal(stop.value))


def test_other_receivers_are_refused(make_joint) -> None:
    joint = make_joint(12)
    with pytest.raises(PartyStoppedError) as stop:
        joint.play("bank", insurer=("insurer",))
    assert "other receivers" in str(refusal(stop.value))


def test_missing_and_unknown_columns_are_named(make_joint) -> None:
    joint = make_joint(13)
    rows = joint.tables["insurer"]
    joint.tables["insurer"] = Table(rows.features, None, ("age", *rows.feature_names[1:]), "insurer")
    with pytest.raises(PartyStoppedError) as stop:
        joint.play("bank")
    assert isinstance(refusal(stop.value), InputError)
    assert "missing 'insurer-0'; unknown 'age'" in str(refusal(stop.value))


def test_a_missing_value_is_refused(make_joint) -> None:
    joint = make_joint(14)
    features = joint.tables["bank"].features.copy()
    features[3, 1] = np.nan
    joint.tables["bank"] = replace(joint.tables["bank"], features=features)
    with pytest.raises(PartyStoppedError) as stop:
        joint.play("bank")
    assert "column 'bank-1', row 4" in str(refusal(stop.value))


def test_weights_that_are_no_numbers_and_scores_beyond_the_fixed_point_are_refused(make_joint) -> None:
    for factor, expected in ((np.nan, InputError), (2.0**40, BoundError)):
        joint = make_joint(15)
        arrays = dict(joint.parts["insurer"].arrays)
        joint.spoil("insurer", arrays={**arrays, "weights": arrays["weights"] * factor})
        with pytest.raises(PartyStoppedError) as stop:
            joint.play("bank")
        assert isinstance(refusal(stop.value), expected)


def test_the_largest_sum_does_not_wrap() -> None:
    most = np.array([[2.0**30 / 4 - 1]])
    words = [to_words(sign * most, 32, 4) for sign in (1, 1, 1, 1)]
    assert int(sum(words[1:], words[0]).view(np.int64)[0, 0]) == 4 * (2**28 - 1) * 2**32
    with pytest.raises(BoundError):
        to_words(most + 1, 32, 4)


@pytest.mark.parametrize("make", [PredictionSettings, PredictionSettings.between])
def test_a_text_is_not_read_as_a_name_for_each_letter(make) -> None:
    with pytest.raises(JobError, match="receivers") as refused:
        make("b", ("a", "n", "k"), "bank")
    assert refused.value.expected == "a list or tuple of names, such as ['bank']"


@pytest.mark.parametrize("receivers", [(), ("arbiter",), ("bank", "bank")])
def test_receivers_are_parties_of_the_model(receivers) -> None:
    with pytest.raises(JobError, match="receivers"):
        PredictionSettings("bank", ("insurer",), receivers)


def test_a_part_is_used_by_its_own_party(make_joint) -> None:
    joint = make_joint(16)
    joint.parts["insurer"] = joint.parts["bank"]
    with pytest.raises(PartyStoppedError, match="insurer"):
        joint.play("bank")


@pytest.mark.parametrize(
    ("message_type", "changes", "receivers", "says"),
    [
        (MaskedScoresMessage, {"values": np.zeros((22, 1), np.uint64)}, ("bank",), r"shape \(22, 1\)"),
        (ScoresMessage, {"scores": np.zeros((23, 2))}, ("bank", "grocer"), r"shape \(23, 2\)"),
        (ScoresMessage, {"scores": np.full((23, 1), np.nan)}, ("bank", "grocer"), "no finite numbers"),
        (PredictionSeedMessage, {"seed": bytes(16)}, ("bank",), "16"),
        (TargetSpreadMessage, {"spread": 0.0}, ("grocer",), "sent no spread"),
        (TargetSpreadMessage, {"spread": float("nan")}, ("grocer",), "sent no spread"),
    ],
)
def test_what_no_honest_party_sends_is_refused(make_joint, message_type, changes, receivers, says) -> None:
    joint = make_joint(17, hosts=("insurer", "grocer"), task="linear")
    joint.forge = lambda message: replace(message, **changes) if isinstance(message, message_type) else message
    with pytest.raises(PartyStoppedError) as stop:
        joint.play(*receivers)
    assert isinstance(refusal(stop.value), ProtocolError)
    assert re.search(says, str(refusal(stop.value)))
