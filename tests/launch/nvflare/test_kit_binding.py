"""A party key tied to a start-up kit: another CA, name, key, time or signature is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from tests.launch.jobs_apart import customers
from tests.launch.nvflare.fake_engine import FakeEngine, link_of, order_of, play_all
from tests.launch.nvflare.start_up_kits import NOW, certify, root_of, rsa_key, write_kit

from hekat.channel import PartyKey
from hekat.cli.main import main
from hekat.errors import KeyRefusedError
from hekat.launch.nvflare.kit_binding import KitBinding, bind_to_kit, check_binding
from hekat.launch.nvflare.pinning import binding_path
from hekat.launch.nvflare.site_link import SiteLink
from hekat.launch.outcome import outcome_path, read_outcome

OWN, OTHER = PartyKey.generate(), PartyKey.generate()
ROOT = root_of("clinics")


@pytest.fixture
def bound(tmp_path: Path) -> KitBinding:
    site, binding = bind_to_kit(write_kit(tmp_path, "north"), OWN.public)
    assert site == "north"
    return binding


def test_a_binding_holds_after_its_way_to_another_site(bound: KitBinding) -> None:
    check_binding(KitBinding.decode(bound.encode()), ROOT, "north", OWN.public)


def test_a_binding_of_another_project_is_refused(bound: KitBinding) -> None:
    with pytest.raises(KeyRefusedError, match="another project"):
        check_binding(bound, root_of("banks"), "north", OWN.public)
    with pytest.raises(KeyRefusedError, match="another project"):  # a CA that only has the same name
        check_binding(bound, root_of("clinics", "forger"), "north", OWN.public)


def test_a_site_cannot_bind_in_the_name_of_another(bound: KitBinding) -> None:
    with pytest.raises(KeyRefusedError, match="certificate of 'north'"):
        check_binding(bound, ROOT, "lake", OWN.public)


def test_a_binding_says_nothing_of_another_party_key(bound: KitBinding) -> None:
    with pytest.raises(KeyRefusedError, match="another party key"):
        check_binding(bound, ROOT, "north", OTHER.public)
    with pytest.raises(KeyRefusedError, match="signature that does not hold"):
        check_binding(replace(bound, party_key=OTHER.public.text), ROOT, "north", OTHER.public)


def test_a_certificate_that_the_signer_does_not_own_is_refused(bound: KitBinding, tmp_path: Path) -> None:
    _, other = bind_to_kit(write_kit(tmp_path / "lake", "lake"), OWN.public)
    with pytest.raises(KeyRefusedError, match="signature that does not hold"):
        check_binding(replace(bound, signature=other.signature), ROOT, "north", OWN.public)


@pytest.mark.parametrize("signature", ["", "?", "AAAA", "A" * 344])
def test_no_signature_is_refused(bound: KitBinding, signature: str) -> None:
    with pytest.raises(KeyRefusedError, match="signature that does not hold"):
        check_binding(replace(bound, signature=signature), ROOT, "north", OWN.public)


@pytest.mark.parametrize("days", [-400, 400])
def test_a_certificate_counts_only_in_its_time(bound: KitBinding, days: int) -> None:
    with pytest.raises(KeyRefusedError, match="out of its time"):
        check_binding(bound, ROOT, "north", OWN.public, NOW + timedelta(days=days))


def test_an_expired_kit_binds_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyRefusedError, match="out of its time"):
        bind_to_kit(write_kit(tmp_path, "north", days=-1), OWN.public)


def test_a_ca_is_no_site(bound: KitBinding) -> None:
    pem = certify("north", rsa_key("north"), "clinics", rsa_key("clinics"), is_authority=True).public_bytes(
        Encoding.PEM
    )
    with pytest.raises(KeyRefusedError, match="certificate of a CA"):
        check_binding(replace(bound, certificate=pem.decode()), ROOT, "north", OWN.public)


def test_a_small_key_certifies_nothing(bound: KitBinding) -> None:
    pem = certify("north", rsa_key("small", 1024), "clinics", rsa_key("clinics")).public_bytes(Encoding.PEM)
    with pytest.raises(KeyRefusedError, match="at least 2048 bits"):
        check_binding(replace(bound, certificate=pem.decode()), ROOT, "north", OWN.public)


@pytest.mark.parametrize("certificate", ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_what_is_no_certificate_is_refused(bound: KitBinding, certificate: str) -> None:
    with pytest.raises(KeyRefusedError, match="no certificate"):
        check_binding(replace(bound, certificate=certificate), ROOT, "north", OWN.public)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 2}', '{"format": 1, "party_key": 5}'])
def test_what_is_no_binding_is_refused(text: str) -> None:
    with pytest.raises(KeyRefusedError, match="no binding"):
        KitBinding.decode(text)


def test_the_command_writes_a_binding_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    startup, key = write_kit(tmp_path, "north"), tmp_path / "north.key"
    OWN.save(key)
    assert main(["keys", "bind", str(key), "--kit", str(startup), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["site"] == "north"
    check_binding(KitBinding.decode(binding_path(key).read_bytes()), ROOT, "north", OWN.public)
    assert "PRIVATE" not in binding_path(key).read_text()
    assert main(["keys", "bind", str(key), "--kit", str(startup)]) == 2
    assert main(["keys", "bind", str(key), "--kit", str(tmp_path)]) == 2


@pytest.mark.long_cases("bound")
@pytest.mark.parametrize(
    ("insurer", "told"),
    [
        ({}, None),
        (None, "shows no binding"),
        ({"root_key": "forger"}, "another project"),
        ({"site": "stranger"}, "certificate of 'stranger'"),
    ],
    ids=["bound", "not bound", "another CA", "another site"],
)
def test_a_site_that_pins_by_kits_plays_with_bound_roles_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, insurer: dict[str, str] | None, told: str | None
) -> None:
    apart = customers(tmp_path, "ecdh")
    startups = {"bank": write_kit(tmp_path / "kit-bank", "bank")}
    kits = {"bank": {}, "insurer": insurer}
    for role, options in kits.items():
        if options is not None:
            named = {"site": role, **options}
            startup = startups.get(role) or write_kit(tmp_path / f"kit-{role}", **named)
            _, binding = bind_to_kit(startup, apart.keys[role].public)
            binding_path(apart.folder_of(role) / f"{role}.party").write_text(binding.encode())

    def pinned(apart: object, role: str) -> SiteLink:
        link = link_of(apart, role)  # type: ignore[arg-type]
        return replace(link, pin="kit", startup=startups["bank"]) if role == "bank" else link

    monkeypatch.setattr("tests.launch.nvflare.fake_engine.link_of", pinned)
    order = order_of(apart)
    ended = play_all(apart, order, FakeEngine())
    if told is None:
        assert ended == {"bank": None, "insurer": None}
        return
    assert isinstance(ended["bank"], KeyRefusedError)
    assert told in str(ended["bank"])
    assert ended["insurer"] is not None
    runs = apart.folder_of("bank") / "runs"
    assert read_outcome(outcome_path(runs, order.run_id)).kind == "KeyRefusedError"
    assert not (runs / order.run_id).exists()
