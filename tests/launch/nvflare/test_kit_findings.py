"""What `hekat doctor --kit` says of a site's start-up kit."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.launch.nvflare.start_up_kits import write_kit

from hekat.cli.main import main
from hekat.errors import InputError
from hekat.launch.nvflare.allow_list import COMPONENTS
from hekat.launch.nvflare.kit_findings import describe_kit
from hekat.launch.nvflare.site_link import LINK_VARIABLE


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LINK_VARIABLE, raising=False)


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    (tmp_path / "local").mkdir()
    return tmp_path


def write(kit: Path, resources: dict[str, object]) -> dict[str, str]:
    (kit / "local" / "resources.json").write_text(json.dumps(resources))
    return describe_kit(kit)


def test_a_kit_as_it_is_provisioned_gets_a_warning_for_each_default(kit: Path) -> None:
    found = write(kit, {"class_allow_list": ["nvflare.app_common."], "allow_log_streaming": True})
    assert all(text.startswith("warning") for name, text in found.items() if name != "class_list_enforcement_mode")
    assert "tracebacks" in found["allow_log_streaming"]
    assert "refused" in found["class_allow_list"]


def test_a_connected_kit_gets_none(kit: Path) -> None:
    (kit / "site.toml").write_text("format = 1\n")
    (kit / "local" / "hekat.toml").write_text('format = 1\nsite = "../site.toml"\nruns = "../runs"\n')
    found = write(kit, {"class_allow_list": list(COMPONENTS), "allow_log_streaming": False})
    assert not any(text.startswith("warning") for text in found.values())


@pytest.mark.parametrize("streaming", [None, "false", 0, True])
def test_only_false_keeps_logs_at_the_site(kit: Path, streaming: object) -> None:
    assert write(kit, {"allow_log_streaming": streaming})["allow_log_streaming"].startswith("warning")


@pytest.mark.parametrize("entry", ["hekat.", "hekat", "h", "hekat.launch.", "hekat.import_module", "*"])
def test_a_list_that_allows_more_than_hekats_components_is_warned_of(kit: Path, entry: str) -> None:
    found = write(kit, {"class_allow_list": [*COMPONENTS, entry]})["class_allow_list"]
    assert found.startswith("warning")
    assert entry in found
    assert "allow_hekat" in found


def test_a_list_without_one_of_the_components_is_warned_of(kit: Path) -> None:
    found = write(kit, {"class_allow_list": list(COMPONENTS[1:])})["class_allow_list"]
    assert found.startswith(f"warning: no {COMPONENTS[0]}, so")


@pytest.mark.parametrize("mode", ["warn", "ENFORCE", None, 0])
def test_a_list_that_is_not_enforced_is_warned_of(kit: Path, mode: object) -> None:
    found = write(kit, {"class_allow_list": list(COMPONENTS), "class_list_enforcement_mode": mode})
    assert found["class_list_enforcement_mode"].startswith("warning")


@pytest.mark.parametrize("text", ["format = 7\n", 'format = 1\nsite = "nowhere.toml"\nruns = "r"\n'])
def test_a_link_that_leads_nowhere_is_warned_of(kit: Path, text: str) -> None:
    (kit / "local" / "hekat.toml").write_text(text)
    assert describe_kit(kit)["hekat.toml"].startswith("warning")


def link(kit: Path, *lines: str) -> dict[str, str]:
    (kit / "site.toml").write_text("format = 1\n")
    text = "\n".join(["format = 1", 'site = "../site.toml"', *lines, ""])
    (kit / "local" / "hekat.toml").write_text(text)
    return describe_kit(kit)


def test_runs_that_cannot_be_made_are_warned_of(kit: Path) -> None:
    assert link(kit, 'runs = "../runs"')["runs"].startswith(f"folder {kit / 'local'}/../runs, made by")
    found = link(kit, 'runs = "../site.toml/runs"')["runs"]
    assert found.startswith("warning")
    assert "cure" in found


def test_what_this_user_may_not_look_at_is_told(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", "/srv/hekat/site.toml")

    monkeypatch.setattr("hekat.launch.nvflare.link_findings._describe_site", refuse)
    assert link(kit, 'runs = "r"')["hekat.toml"].startswith("warning: /srv/hekat/site.toml: Permission denied")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_runs_that_this_user_cannot_write_to_are_warned_of(kit: Path) -> None:
    (kit / "runs").mkdir(mode=0o500)
    assert link(kit, 'runs = "../runs"')["runs"].startswith("warning")


def test_a_passphrase_file_is_there_and_for_its_owner_alone(kit: Path) -> None:
    lines = ('runs = "r"', 'passphrase_file = "../phrase"')
    assert link(kit, *lines)["passphrase_file"].startswith("warning: there is no file")
    (kit / "phrase").write_text("secret words")
    for mode, begins in ((0o640, "warning: "), (0o604, "warning: "), (0o600, str(kit)), (0o400, str(kit))):
        (kit / "phrase").chmod(mode)
        found = link(kit, *lines)["passphrase_file"]
        assert found.startswith(begins)
        assert "secret words" not in found


def test_a_site_that_pins_by_kits_has_a_root_ca(kit: Path) -> None:
    lines = ('runs = "r"', 'pin = "kit"')
    assert "pin" not in link(kit, 'runs = "r"')
    assert link(kit, *lines)["pin"].startswith("warning: there is no root CA")
    startup = write_kit(kit, "north")
    assert not link(kit, *lines)["pin"].startswith("warning")
    (startup / "rootCA.pem").write_text("no certificate")
    assert link(kit, *lines)["pin"].startswith("warning")


def test_a_site_file_that_is_none_is_warned_of(kit: Path) -> None:
    link(kit, 'runs = "r"')
    (kit / "site.toml").write_text("format = 1\nnot_a_key = 1\n")
    assert "not_a_key" in describe_kit(kit)["hekat.toml"]


def test_the_doctor_reads_the_file_that_the_operators_variable_names(
    kit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link(kit, 'runs = "r"')
    moved = (kit / "local" / "hekat.toml").rename(kit / "startup.toml")
    assert describe_kit(kit)["hekat.toml"].startswith("warning: missing")
    moved.write_text('format = 1\nsite = "site.toml"\nruns = "r"\n')
    monkeypatch.setenv(LINK_VARIABLE, str(moved))
    assert not describe_kit(kit)["hekat.toml"].startswith("warning")


def test_the_doctor_says_it_and_refuses_what_is_no_kit(kit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(kit, {"class_allow_list": list(COMPONENTS)})
    main(["doctor", "--kit", str(kit), "--json"])
    assert json.loads(capsys.readouterr().out)["NVIDIA FLARE kit"]["class_allow_list"].startswith("allows Hekat's")
    with pytest.raises(InputError, match="no start-up kit"):
        describe_kit(kit / "local")
    assert main(["doctor", "--kit", str(kit / "local")]) == 2
