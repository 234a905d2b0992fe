"""A job process ends its role where the engine ends the job, also while the other sites have not come."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest
from tests.launch.jobs_apart import customers
from tests.launch.nvflare.fake_engine import FakeEngine, link_of, order_of, runs_of, site_role
from tests.launch.nvflare.protected.apps import Sites

from hekat.channel.mailbox import MailboxChannel
from hekat.errors import ChannelError
from hekat.launch.nvflare.kit_findings import describe_kit
from hekat.launch.nvflare.site_link import LINK_FILE
from hekat.launch.outcome import outcome_path, read_outcome

pytest.importorskip("nvflare", reason="needs hekat[nvflare]")

from hekat.launch.nvflare.protected.app_process import AppProcess
from hekat.launch.nvflare.site_process import SiteProcess, what_to_log


class Engine:
    """What a job process asks of the engine, where no other site answers."""

    def __init__(self, local: Path) -> None:
        self.local = local

    def register_aux_message_handler(self, topic: str, handler: object) -> None:
        assert topic == "hekat.parcel"

    def get_workspace(self) -> SimpleNamespace:
        return SimpleNamespace(get_site_config_dir=lambda: str(self.local))


@pytest.fixture(autouse=True)
def few_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is there to hear them."""
    monkeypatch.setattr("hekat.channel.mailbox.mailbox_channel.LAST_WORDS_S", 0.1)


def test_a_role_ends_from_outside_before_it_has_met_the_others(tmp_path: Path) -> None:
    apart = customers(tmp_path, "ecdh")
    joined: list[str] = []

    def end(channel: MailboxChannel) -> None:
        channel.fail(RuntimeError("the engine's word"))

    with pytest.raises(ChannelError, match="the end of 'bank' is closed"):
        site_role(apart, "bank", order_of(apart), FakeEngine()).play(end, lambda: joined.append("bank"))
    assert not joined


def test_a_job_that_the_engine_ended_is_not_told_as_one_that_the_site_refused(tmp_path: Path) -> None:
    apart = customers(tmp_path, "ecdh")
    order = order_of(apart)
    (tmp_path / LINK_FILE).write_text(link_of(apart, "bank").to_text())
    process = SiteProcess(Engine(tmp_path))
    played = process.play(order.to_arguments(), "bank", SimpleNamespace(triggered=True))
    assert (played.kind, played.has_refused) == ("ChannelError", False)
    assert read_outcome(outcome_path(runs_of(apart, "bank"), order.run_id)).outcome == "failed"
    again = process.play(order.to_arguments(), "bank", SimpleNamespace(triggered=False))
    assert (again.kind, again.has_refused) == ("StateError", True)


@pytest.mark.parametrize(
    ("lines", "finding"),
    [
        (None, "hekat.toml"),
        (['site = "site.toml"', 'run = "runs"'], "hekat.toml"),
        (['site = "site.toml"', 'runs = "site.toml/runs"'], "runs"),
    ],
    ids=["no hekat.toml", "a wrong key", "runs that cannot be made"],
)
def test_where_no_outcome_can_be_the_log_sends_the_operator_to_the_doctor_who_finds_it(
    tmp_path: Path, lines: list[str] | None, finding: str
) -> None:
    apart = customers(tmp_path, "ecdh")
    local = tmp_path / "kit" / "local"
    local.mkdir(parents=True)
    (local / "site.toml").write_text("format = 1\n")
    if lines is not None:
        (local / LINK_FILE).write_text("\n".join(["format = 1", *lines, ""]))
    abort = SimpleNamespace(triggered=False)
    played = SiteProcess(Engine(local)).play(order_of(apart).to_arguments(), "bank", abort)
    assert played.has_refused
    assert not [*tmp_path.rglob("*.outcome.json")]
    line = what_to_log(played.kind)
    assert "where there is none, ask the doctor at the site: hekat doctor --kit KIT" in line
    assert str(tmp_path) not in line
    assert describe_kit(tmp_path / "kit")[finding].startswith("warning")


@pytest.mark.parametrize("when", ["while the channel opens", "later"])
def test_a_protected_app_ends_before_it_has_met_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    sites = Sites(tmp_path / "sites")
    order = sites.approve(sites.order())
    (tmp_path / LINK_FILE).write_text(sites.role("north", order).link.to_text())
    opened, told = Event(), []
    note = AppProcess._note_channel

    def note_channel(process: AppProcess, channel: MailboxChannel) -> None:
        if when == "while the channel opens":
            process.abort()
        note(process, channel)
        opened.set()

    fail, allowed = MailboxChannel.fail, list[float | None]()

    def note_fail(channel: MailboxChannel, error: BaseException, within_s: float | None = None) -> tuple[str, ...]:
        allowed.append(within_s)
        return fail(channel, error, within_s)

    monkeypatch.setattr(MailboxChannel, "fail", note_fail)
    monkeypatch.setattr(AppProcess, "_note_channel", note_channel)
    abort = SimpleNamespace(triggered=False)
    process = AppProcess(Engine(tmp_path), order.to_arguments(), "north", abort, told.append)
    assert opened.wait(60)
    if when == "later":
        process.abort()
    process._thread.join(60)
    assert not process._thread.is_alive()
    assert not process.has_met
    assert told == ["ChannelError"]
    # The engine kills a process ten seconds after the end of its job, and the outcome has to lie there.
    assert allowed
    assert all(within_s is not None and within_s < 10 for within_s in allowed)
    outcome = read_outcome(outcome_path(sites.place / "north" / "runs", order.run_id))
    assert outcome.outcome == "failed"
    assert "the engine ended the job before all roles had met" in outcome.error
