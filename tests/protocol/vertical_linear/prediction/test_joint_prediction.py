"""Joint prediction on plain parts: the receivers get the score, exactly, and nobody gets more than the ledger says."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from hekat.data import Table
from hekat.errors import BoundError, HekatError, InputError, JobError, PartyStoppedError, PolicyError, ProtocolError
from hekat.protocol.vertical_linear.prediction.masks import to_words
from hekat.protocol.vertical_linear.prediction.messages import (
    MaskedScoresMessage,
    PartialScoresMessage,
    PredictionCallMessage,
    PredictionSeedMessage,
    ScoresMessage,
    TargetSpreadMessage,
)
from hekat.protocol.vertical_linear.prediction.settings import PredictionSettings

HOSTS = [("insurer",), ("insurer", "grocer"), ("insurer", "grocer", "phone")]


def refusal(error: PartyStoppedError) -> HekatError:
    assert isinstance(error.__cause__, HekatError)
    return error.__cause__


@pytest.mark.quick_values
@pytest.mark.parametrize("hosts", HOSTS)
@pytest.mark.parametrize(("K", "task"), [(1, "logistic"), (3, "logistic"), (1, "linear")])
@pytest.mark.parametrize("who", ["guest", "host", "all"])
def test_receivers_get_the_score_of_all_columns_and_nobody_else_does(make_joint, hosts, K, task, who) -> None:
    joint = make_joint(len(hosts), hosts=hosts, K=K, task=task)
    receivers = {"guest": ("bank",), "host": (hosts[-1],), "all": (*reversed(hosts), "bank")}[who]
    results = joint.play(*receivers)
    spread = joint.parts["bank"].target_spread
    bound = (len(hosts) + 1) * 2.0**-13 * spread + 1e-12 * np.abs(joint.scores).max()
    for name, scores in results.items():
        if name in receivers:
            assert np.abs(scores - joint.scores).max() <= bound
        else:
            assert scores is None


def test_sparse_columns_and_columns_in_another_order_give_the_same_scores(make_joint) -> None:
    joint = make_joint(4)
    joint.score_bits = 32
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
    joint.parts, joint.score_bits = limited, 32
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
            plain += to_words(own, 12, 4)
    assert (sum(masked[1:], masked[0]) == plain).all()


@pytest.mark.sealed
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


@pytest.mark.sealed
def test_the_ledger_says_that_of_two_parties_one_learns_the_others_part(make_joint) -> None:
    joint = make_joint(8)
    joint.play("insurer")
    notes = {note.what for note in joint.audits["insurer"].notes if note.disclosure_class == "disclosed"}
    assert "the score of every row, to 2^-12" in notes
    assert "the score less this party's own part: the part of 'bank' in every score" in notes
    learned = {row.kind: row.disclosure_class for row in joint.audits["insurer"].learned}
    assert learned["vertical-linear/prediction-part"] == "disclosed"
    assert {row.disclosure_class for row in joint.audits["bank"].learned} <= {"public"}
    assert joint.audits["bank"].notes == ()


@pytest.mark.sealed
def test_the_ledger_says_so_to_a_receiver_that_does_not_sum(make_joint) -> None:
    joint = make_joint(8)
    joint.play("bank", "insurer")
    for name, other in (("bank", "insurer"), ("insurer", "bank")):
        notes = {note.what for note in joint.audits[name].notes if note.disclosure_class == "disclosed"}
        assert f"the score less this party's own part: the part of {other!r} in every score" in notes
    learned = {row.kind: row.disclosure_class for row in joint.audits["insurer"].learned}
    assert learned["vertical-linear/prediction-scores"] == "disclosed"


@pytest.mark.sealed
def test_the_ledger_of_three_parties_speaks_of_the_score_alone(make_joint) -> None:
    joint = make_joint(9, hosts=("insurer", "grocer"))
    joint.play("bank")
    assert [note.what for note in joint.audits["bank"].notes] == ["the score of every row, to 2^-12"]
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
        joint.score_bits = 32
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


# --- how finely, and how often ---------------------------------------------------------------------------------


def parts_sent(joint, messages_of, host: str) -> np.ndarray:
    (message,) = messages_of(joint, host, PartialScoresMessage)
    return message.values.view(np.int64)[:, 0]


def test_of_two_parties_the_others_part_leaves_it_rounded(make_joint, messages_of) -> None:
    """The receiver always has the other's part of every row, but not the digits that would tell its columns."""
    joint = make_joint(30, rows=200)
    joint.play("bank")
    part = joint.parts["insurer"]
    exact = ((joint.tables["insurer"].features - part.means) / part.spreads @ part.arrays["weights"])[:, 0]
    assert parts_sent(joint, messages_of, "insurer").tolist() == np.rint(exact * 2**12).tolist()
    # Asked again beside other columns of the guest's, the host sends the same part: no mean of answers is finer.
    joint.tables["bank"] = replace(joint.tables["bank"], features=joint.tables["bank"].features + 0.01)
    before = parts_sent(joint, messages_of, "insurer")
    joint.play("bank")
    assert (parts_sent(joint, messages_of, "insurer") == before).all()


def guess_columns(parts: np.ndarray, unit: float) -> int:
    """How many tables of two columns of 0 and 1 give these parts of scores, each known up to half a unit, under 41 * 41
    pairs of weights that lie 2^-20 apart."""
    grid = 0.7 + np.arange(41) * 2.0**-20
    weights = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float64)
    possible = weights @ rows.T
    fits = [(np.abs(possible - part) <= unit / 2 + 1e-12).sum(axis=1) for part in parts]
    return int(np.prod(fits, axis=0).sum())


def test_digits_beyond_the_twelfth_would_tell_which_cells_a_part_is_made_of() -> None:
    """Parts told to 2^-32 fit one choice of weights and cells alone, in either order; parts told to 2^-12 fit
    thousands."""
    weights = 0.7 + np.array([7, 23]) * 2.0**-20
    parts = np.array([[0, 1], [1, 0], [1, 1]]) @ weights
    assert guess_columns(parts, 2.0**-32) == 2
    assert guess_columns(np.rint(parts * 2**12) / 2**12, 2.0**-12) > 1000


@pytest.mark.parametrize("bits", [1, 5, 12, 20, 40])
def test_scores_are_told_as_finely_as_agreed_and_no_finer_than_they_are_computed(make_joint, bits: int) -> None:
    joint = make_joint(31, hosts=("insurer", "grocer"))
    joint.score_bits = bits
    scores = joint.play("bank")["bank"]
    told = min(bits, 32)
    assert (scores * 2.0**told == np.rint(scores * 2.0**told)).all()
    assert np.abs(scores - joint.scores).max() <= 3 * 2.0 ** -(told + 1) + 1e-9


def test_who_would_have_scores_finer_than_the_others_is_refused(make_joint) -> None:
    joint = make_joint(32)
    joint.forge = lambda message: (
        replace(message, score_bits=32) if isinstance(message, PredictionCallMessage) else message
    )
    with pytest.raises(PartyStoppedError, match="other score_bits") as stop:
        joint.play("bank")
    assert isinstance(refusal(stop.value), ProtocolError)
    assert joint.heard["insurer"].sent == []


@pytest.mark.parametrize("bits", [0, 41, 12.0, True, "12"])
def test_score_bits_that_are_none_are_refused(bits) -> None:
    with pytest.raises(JobError, match="score_bits of a prediction refused"):
        PredictionSettings("bank", ("insurer",), ("bank",), bits)


@pytest.mark.parametrize("party", ["bank", "insurer"])
def test_a_site_that_lets_no_more_be_predicted_sends_nothing(make_joint, party: str) -> None:
    joint, counted = make_joint(33), []

    def count(name: str, row_count: int) -> None:
        counted.append((name, row_count))
        if name == party:
            raise PolicyError("enough")

    joint.count_predictions = count
    with pytest.raises(PartyStoppedError) as stop:
        joint.play("bank")
    assert isinstance(refusal(stop.value), PolicyError)
    assert (party, 23) in counted
    assert joint.heard[party].sent == []
