"""What a site says of committees: with whom, of how many members, and of how many updates a sum is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.channel import PartyKey
from hekat.errors import JobError, PolicyError
from hekat.job.horizontal.committee_policy import check_committee, check_members
from hekat.job.horizontal.job_file import Job
from hekat.job.policy.site_lines import SitePolicy
from hekat.job.site_file import load_site
from hekat.protocol.horizontal.settings import HorizontalSettings, TrainingSettings

KEYS = {f"p{number}": PartyKey.generate().public for number in range(12)}
STRANGER = PartyKey.generate().public


def job_of(count: int, *, with_keys: bool = True, **settings) -> Job:
    parties = tuple(KEYS)[:count]
    made = HorizontalSettings(parties, "hub", None, 10, allow_two_parties=count == 2, **settings)
    keys = {name: KEYS[name] for name in parties} if with_keys else {}
    return Job("test", bytes(32), made, "rows", None, False, False, False, 1.0, party_keys=keys)


def lines(*names: str) -> tuple[str, ...]:
    return tuple(KEYS[name].text for name in names)


def test_anybody_may_be_a_member_unless_the_site_says_otherwise() -> None:
    check_committee(SitePolicy(), job_of(12))
    check_members(SitePolicy(), job_of(12), tuple(KEYS)[:7])


def test_a_small_job_is_refused_before_anything_is_sent() -> None:
    """All parties are members: a stranger among them is known from the job."""
    policy = SitePolicy(committee_members=lines("p0", "p1", "p2"))
    check_committee(policy, job_of(3))
    with pytest.raises(PolicyError, match=r"p3 \(key [0-9a-f]{32}\)"):
        check_committee(policy, job_of(4))


def test_of_a_large_job_enough_parties_have_to_be_allowed() -> None:
    allowed = SitePolicy(committee_members=lines(*tuple(KEYS)[:7]))
    check_committee(allowed, job_of(12))  # seven of twelve might be drawn
    with pytest.raises(PolicyError):
        check_committee(SitePolicy(committee_members=lines(*tuple(KEYS)[:6])), job_of(12))


def test_a_drawn_stranger_is_refused_by_name_and_key() -> None:
    policy = SitePolicy(committee_members=lines(*tuple(KEYS)[:7]))
    check_members(policy, job_of(12), tuple(KEYS)[:7])
    with pytest.raises(PolicyError, match=f"p9.*{KEYS['p9'].fingerprint}"):
        check_members(policy, job_of(12), (*tuple(KEYS)[:6], "p9"))


def test_a_name_in_the_list_is_nothing_in_a_job_with_keys() -> None:
    """Whoever writes the job calls a friend by the name that the site trusts."""
    policy = SitePolicy(committee_members=("p0", "p1", "p2"))
    check_committee(policy, job_of(3, with_keys=False))
    impostors = replace(job_of(3), party_keys={**job_of(3).party_keys, "p1": STRANGER})
    with pytest.raises(PolicyError, match=STRANGER.fingerprint):
        check_committee(policy, impostors)
    with pytest.raises(PolicyError, match=STRANGER.fingerprint):
        check_committee(SitePolicy(committee_members=lines("p0", "p1", "p2")), impostors)


def test_keys_in_the_list_are_nothing_in_a_job_without() -> None:
    with pytest.raises(PolicyError):
        check_committee(SitePolicy(committee_members=lines("p0", "p1", "p2")), job_of(3, with_keys=False))


@pytest.mark.parametrize(("count", "least"), [(3, 4), (5, 6), (12, 8)])
def test_a_committee_below_the_least_is_refused(count, least) -> None:
    check_committee(SitePolicy(min_committee_members=least - 1), job_of(count))
    with pytest.raises(PolicyError, match="committee is smaller"):
        check_committee(SitePolicy(min_committee_members=least), job_of(count))


def test_a_sum_of_too_few_parties_is_refused_in_every_opening() -> None:
    for others in ({}, {"opening": "shared"}, {"opening": "authority", "authority": "notary"}):
        check_committee(SitePolicy(min_parties=7), job_of(10, **others))
        with pytest.raises(PolicyError, match="fewer parties"):
            check_committee(SitePolicy(min_parties=8), job_of(10, **others))
        more = job_of(10, training=TrainingSettings(min_parties=8), **others)
        check_committee(SitePolicy(min_parties=8), more)
    sampled = job_of(10, training=TrainingSettings(participation=0.5))
    with pytest.raises(PolicyError, match="fewer parties"):
        check_committee(SitePolicy(min_parties=5), sampled)


def test_other_protections_have_no_committee() -> None:
    check_committee(SitePolicy(min_committee_members=7, committee_members=()), job_of(3, protection="paillier"))


def test_a_sum_under_one_key_is_of_as_many_parties_as_the_site_asks_for() -> None:
    check_committee(SitePolicy(min_parties=3), job_of(3, protection="paillier"))
    with pytest.raises(PolicyError, match=r"policy\.min_parties"):
        check_committee(SitePolicy(min_parties=4), job_of(3, protection="paillier"))


def test_single_updates_are_seen_only_where_the_protections_say_so() -> None:
    check_committee(SitePolicy(min_parties=4), job_of(3, protection="none"))


def test_a_line_that_is_no_key_is_refused_with_the_site_file(tmp_path) -> None:
    path = tmp_path / "site.toml"
    path.write_text('format = 1\n[policy]\ncommittee_members = ["hekat-party-ed25519:oops"]\n')
    with pytest.raises(JobError, match="committee_members"):
        load_site(path)
    path.write_text(
        f'format = 1\n[policy]\ncommittee_members = ["{KEYS["p0"].text}", "p1"]\nmin_committee_members = 5\n'
    )
    policy = load_site(path).policy
    assert (policy.committee_members, policy.min_committee_members) == ((KEYS["p0"].text, "p1"), 5)
