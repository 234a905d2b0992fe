"""Runs that go wrong: parties that raise, models that part, aggregators with another sum, keys gone astray."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from hekat.errors import (
    BoundError,
    HekatError,
    InputError,
    ModelsDifferError,
    PartyStoppedError,
    PolicyError,
    WireKindError,
    WireVersionError,
)
from hekat.ledger import audit
from hekat.protocol.horizontal.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal.party import run_party
from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.horizontal.training.local_run import LocalRun
from hekat.protocol.secure_sum.paillier import start_up
from hekat.protocol.secure_sum.paillier.aggregator import PaillierSummation
from hekat.protocol.secure_sum.paillier.messages import (
    PublicKeyMessage,
    SharedSecretsMessage,
    SumMessage,
    UpdateMessage,
)
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.run.rows.different_models import says_models_differ
from hekat.scheme.paillier import Ciphertexts, PublicKey, add
from hekat.wire import from_bytes, to_bytes
from hekat.wire.frame import read_frame, write_frame

ONE_GRADIENT = TrainingSettings(algorithm="fedsgd", round_count=3, batch_rows=0)


@pytest.mark.quick_values
@pytest.mark.parametrize("party", ["a", "b", "c"])
@pytest.mark.parametrize("protection", ["paillier", "none"])
def test_a_party_that_raises_ends_the_run_with_its_name_and_what_was_saved(
    party, protection, rehearse, tables_of, settings_of, monkeypatch
) -> None:
    from hekat.protocol.horizontal.training import loop as training

    original = training._Trainer._work_locally
    first_round_saved = threading.Event()

    def fail(trainer, number):
        if trainer._party == party and number == 2:
            assert first_round_saved.wait(timeout=30)
            raise ZeroDivisionError("secret value 4711")
        return original(trainer, number)

    monkeypatch.setattr(training._Trainer, "_work_locally", fail)
    rehearsal = rehearse(settings_of(training=ONE_GRADIENT, protection=protection), tables_of(1))
    rehearsal.on_saved = first_round_saved.set
    with pytest.raises(PartyStoppedError, match=rf"party '{party}' stopped in step 'round-1/end'") as caught:
        rehearsal.run()
    assert caught.value.party == party
    assert caught.value.saved == "checkpoint of round 1"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert "4711" not in str(caught.value)
    assert [state.rounds_done for state in rehearsal.saved] == [1]


def test_nothing_is_said_to_be_saved_before_the_first_round(rehearse, tables_of, settings_of) -> None:
    tables = tables_of(1)
    settings = settings_of(training=ONE_GRADIENT)

    def leave(channel):
        raise InputError("no rows today")

    with pytest.raises(PartyStoppedError, match="no rows today") as caught:
        rehearse(settings, tables, stand_ins={"b": leave}).run()
    assert (caught.value.party, caught.value.saved) == ("b", "")


def test_a_party_that_just_leaves_is_named(rehearse, tables_of, settings_of) -> None:
    with pytest.raises(PartyStoppedError) as caught:
        rehearse(settings_of(training=ONE_GRADIENT), tables_of(1), stand_ins={"c": lambda channel: None}).run()
    assert caught.value.party == "c"


@pytest.mark.parametrize("protection", ["paillier", "none"])
def test_parties_with_different_models_are_found_and_named(protection, rehearse, tables_of, settings_of) -> None:
    tables = tables_of(1)
    settings = settings_of(training=ONE_GRADIENT, protection=protection)
    other = replace(settings, training=replace(ONE_GRADIENT, learning_rate=2 * ONE_GRADIENT.learning_rate))
    rehearsal = rehearse(settings, tables, exactness_check=False)
    rehearsal.stand_ins = {
        "b": lambda channel: run_party(channel, tables["b"], other, rehearsal._party_run("b", channel, None))
    }
    with pytest.raises(PartyStoppedError) as caught:
        rehearsal.run()
    assert isinstance(caught.value.__cause__, ModelsDifferError)
    assert caught.value.party == settings.aggregator
    assert "a, c | b" in str(caught.value)
    assert says_models_differ(caught.value), "whoever keeps the run's folder sets its checkpoint aside"


def test_parties_with_other_columns_or_labels_are_refused(rehearse, tables_of, settings_of) -> None:
    tables = tables_of(1)
    renamed = replace(tables["b"], feature_names=("u", "v", "w", "y"))
    with pytest.raises(PartyStoppedError, match="parties a and b do not have the same columns"):
        rehearse(settings_of(), {**tables, "b": renamed}).run()
    numbers = replace(tables["c"], labels=tables["c"].labels.astype(float))
    with pytest.raises(PartyStoppedError, match="same kind of labels"):
        rehearse(settings_of(), {**tables, "c": numbers}).run()
    sparse = replace(tables["c"], features=csr_array(tables["c"].features))
    with pytest.raises(PartyStoppedError, match=r"parties a and c do not have the same kind of labels or rows"):
        rehearse(settings_of(), {**tables, "c": sparse}).run()


def test_a_party_without_labels_stops_before_it_sends_anything(rehearse, tables_of, settings_of, tmp_path) -> None:
    tables = tables_of(1)
    with pytest.raises(PartyStoppedError, match="party b has no labels"):
        rehearse(settings_of(), {**tables, "b": replace(tables["b"], labels=None)}, ledger_folder=tmp_path).run()
    lines = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert not any("ready" in json.dumps(line) for line in lines)


def test_more_rows_than_weight_max_are_refused_by_the_party_itself(rehearse, tables_of, settings_of) -> None:
    with pytest.raises(PartyStoppedError, match="weight_max") as caught:
        rehearse(settings_of(weight_max=39), tables_of(1)).run()
    assert isinstance(caught.value.__cause__, PolicyError)


# --- an aggregator that does not add what it was given ---------------------------------------------------------------


class WrongSummation(PaillierSummation):
    """Adds as `change` says: total from the list of all parties' ciphertexts."""

    change = staticmethod(lambda received, key: received[0])

    def serve(self, step: str, then: str = "") -> None:
        received = []
        for party in self._settings.parties:
            update = self._channel.receive(party, f"{step}/update", UpdateMessage)
            received.append(from_bytes(update.ciphertexts, Ciphertexts, public_key=self._key))
        total = self.change(received, self._key) if step.startswith("round") else add(add(*received[:2]), received[2])
        message = SumMessage(ciphertexts=to_bytes(total), addend_count=len(self._settings.parties))
        for party in self._settings.parties:
            self._channel.send(party, f"{step}/sum", message)


def dropped(received, key):
    return add(received[0], received[1])


def doubled(received, key):
    return add(add(add(received[0], received[1]), received[2]), received[2])


def altered(received, key):
    """Another valid ciphertext under the same key: the sum with itself."""
    total = add(add(*received[:2]), received[2])
    return add(total, total)


def one_for_all(received, key):
    """One party's update times four."""
    twice = add(received[0], received[0])
    return add(twice, twice)


def shortened(received, key):
    return add(add(*received[:2]), received[2]).take(np.arange(0))


@pytest.mark.quick_cases(
    "balanced-dropped", "two_sign_bits-doubled", "offset-altered", "balanced-one_for_all", "two_sign_bits-shortened"
)
@pytest.mark.parametrize("change", [dropped, doubled, altered, one_for_all, shortened])
@pytest.mark.parametrize("layout", ["balanced", "offset", "two_sign_bits"])
def test_an_aggregator_that_returns_another_sum_is_found_out(
    change, layout, rehearse, tables_of, settings_of, monkeypatch
) -> None:
    tables = tables_of(1)
    codec = CodecSettings(layout=layout, clipping="fixed", alpha=1.0)
    settings = settings_of(training=ONE_GRADIENT, codec=codec)
    wrong = type("Wrong", (WrongSummation,), {"change": staticmethod(change)})
    monkeypatch.setattr(start_up, "PaillierSummation", wrong)
    rehearsal = rehearse(settings, tables, exactness_check=False)
    with pytest.raises(PartyStoppedError) as caught:
        rehearsal.run()
    assert caught.value.party in settings.parties
    assert "round-1/sum" in caught.value.step
    assert isinstance(caught.value.__cause__, HekatError)
    assert rehearsal.records == []


def test_a_sum_that_claims_other_contributors_is_refused(rehearse, tables_of, settings_of, monkeypatch) -> None:
    tables = tables_of(1)

    class Claiming(PaillierSummation):
        def serve(self, step: str, then: str = "") -> None:
            total = None
            for party in self._settings.parties:
                update = self._channel.receive(party, f"{step}/update", UpdateMessage)
                found = from_bytes(update.ciphertexts, Ciphertexts, public_key=self._key)
                total = found if total is None else add(total, found)
            for party in self._settings.parties:
                self._channel.send(party, f"{step}/sum", SumMessage(ciphertexts=to_bytes(total), addend_count=2))

    monkeypatch.setattr(start_up, "PaillierSummation", Claiming)
    with pytest.raises(PartyStoppedError, match="not the sum that was asked for"):
        rehearse(settings_of(training=ONE_GRADIENT), tables).run()


# --- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wrong", "cause"), [("the private key", WireKindError), ("no proof", WireVersionError)])
def test_another_key_where_the_public_one_belongs_is_refused(
    rehearse, tables_of, settings_of, key_pair, wrong, cause
) -> None:
    tables = tables_of(1)
    unproven = write_frame("paillier/public-key", 1, read_frame(to_bytes(key_pair.public)).body)
    sent = to_bytes(key_pair.private) if wrong == "the private key" else unproven
    settings = settings_of(training=ONE_GRADIENT)
    rehearsal = rehearse(settings, tables)

    class Careless:
        """The leader's channel, but the message with the public key carries another."""

        def __init__(self, channel):
            self._channel = channel

        def __getattr__(self, name):
            return getattr(self._channel, name)

        def send(self, to, step, message):
            if isinstance(message, PublicKeyMessage):
                message = PublicKeyMessage(public_key=sent)
            self._channel.send(to, step, message)

    def lead(channel):
        return run_party(Careless(channel), tables["a"], settings, rehearsal._party_run("a", channel, None))

    rehearsal.stand_ins = {"a": lead}
    with pytest.raises(PartyStoppedError) as caught:
        rehearsal.run()
    assert caught.value.party == settings.aggregator
    assert isinstance(caught.value.__cause__, cause)
    assert str(int(key_pair.private.p)) not in str(caught.value)


def test_a_key_of_another_size_than_the_jobs_is_refused(rehearse, tables_of, settings_of, paillier_keys) -> None:
    rehearsal = rehearse(replace(settings_of(), key_bits=3072), tables_of(1))
    with pytest.raises(PartyStoppedError, match="the leader's key is not the job's"):
        rehearsal.run()


def test_the_aggregator_receives_ciphertexts_and_what_is_declared_and_never_a_key(
    rehearse, tables_of, settings_of, tmp_path, key_pair
) -> None:
    settings = settings_of(training=ONE_GRADIENT)
    rehearsal = rehearse(settings, tables_of(1), ledger_folder=tmp_path)
    seen: list[tuple[str, object]] = []

    def watch(channel):
        receive = channel.receive

        def look(sender, step, message_type, timeout_s=None):
            message = receive(sender, step, message_type, timeout_s)
            seen.append((step, message))
            return message

        channel.receive = look
        run_aggregator(channel, settings, AggregatorRun(Stopwatch()))

    rehearsal.stand_ins = {settings.aggregator: watch}
    rehearsal.run()
    report = audit(tmp_path / "hub.jsonl", rehearsal.party_keys["hub"].public)
    assert report.signed
    learned = {(row.kind, row.field, row.disclosure_class) for row in report.learned}
    assert learned == {
        ("horizontal/ready", "schema", "disclosed"),
        ("horizontal/ready", "columns", "disclosed"),
        ("horizontal/ready", "model_code", "disclosed"),
        ("horizontal/ready", "tensors", "disclosed"),
        ("horizontal/ready", "model_start", "disclosed"),
        ("horizontal/public-key", "public_key", "public"),
        ("horizontal/update", "ciphertexts", "ciphertext"),
        ("horizontal/round-end", "model_digest", "disclosed"),
        ("horizontal/round-end", "finished", "public"),
    }
    secrets = [
        int(prime).to_bytes(128, order)
        for prime in (key_pair.private.p, key_pair.private.q)
        for order in ("big", "little")
    ]
    for step, message in seen:
        content = to_bytes(message)
        assert not any(secret in content for secret in secrets), step
        if isinstance(message, UpdateMessage):
            ciphertexts = from_bytes(message.ciphertexts, Ciphertexts, public_key=key_pair.public)
            assert ciphertexts.public.fingerprint == key_pair.public.fingerprint
        if isinstance(message, PublicKeyMessage):
            assert from_bytes(message.public_key, PublicKey).fingerprint == key_pair.public.fingerprint
    updates = [message.ciphertexts for _, message in seen if isinstance(message, UpdateMessage)]
    # Four standardiser sums, one histogram, three rounds, at three parties: no ciphertext ever comes twice.
    assert len(updates) == len(set(updates)) == 3 * 8


def test_only_parties_learn_the_shared_secrets_and_no_ledger_holds_them(
    rehearse, tables_of, settings_of, tmp_path, key_pair
) -> None:
    settings = settings_of(training=ONE_GRADIENT)
    rehearsal = rehearse(settings, tables_of(1), ledger_folder=tmp_path)
    rehearsal.run()
    for name in settings.everyone:
        report = audit(tmp_path / f"{name}.jsonl", rehearsal.party_keys[name].public)
        secret = {row.kind for row in (*report.learned, *report.given) if row.disclosure_class == "sealed"}
        expected = set() if name == settings.aggregator else {"horizontal/shared-secrets"}
        assert secret == expected, name
        text = (tmp_path / f"{name}.jsonl").read_text()
        for prime in (key_pair.private.p, key_pair.private.q):
            assert str(int(prime)) not in text
            assert f"{int(prime):x}" not in text.lower()
        assert all(json.loads(line) for line in text.splitlines())


def test_ranges_are_disclosed_only_where_daciq_needs_them(rehearse, tables_of, settings_of, tmp_path) -> None:
    codec = CodecSettings(clipping="daciq")
    rehearsal = rehearse(settings_of(training=ONE_GRADIENT, codec=codec), tables_of(1), ledger_folder=tmp_path)
    rehearsal.run()
    report = audit(tmp_path / "hub.jsonl", rehearsal.party_keys["hub"].public)
    disclosed = {
        row.field for row in report.learned if row.kind == "horizontal/range" and row.disclosure_class == "disclosed"
    }
    assert disclosed == {"minimum", "maximum"}


def test_messages_and_runs_do_not_print_secrets(key_pair, rehearse, tables_of, settings_of) -> None:
    rehearsal = rehearse(settings_of(), tables_of(1))
    shared = SharedSecretsMessage(private_key=to_bytes(key_pair.private), digest_key=b"K" * 32)
    prime = int(key_pair.private.p)
    local = LocalRun(Stopwatch(), lambda record, state: None, lambda state: None, digest_key=b"K" * 32)
    assert "KKK" not in repr(local)
    for thing in (rehearsal, key_pair, key_pair.private):
        assert str(prime) not in repr(thing)
        assert f"{prime:x}" not in repr(thing).lower()
    assert to_bytes(key_pair.private)[-40:].hex() not in repr(shared)
    assert repr(to_bytes(key_pair.private))[2:60] not in repr(shared), "a message's repr leaves sealed fields out"


def test_the_bound_check_stops_a_run_whose_codec_is_wrong(rehearse, tables_of, settings_of, monkeypatch) -> None:
    from hekat.protocol.secure_sum.update_codec import UpdateCodec

    original = UpdateCodec.decode

    def off(self, plain, like, bounds, counters, addend_count):
        found = original(self, plain, like, bounds, counters, addend_count)
        return replace(found, mean={name: values * 1.01 for name, values in found.mean.items()})

    monkeypatch.setattr(UpdateCodec, "decode", off)
    with pytest.raises(PartyStoppedError, match="further from the float one") as caught:
        rehearse(settings_of(training=ONE_GRADIENT), tables_of(1)).run()
    assert isinstance(caught.value.__cause__, BoundError)
