"""A site's budget is held against a job with noise before a row is read: each of its terms is a line of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.job.policy.policy_cases import horizontal, row_trees

from hekat.errors import JobError, PolicyError
from hekat.job.load_any_job import load_any_job
from hekat.job.policy.checks_of_job import enforce_policy
from hekat.job.policy.judge_job import JudgedLine, judge_job
from hekat.job.site_file import Site, load_site

VECTORS = horizontal('[privacy]\nunit = "row"\nclip = 1.0\nepsilon = 3.0\ndelta = 1e-6\ndivisor = 240', training="")
VECTORS = VECTORS.replace('algorithm = "fedavg"\n', "")
LEAVES = row_trees("[privacy]\nepsilon = 3\ndelta = 1e-6", "[privacy.bounds]\nage = [18, 100]")
GRANT = 'data_set = "visits"\nepsilon = 8.0\ndelta = 1e-6\n'
TERMS = "[party.north.privacy] "


def site_of(folder: Path, north: str, *, state: bool = True) -> Site:
    """Sites of three parties, whose budgets fit; the one of north is `north`."""
    lines = ["format = 1"]
    for name in ("north", "east", "south"):
        grant = north if name == "north" else GRANT
        lines += [f"[party.{name}]", f'state = "states/{name}"' if state else ""]
        lines += [f'[party.{name}.data.visits]\nsource = "csv"\npath = "none.csv"\nlabel = "ill"']
        lines += [f"[party.{name}.privacy]\n{grant}"] if grant else []
    (folder / "site.toml").write_text("\n".join(lines) + "\n")
    return load_site(folder / "site.toml")


def judged(folder: Path, text: str, site: Site, here: tuple[str, ...] = ("north",)) -> dict[str, JudgedLine]:
    (folder / "job.toml").write_text(text)
    return {one.line: one for one in judge_job(site, load_any_job(folder / "job.toml"), here)}


@pytest.mark.parametrize("text", [VECTORS, LEAVES], ids=["vectors", "leaves"])
def test_every_term_is_told_beside_what_the_job_promises(tmp_path: Path, text: str) -> None:
    found = judged(tmp_path, text, site_of(tmp_path, GRANT), ("north", "hub"))
    lines = {line.removeprefix(TERMS): (one.asked, one.allowed) for line, one in found.items() if TERMS in line}
    assert lines == {
        "unit": ("row", "row"),
        "neighbours": ("zero-out", "zero-out"),
        "colluders": ("1 of the fewest 3 in a sum", "at least 1"),
    }
    assert found[TERMS.strip()].allowed == "epsilon 8 at delta 1e-06"
    assert not any(one.refusal for one in found.values())


@pytest.mark.parametrize("text", [VECTORS, LEAVES], ids=["vectors", "leaves"])
@pytest.mark.parametrize(
    ("more", "line"),
    [('unit = "party"', "unit"), ('neighbours = "replace-one"', "neighbours"), ("colluders = 2", "colluders")],
)
def test_a_term_that_the_job_does_not_keep_to_refuses_it_alone(tmp_path: Path, text: str, more: str, line: str) -> None:
    site = site_of(tmp_path, f"{GRANT}{more}\n")
    found = judged(tmp_path, text, site)
    assert [one.line for one in found.values() if one.refusal] == [TERMS + line]
    assert found[TERMS + line].cure
    with pytest.raises(PolicyError, match=rf"privacy\.{line} is"):
        enforce_policy(site, load_any_job(tmp_path / "job.toml"), ("north",))


def test_a_budget_that_is_not_granted_is_asked_for(tmp_path: Path) -> None:
    for site, told in (
        (site_of(tmp_path, ""), "the site grants no privacy budget for north"),
        (site_of(tmp_path, GRANT, state=False), "no place that outlasts runs"),
    ):
        assert told in judged(tmp_path, VECTORS, site)[TERMS.strip()].refusal
        with pytest.raises(JobError, match=told):
            enforce_policy(site, load_any_job(tmp_path / "job.toml"), ("north",))


def test_jobs_without_noise_and_roles_without_rows_have_no_such_line(tmp_path: Path) -> None:
    site = site_of(tmp_path, "")
    assert not any(TERMS.strip() in line for line in judged(tmp_path, VECTORS, site, ("hub",)))
    assert not any(TERMS.strip() in line for line in judged(tmp_path, horizontal(), site))
