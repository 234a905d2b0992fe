"""What `hekat doctor --kit` says of a site's start-up kit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hekat.cli.main import main
from hekat.errors import InputError
from hekat.launch.nvflare.allow_list import COMPONENTS
from hekat.launch.nvflare.kit_findings import describe_kit


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


def test_the_doctor_says_it_and_refuses_what_is_no_kit(kit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(kit, {"class_allow_list": list(COMPONENTS)})
    main(["doctor", "--kit", str(kit), "--json"])
    assert json.loads(capsys.readouterr().out)["NVIDIA FLARE kit"]["class_allow_list"].startswith("allows Hekat's")
    with pytest.raises(InputError, match="no start-up kit"):
        describe_kit(kit / "local")
    assert main(["doctor", "--kit", str(kit / "local")]) == 2
