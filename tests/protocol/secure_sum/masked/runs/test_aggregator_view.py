"""What the aggregator sees of a run: fields of stated kinds, and no byte of a share, a seed, a key or a secret."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.ledger import audit
from hekat.protocol.secure_sum import run_keys
from hekat.protocol.secure_sum.masked.messages import (
    MaskedBlockMessage,
    StatementMessage,
)
from hekat.protocol.secure_sum.masked.opening import opening_schemes as opening_schemes
from hekat.protocol.secure_sum.masked.opening.field import to_field
from hekat.protocol.secure_sum.masked.opening.opening_schemes import AuthorityScheme, CommitteeScheme, SharedKeyScheme
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.wire import to_bytes

OPENINGS = ("committee", "authority", "shared")
# What the aggregator is told beside ciphertexts and public facts.
DISCLOSED = {
    ("horizontal/checked", "values"),
    ("horizontal/upload", "agreement"),
    ("horizontal/ready", "columns"),
    ("horizontal/ready", "model_code"),
    ("horizontal/ready", "model_start"),
    ("horizontal/ready", "schema"),
    ("horizontal/ready", "tensors"),
    ("horizontal/round-end", "model_digest"),
}
KINDS = {
    "horizontal/ready",
    "horizontal/upload-counter",
    "horizontal/released-groups",
    "horizontal/dealt",
    "horizontal/upload",
    "horizontal/checked",
    "horizontal/masked-block",
    "horizontal/statement",
    "horizontal/released",
    "horizontal/opened",
    "horizontal/round-end",
}
# In the widest form, 8 bytes, these are 12 coefficients: no run of so many zeros comes by chance.
LEAST_BYTES = 96


class Secrets:
    """Everything secret that the roles of a run make, as the bytes in which it could leave."""

    def __init__(self, monkeypatch) -> None:
        self.found: list[bytes] = []
        for scheme in (CommitteeScheme, AuthorityScheme, SharedKeyScheme):
            monkeypatch.setattr(scheme, "deal", self._watch_deal(scheme.deal))
            monkeypatch.setattr(scheme, "combine", self._watch(scheme.combine))
            monkeypatch.setattr(scheme, "read", self._watch_read(scheme.read))
            monkeypatch.setattr(scheme, "open", self._watch_open(scheme.open))
        monkeypatch.setattr(opening_schemes, "derive_seed", self._watch(opening_schemes.derive_seed))
        original = run_keys.secrets.token_bytes
        monkeypatch.setattr(run_keys.secrets, "token_bytes", self._watch(original))

    def _add(self, *values: bytes) -> None:
        self.found += [value for value in values if value]

    def _add_small(self, coefficients) -> None:
        """In every width that something of this release writes."""
        self._add(*(coefficients.astype(kind).tobytes() for kind in (np.int8, "<i2", "<i4", "<i8")))
        self._add(to_field(coefficients).astype("<u2").tobytes(), to_field(coefficients).astype("<u8").tobytes())

    def _watch(self, original):
        def watched(*arguments):
            result = original(*arguments)
            self._add(bytes(result))
            return result

        return watched

    def _watch_read(self, original):
        def read(*arguments):
            share = original(*arguments)
            self._add(share.astype("<u2").tobytes())
            return share

        return read

    def _watch_deal(self, original):
        def deal(scheme, *arguments):
            dealt = original(scheme, *arguments)
            self._add_small(dealt.secret.coefficients)
            # Seeds of an authority, or the keys of a committee's members.
            self._add(*dealt.messages.values())
            return dealt

        return deal

    def _watch_open(self, original):
        def opened(scheme, *arguments):
            secret_sum, wrong = original(scheme, *arguments)
            self._add_small(secret_sum.coefficients)
            return secret_sum, wrong

        return opened

    def seen_in(self, payload: bytes) -> bool:
        """Whether any piece of LEAST_BYTES at the beginning, middle or end of a secret is in the payload."""
        for secret in self.found:
            middle = len(secret) // 2
            for start in {0, max(0, middle - LEAST_BYTES // 2), max(0, len(secret) - LEAST_BYTES)}:
                if secret[start : start + LEAST_BYTES] in payload:
                    return True
        return False


@pytest.mark.parametrize("opening", OPENINGS)
def test_its_ledger_has_ciphertexts_public_facts_and_what_is_declared(
    opening, rehearse_masked, masked_settings, tmp_path
) -> None:
    settings = masked_settings(5, opening, codec=CodecSettings())
    rehearsal = rehearse_masked(settings, ledger_folder=tmp_path)
    rehearsal.run()
    report = audit(tmp_path / "hub.jsonl", rehearsal.party_keys["hub"].public)
    assert {row.disclosure_class for row in report.learned} == {"ciphertext", "public", "disclosed"}
    disclosed = {(row.kind, row.field) for row in report.learned if row.disclosure_class == "disclosed"}
    expected = DISCLOSED if opening != "shared" else DISCLOSED - {("horizontal/checked", "values")}
    assert disclosed == expected
    released = set() if opening == "shared" else {("horizontal/released", "release")}
    assert {(row.kind, row.field) for row in report.learned if row.disclosure_class == "ciphertext"} == {
        ("horizontal/masked-block", "written"),
        ("horizontal/upload", "block"),
        ("horizontal/dealt", "offset"),
        *released,
    }
    without = {"horizontal/checked", "horizontal/released"} if opening == "shared" else set()
    assert {row.kind for row in report.learned} == KINDS - without
    given = {(row.kind, row.field) for row in report.given if row.disclosure_class == "disclosed"}
    assert given <= {("horizontal/included", "agreement")}
    assert {row.disclosure_class for row in report.given} <= {"ciphertext", "public", "disclosed"}


@pytest.mark.long_cases("committee")
@pytest.mark.parametrize("opening", OPENINGS)
def test_no_byte_that_it_receives_or_sends_is_of_a_secret(opening, play, masked_settings, monkeypatch) -> None:
    secrets = Secrets(monkeypatch)
    payloads: list[bytes] = []

    def watch_sent(to, step, message):
        payloads.append(to_bytes(message))

    rehearsal, watch, error = play(watch_sent, settings=masked_settings(5, opening, codec=CodecSettings()))
    assert error is None
    received = [to_bytes(message) for _, _, message in watch.received]
    # Two uploads (the histogram and the round) of five parties at the least.
    assert len(secrets.found) >= 2 * 5 * 6
    assert sum(isinstance(message, MaskedBlockMessage) for _, _, message in watch.received) == 2 * 5
    assert not any(secrets.seen_in(payload) for payload in [*received, *payloads])
    assert rehearsal.lost == []


@pytest.mark.parametrize(
    "piece",
    [
        lambda secret: secret.astype(np.int8).tobytes()[-96:],
        lambda secret: to_field(secret).astype("<u2").tobytes()[:96],
        lambda secret: secret.astype("<i4").tobytes()[4096 - 48 : 4096 + 48],
    ],
    ids=["bytes", "field elements", "words"],
)
def test_a_secret_that_somebody_sent_would_be_seen(piece, rehearse_masked, meddle, monkeypatch) -> None:
    """The control of the test above: a piece of a secret in a public field."""
    secrets = Secrets(monkeypatch)
    received: list[bytes] = []

    def careless(to, step, message):
        if isinstance(message, StatementMessage):
            secret = np.frombuffer(next(value for value in secrets.found if len(value) == 2048), np.int8)
            message = StatementMessage(message.upload_digest, piece(secret), message.signature)
        return [(step, message)]

    def keep(sender, step, message):
        received.append(to_bytes(message))
        return message

    rehearsal = rehearse_masked(meddlers={"c": meddle(careless), "hub": meddle(incoming=keep)})
    rehearsal.run()
    assert rehearsal.lost_names == ["c"]
    assert sum(secrets.seen_in(payload) for payload in received) == 1


def test_uploads_of_one_update_have_nothing_in_common(play, masked_settings) -> None:
    """The same tables, model and round in two runs: what the aggregator gets of it does not repeat."""

    def blocks() -> list[bytes]:
        _, watch, error = play(lambda *message: None, settings=masked_settings(5))
        assert error is None
        return [message.written for _, _, message in watch.received if isinstance(message, MaskedBlockMessage)]

    first, second = blocks(), blocks()
    assert len({*first, *second}) == 10


@pytest.mark.parametrize("opening", OPENINGS)
def test_sealed_fields_go_between_openers_and_parties_alone(
    opening, rehearse_masked, masked_settings, tmp_path
) -> None:
    rehearsal = rehearse_masked(masked_settings(5, opening), ledger_folder=tmp_path)
    rehearsal.run()
    secret_kinds = {
        "committee": {"horizontal/run-secrets", "horizontal/share-keys"},
        "authority": {"horizontal/run-secrets", "horizontal/share"},
        "shared": {"horizontal/run-secrets"},
    }[opening]
    for name in rehearsal.settings.everyone:
        report = audit(tmp_path / f"{name}.jsonl", rehearsal.party_keys[name].public)
        sealed = {row.kind for row in (*report.learned, *report.given) if row.disclosure_class == "sealed"}
        assert sealed == (set() if name == "hub" else secret_kinds), name


@pytest.mark.parametrize("opening", OPENINGS)
def test_messages_and_runs_print_no_secret(opening, play, masked_settings, monkeypatch) -> None:
    secrets = Secrets(monkeypatch)
    shown: list[str] = []

    def show(to, step, message):
        shown.append(repr(message))

    rehearsal, _, error = play(show, role="a", settings=masked_settings(5, opening))
    assert error is None
    text = " ".join([*shown, repr(rehearsal)])
    assert any("ShareKeysMessage" in line for line in shown) == (opening == "committee")
    assert any("ShareMessage" in line for line in shown) == (opening == "authority")
    for secret in secrets.found:
        assert repr(secret[:LEAST_BYTES])[2:-1] not in text
        assert secret[:LEAST_BYTES].hex() not in text
