"""The ledger of refusals: what is drawn or counted in a run is refused in it too, and writers do not overwrite each
other."""

from __future__ import annotations

import threading

import pytest

from hekat.channel import PartyKey
from hekat.errors import JobError, PolicyError
from hekat.job.horizontal.drawn_members import check_members_of
from hekat.job.horizontal.job_file import Job
from hekat.job.policy.enforce import AskingJob, enforce, recorded
from hekat.job.policy.policy_check import PolicyCheck
from hekat.job.policy.refusals_ledger import find_refusal_ledgers
from hekat.job.policy.site_lines import SitePolicy
from hekat.job.site_file import PartySite, Site
from hekat.ledger import audit
from hekat.ledger.refusals import RefusedJob, refused_jobs
from hekat.protocol.horizontal.settings import HorizontalSettings

ASKING = AskingJob("trial", bytes(32), ("north",))


@pytest.fixture
def site(tmp_path) -> Site:
    PartyKey.generate().save(tmp_path / "north.key")
    north = PartySite({}, party_key=tmp_path / "north.key", state=tmp_path / "state")
    return Site(tmp_path, {"north": north}, policy=SitePolicy(committee_members=("north", "east", "south")))


def refused_at(site: Site) -> list[RefusedJob]:
    key = PartyKey.load(site.folder / "north.key").public
    return [job for path in find_refusal_ledgers(site.folder / "state") for job in refused_jobs(audit(path, key))]


def refuse(line: str) -> PolicyCheck:
    def check() -> None:
        raise PolicyError("refused", expected="less", got="more", cure="ask for less")

    return PolicyCheck(line, "more", "less", check)


def test_a_member_that_was_drawn_and_is_not_listed_is_in_the_ledger(site) -> None:
    settings = HorizontalSettings(("north", "east", "south", "west"), "hub", None, 10)
    job = Job("trial", bytes(32), settings, "rows", None, False, False, False, 1.0)
    check_members_of(site, job, "north", ("north", "east"))
    assert refused_at(site) == []
    with pytest.raises(PolicyError, match="forms no committee"):
        check_members_of(site, job, "north", ("north", "west"))
    (found,) = refused_at(site)
    assert (found.line, found.role, found.job) == ("policy.committee_members", "north", "trial")
    assert "west" in found.asked


def test_what_is_no_refusal_is_in_no_ledger(site) -> None:
    def check() -> None:
        raise JobError("the site file knows no such table", cure="correct it")

    with pytest.raises(JobError), recorded(site, ASKING, "policy.max_predictions"):
        check()
    with pytest.raises(JobError):
        enforce(site, ASKING, [PolicyCheck("policy.models", "one", "another", check)])
    assert not (site.folder / "state").exists()
    enforce(site, ASKING, [PolicyCheck("policy.models", "one", "one", lambda: None)])
    assert not (site.folder / "state").exists()


def test_a_refusal_before_another_error_is_kept(site) -> None:
    def check() -> None:
        raise JobError("no state", cure="add it")

    checks = [refuse("policy.models"), PolicyCheck("approval", "all", "none", check)]
    with pytest.raises(PolicyError):
        enforce(site, ASKING, checks)
    assert [found.line for found in refused_at(site)] == ["policy.models"]


def test_refusals_of_several_processes_are_all_there(site) -> None:
    def ask(number: int) -> None:
        with pytest.raises(PolicyError):
            enforce(site, ASKING, [refuse(f"policy.line{number}")])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(found.line for found in refused_at(site)) == [f"policy.line{number}" for number in range(8)]


def test_a_new_party_key_begins_a_new_ledger(site) -> None:
    with pytest.raises(PolicyError):
        enforce(site, ASKING, [refuse("policy.models")])
    first = PartyKey.load(site.folder / "north.key").public
    (site.folder / "north.key").unlink()
    PartyKey.generate().save(site.folder / "north.key")
    with pytest.raises(PolicyError):
        enforce(site, ASKING, [refuse("policy.openings")])
    one, two = find_refusal_ledgers(site.folder / "state")
    assert [found.line for found in refused_jobs(audit(one, first))] == ["policy.models"]
    second = PartyKey.load(site.folder / "north.key").public
    assert [found.line for found in refused_jobs(audit(two, second))] == ["policy.openings"]


def test_a_key_that_others_may_read_signs_nothing_and_the_error_says_so(site) -> None:
    (site.folder / "north.key").chmod(0o644)
    with pytest.raises(PolicyError) as caught:
        enforce(site, ASKING, [refuse("policy.models")])
    assert "in NO ledger of north" in " ".join(caught.value.__notes__)
    assert find_refusal_ledgers(site.folder / "state") == []
