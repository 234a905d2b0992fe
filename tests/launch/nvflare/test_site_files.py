"""A site's own words on NVIDIA FLARE: hekat.toml, the allow list, and how a run went."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hekat.errors import HekatError, JobError, KeyRefusedError, PolicyError, StateError
from hekat.launch.nvflare.allow_list import (
    COMPONENTS,
    add_to_allow_list,
    is_too_wide,
    missing_components,
    read_resources,
)
from hekat.launch.nvflare.site_link import LINK_VARIABLE, SiteLink, find_site_link, read_site_link
from hekat.launch.outcome import noted_outcome, outcome_path, read_outcome

RUN = "20260101T000000Z-0123ab"


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LINK_VARIABLE, raising=False)


def test_a_link_is_found_in_the_kit_with_paths_seen_from_there(tmp_path: Path) -> None:
    (tmp_path / "hekat.toml").write_text('format = 1\nsite = "../site.toml"\nruns = "/srv/runs"\n')
    link = find_site_link(tmp_path, "north")
    assert link == SiteLink(tmp_path / "../site.toml", Path("/srv/runs"), startup=tmp_path / "../startup")
    with pytest.raises(KeyRefusedError, match="passphrase_file"):
        link.read_passphrase()


def test_the_operators_variable_names_a_file_or_a_folder_of_sites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = (tmp_path / name for name in ('a "site".toml', "runs", "keys", "phrase"))
    wanted = SiteLink(*paths, pin="kit", startup=tmp_path / "kit")
    (tmp_path / "north.toml").write_text(wanted.to_text())
    for place in (tmp_path / "north.toml", tmp_path):
        monkeypatch.setenv(LINK_VARIABLE, str(place))
        assert find_site_link(tmp_path / "nowhere", "north") == wanted
        assert find_site_link(tmp_path / "nowhere", "../north") == wanted


def test_a_site_without_a_link_is_told_so_without_its_paths(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"hekat\.toml") as raised:
        find_site_link(tmp_path / "secret-folder", "north")
    assert "secret-folder" not in str(raised.value)


@pytest.mark.parametrize(
    "text", ['format = 1\nruns = "r"\n', 'format = 1\nsite = "s"\nruns = "r"\nmore = 1\n', "format = 9"]
)
def test_what_is_no_link_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "hekat.toml").write_text(text)
    with pytest.raises(JobError):
        read_site_link(tmp_path / "hekat.toml")


def test_the_allow_list_gets_hekat_beside_what_the_site_allows(tmp_path: Path) -> None:
    default = {"format_version": 2, "class_allow_list": ["one."], "allow_log_streaming": True}
    (tmp_path / "resources.json.default").write_text(json.dumps(default))
    assert missing_components(read_resources(tmp_path)["class_allow_list"]) == list(COMPONENTS)
    assert add_to_allow_list(tmp_path, ["never taken"]) == []
    written = json.loads((tmp_path / "resources.json").read_text())
    assert written == {**default, "class_allow_list": ["one.", *COMPONENTS]}
    assert missing_components(written["class_allow_list"]) == []
    written_at = (tmp_path / "resources.json").stat().st_mtime_ns
    add_to_allow_list(tmp_path, [])
    assert (tmp_path / "resources.json").stat().st_mtime_ns == written_at


def test_a_site_without_a_list_gets_the_engines_own(tmp_path: Path) -> None:
    add_to_allow_list(tmp_path / "local", ["nvflare.one"])
    assert read_resources(tmp_path / "local")["class_allow_list"] == ["nvflare.one", *COMPONENTS]


WIDE = [
    "hekat.",
    "hekat",
    "h",
    "",
    "hekat.launch.",
    "hekat.launch.nvflare",
    "hekat.import_module",
    f"{COMPONENTS[0]}.",
    "*",
]


@pytest.mark.parametrize("entry", WIDE)
def test_what_allows_more_of_hekat_is_taken_out_of_the_list(tmp_path: Path, entry: str) -> None:
    assert is_too_wide(entry)
    (tmp_path / "resources.json").write_text(json.dumps({"class_allow_list": ["one.", entry, *COMPONENTS]}))
    assert add_to_allow_list(tmp_path, ["nvflare.one"]) == [entry]
    engines_own = ["nvflare.one"] if entry == "*" else []
    assert read_resources(tmp_path)["class_allow_list"] == [*engines_own, "one.", *COMPONENTS]


@pytest.mark.parametrize("entry", [*COMPONENTS, "hekating.Class", "h.Class", "nvflare.", 7, ["hekat."]])
def test_what_allows_no_more_of_hekat_stays(tmp_path: Path, entry: object) -> None:
    assert not is_too_wide(entry)
    (tmp_path / "resources.json").write_text(json.dumps({"class_allow_list": [entry]}))
    assert add_to_allow_list(tmp_path, []) == []
    assert entry in read_resources(tmp_path)["class_allow_list"]


@pytest.mark.parametrize("listed", [["hekat.launch.other."], "hekat.", None, [["hekat."]], [f"{COMPONENTS[0]}."], [""]])
def test_what_does_not_allow_hekat_is_seen(listed: object) -> None:
    assert missing_components(listed) == list(COMPONENTS)


def test_a_damaged_resources_file_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "resources.json").write_text("[]")
    with pytest.raises(StateError, match="damaged"):
        add_to_allow_list(tmp_path, [])
    assert (tmp_path / "resources.json").read_text() == "[]"


def test_an_outcome_tells_a_refusal_in_full_and_nothing_of_another_error(tmp_path: Path) -> None:
    with pytest.raises(JobError), noted_outcome(tmp_path, RUN, "north", "ab"):
        raise JobError("wrong", cure="mend it")
    path = outcome_path(tmp_path, RUN)
    assert path.stat().st_mode & 0o777 == 0o600
    outcome = read_outcome(path)
    assert (outcome.kind, outcome.error) == ("JobError", "wrong; cure: mend it")
    other = "20260101T000000Z-0123ac"
    with pytest.raises(ValueError, match="row 7"), noted_outcome(tmp_path, other, "north", "ab"):
        raise ValueError("row 7 holds 42")
    assert (read_outcome(outcome_path(tmp_path, other)).kind, read_outcome(outcome_path(tmp_path, other)).error) == (
        "ValueError",
        "",
    )


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "role": "x"}'])
def test_a_damaged_outcome_is_refused(tmp_path: Path, text: str) -> None:
    path = outcome_path(tmp_path, RUN)
    path.write_text(text)
    with pytest.raises(HekatError):
        read_outcome(path)


def test_a_link_pins_by_keys_unless_it_says_kit(tmp_path: Path) -> None:
    head = 'format = 1\nsite = "s"\nruns = "r"\n'
    path = tmp_path / "hekat.toml"
    path.write_text(head)
    assert (read_site_link(path).pin, read_site_link(path).startup) == ("keys", tmp_path / "../startup")
    path.write_text(head + 'pin = "kit"\nkit = "/srv/startup"\n')
    assert (read_site_link(path).pin, read_site_link(path).startup) == ("kit", Path("/srv/startup"))
    path.write_text(head + 'pin = "none"\n')
    with pytest.raises(JobError, match="pins by what there is not"):
        read_site_link(path)


def test_paths_are_as_seen_from_the_kit_also_in_a_mounted_config_map(tmp_path: Path) -> None:
    """Kubernetes mounts it as links: hekat.toml to ..data/hekat.toml, and ..data to a folder named by a time."""
    local = tmp_path / "kit" / "local"
    (local / "..2026_01").mkdir(parents=True)
    (local / "..2026_01" / "hekat.toml").write_text('format = 1\nsite = "../site.toml"\nruns = "r"\npin = "kit"\n')
    (local / "..data").symlink_to("..2026_01")
    (local / "hekat.toml").symlink_to("..data/hekat.toml")
    (tmp_path / "kit" / "site.toml").touch()
    (tmp_path / "kit" / "startup").mkdir()
    (tmp_path / "kit" / "startup" / "rootCA.pem").touch()
    link = find_site_link(local, "north")
    assert link.site.is_file()
    assert link.runs == local / "r"
    assert (link.startup / "rootCA.pem").is_file()
