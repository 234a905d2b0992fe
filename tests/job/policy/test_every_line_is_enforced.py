"""Every line of a site's policy refuses a job that asks for more, before a row is read, and the refusal is kept.

No file of rows that these sites name is there, or holds a row that can be read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.job.policy.policy_cases import (
    CASES,
    DIGEST,
    EIGHT,
    ELSEWHERE,
    THREE,
    Case,
    arbitrated,
    averaging,
    encrypted_model,
    horizontal,
    intersection,
    row_trees,
    vertical,
)

from hekat.channel import PartyKey
from hekat.data import Table
from hekat.errors import HekatError, JobError, PolicyError
from hekat.job.approvals import approve
from hekat.job.load_any_job import AnyJob, approvers_of, load_any_job, roles_of
from hekat.job.policy.checks_of_job import APPROVAL, enforce_policy
from hekat.job.policy.exact_sums import record_waiver, with_note_on_budget
from hekat.job.policy.judge_job import judge_job
from hekat.job.policy.refusals_ledger import OWN_KEY_FILE, find_refusal_ledgers
from hekat.job.policy.site_lines import policy_keys
from hekat.job.policy.weak_lines import weak_lines
from hekat.job.site_file import Site, load_site
from hekat.ledger import Ledger, audit
from hekat.ledger.privacy.records import WAIVED
from hekat.ledger.refusals import RefusedJob, refused_jobs

TESTS = Path(__file__).parents[2]
HEADER_ALONE = b"person,age,dose,ill\n\x00 no row can be read here\n"
LISTS_LINE = "allow_columns, deny_columns"
ALL = 'protocols = ["horizontal", "vertical_linear", "psi", "averaging"]'


@dataclass(frozen=True)
class Place:
    """A folder with a job, and with one site file of every role that a job here names."""

    folder: Path

    def write_job(self, text: str) -> AnyJob:
        path = self.folder / "job.toml"
        path.write_bytes(text.encode())
        return load_any_job(path)

    def write_site(self, policy: str, lists: Mapping[str, str] | None = None, budgets: tuple[str, ...] = ()) -> Site:
        """`lists` are further lines of tables by their place, `budgets` parties that have one of privacy."""
        lines = ["format = 1", "[policy]", policy]
        lines += [f'[party.{name}]\nstate = "states/{name}"' for name in (*EIGHT, "hub", "notary")]
        lines += [f'[party.{name}.privacy]\ndata_set = "visits"\nepsilon = 8.0\ndelta = 1e-6' for name in budgets]
        tables = [*(f"party.{name}.data.visits" for name in EIGHT), "party.north.data.others", "common_data.others"]
        for table in tables:
            lines.append(f'[{table}]\nsource = "csv"\npath = "rows.csv"\nid = "person"\nlabel = "ill"')
            lines.append((lists or {}).get(table, ""))
        (self.folder / "site.toml").write_text("\n".join(lines) + "\n")
        return load_site(self.folder / "site.toml")

    def refused_at(self, role: str) -> list[RefusedJob]:
        """What the role's audited ledgers say, in order."""
        state = self.folder / "states" / role
        ledgers = find_refusal_ledgers(state)
        key = PartyKey.load(state / "refusals" / OWN_KEY_FILE).public if ledgers else None
        return [job for ledger in ledgers for job in refused_jobs(audit(ledger, key))]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def refuse(site: Site, job: AnyJob, roles: tuple[str, ...]) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        enforce_policy(site, job, roles)
    assert caught.value.exit_code == 2
    assert all((caught.value.expected, caught.value.got, caught.value.cure))
    return caught.value


def check_refused(
    place: Place, site: Site, job: AnyJob, roles: tuple[str, ...], line: str, told: str | None = None
) -> None:
    """The job is refused by that line alone, and the ledger of each of the roles says so; the error says `told`, else
    the line."""
    error = refuse(site, job, roles)
    assert (told or line) in f"{error.expected} {error.got} {error.cure}"
    assert [one.line for one in judge_job(site, job, roles) if one.refusal] == [line]
    for role in roles:
        (found,) = place.refused_at(role)
        assert (found.line, found.role, found.job, found.digest) == (line, role, job.name, job.digest.hex())
        assert found.asked
        assert found.allowed
    assert {path.name for path in (place.folder / "states").iterdir()} == set(roles)


def line_of(name: str, case: Case) -> tuple[str, str | None]:
    """The line that refuses the case, and what the error has to say if it is not the line."""
    if case.line == APPROVAL:
        return APPROVAL, "hekat job approve"
    return case.line or f"policy.{name.partition(':')[0]}", None


@pytest.mark.parametrize("name", CASES)
def test_a_job_that_asks_for_more_is_refused_by_that_line_alone(place: Place, name: str) -> None:
    case = CASES[name]
    job = place.write_job(case.job)
    check_refused(
        place, place.write_site(case.refusing, budgets=case.budgets), job, roles_of(job), *line_of(name, case)
    )


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_by_the_site_of_one_party_too(place: Place, name: str) -> None:
    case = CASES[name]
    job = place.write_job(case.job)
    check_refused(
        place, place.write_site(case.refusing, budgets=case.budgets), job, (case.party,), *line_of(name, case)
    )


@pytest.mark.parametrize("name", CASES)
def test_the_same_job_passes_once_the_line_allows_it(place: Place, name: str) -> None:
    case = CASES[name]
    job = place.write_job(case.job)
    site = place.write_site(case.allowing.replace(DIGEST, job.digest.hex()), budgets=case.budgets)
    enforce_policy(site, job, roles_of(job))
    assert [one.line for one in judge_job(site, job, roles_of(job)) if one.refusal] == []
    assert not (place.folder / "states").exists()


PRIVATE = '[privacy]\nunit = "row"\nclip = 1.0\nepsilon = 3.0\ndelta = 1e-6\ndivisor = 240'


@pytest.mark.parametrize(
    ("text", "budgets"),
    [
        (horizontal(PRIVATE, training=""), THREE),
        (row_trees("[privacy]\nepsilon = 3\ndelta = 1e-6", "[privacy.bounds]\nage = [18, 100]"), THREE),
        (intersection(), THREE),
        (horizontal(), ("west",)),
    ],
    ids=["noised sums", "noised leaves", "an intersection, which opens no sum", "rows of another party"],
)
def test_a_budget_is_in_the_way_of_nothing_else(place: Place, text: str, budgets: tuple[str, ...]) -> None:
    if "[privacy]" in text:
        text = text.replace('algorithm = "fedavg"\n', "")
    job = place.write_job(text)
    enforce_policy(place.write_site("", budgets=budgets), job, roles_of(job))


def test_a_job_of_rows_with_a_budget_passes_at_the_site_of_a_party_without_one(place: Place) -> None:
    job = place.write_job(horizontal())
    site = place.write_site("", budgets=("east",))
    enforce_policy(site, job, ("north",))
    check_refused(place, site, job, ("east",), "policy.budget_waiver")


def test_rows_whose_budget_is_waived_say_so_in_every_report(place: Place) -> None:
    table = Table(np.ones((4, 1)), np.array([0, 1, 0, 1]), ("age",), "north", notes=("read",))
    site = place.write_site("budget_waiver = true", budgets=("north",))
    for text in (horizontal(), vertical(), encrypted_model()):
        job = place.write_job(text)
        assert "BUDGET WAIVED" in with_note_on_budget(site, job, "north", table).notes[-1]
        assert with_note_on_budget(site, job, "east", table).notes == ("read",)
    assert any("budget_waiver" in line for line in weak_lines(site))


def test_a_waiver_is_recorded_by_the_table_s_flag_and_not_by_its_notes(place: Place) -> None:
    """A note is text for people: whoever changes it, or writes one like it, changes nothing of what is recorded."""
    table = Table(np.ones((4, 1)), np.array([0, 1, 0, 1]), ("age",), "north")
    site = place.write_site("budget_waiver = true", budgets=("north",))
    waived = with_note_on_budget(site, place.write_job(horizontal()), "north", table)
    cases = {replace(waived, notes=()): 1, replace(table, notes=waived.notes): 0}
    for one, count in cases.items():
        with Ledger(None, "north", PartyKey.generate(), bytes(32)) as ledger:
            record_waiver(ledger, one)
        assert ledger.data.count(WAIVED.encode()) == count


def test_no_line_of_the_policy_is_without_a_job_that_it_refuses() -> None:
    shown = {name.partition(":")[0] for name in CASES}
    # Rows are counted once they are read, and sums once the guest asks for them. An owner is a stranger where its site
    # is another one.
    assert set(policy_keys()) - shown == {"max_predictions", "max_sum_memory_mib", "model_owners"}
    assert shown | ELSEWHERE.keys() == set(policy_keys())


@pytest.mark.parametrize("pointer", [one for pointers in ELSEWHERE.values() for one in pointers])
def test_a_test_that_lies_elsewhere_is_there(pointer: str) -> None:
    file, _, name = pointer.partition("::")
    assert re.search(rf"^def {name}\(", (TESTS / file).read_text(), re.MULTILINE)


# --- lists of columns ------------------------------------------------------------------------------------------------

NORTH, COMMON, OTHERS = "party.north.data.visits", "common_data.others", "party.north.data.others"
DENIED, ALLOWED = 'deny_columns = ["dose"]', 'allow_columns = ["age"]'
OF_THE_JOB = '[columns.dose]\ncategories = ["low", "high"]'
TABLES = {
    "a denied column": (horizontal(), NORTH, DENIED),
    "a column beside the allowed ones": (horizontal(), NORTH, ALLOWED),
    "no column is allowed": (horizontal(), NORTH, "allow_columns = []"),
    "a column that the job says more about": (horizontal(OF_THE_JOB), NORTH, DENIED),
    "the common test data": (horizontal('test_data = "others"'), COMMON, DENIED),
    "vertical": (vertical(), NORTH, DENIED),
    "the test data of a vertical job": (vertical('test_data = "others"'), OTHERS, ALLOWED),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_column_that_is_not_allowed_is_refused_before_a_row_is_read(place: Place, name: str) -> None:
    text, table, lists = TABLES[name]
    (place.folder / "rows.csv").write_bytes(HEADER_ALONE)
    job = place.write_job(text)
    check_refused(
        place, place.write_site("", {table: lists}), job, ("north",), f"[{table}] {LISTS_LINE}", f"change {table}."
    )
    enforce_policy(place.write_site("", {table: 'allow_columns = ["age", "dose"]'}), job, roles_of(job))
    enforce_policy(place.write_site("", {table: f'{lists}\nignore = ["age", "dose"]'}), job, roles_of(job))


def test_a_column_of_a_parquet_file_is_refused_before_a_row_is_read(place: Place) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs hekat[parquet]")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs hekat[parquet]")
    path = place.folder / "rows.parquet"
    parquet.write_table(arrow.table({"age": [61, 62], "dose": [0.5, 0.25], "ill": ["no", "yes"]}), path)
    written = path.read_bytes()
    footer = len(written) - 8 - int.from_bytes(written[-8:-4], "little")
    path.write_bytes(written[:4] + bytes(footer - 4) + written[footer:])
    job = place.write_job(horizontal())
    place.write_site("", {NORTH: DENIED})
    site = place.folder / "site.toml"
    csv = f'[{NORTH}]\nsource = "csv"\npath = "rows.csv"\nid = "person"\n'
    parts = site.read_text().partition(csv)
    site.write_text(f'{parts[0]}[{NORTH}]\nsource = "parquet"\npath = "rows.parquet"\n{parts[2]}')
    check_refused(place, load_site(site), job, ("north",), f"[{NORTH}] {LISTS_LINE}", f"change {NORTH}.")


def test_lists_of_another_partys_table_are_for_its_own_site_to_hold(place: Place) -> None:
    (place.folder / "rows.csv").write_bytes(HEADER_ALONE)
    job = place.write_job(horizontal())
    site = place.write_site("", {NORTH: DENIED})
    enforce_policy(site, job, ("east", "hub"))
    refuse(site, job, roles_of(job))


AT_WEST = "data under [party.west]"
ROLES_WITH_ROWS = {
    "aggregator": (horizontal(), 'aggregator = "hub"', 'aggregator = "west"'),
    "key authority": (horizontal(protection='opening = "authority"\nauthority = "hub"'), 'y = "hub"', 'y = "west"'),
    "aggregator of an app": (averaging(), 'aggregator = "hub"', 'aggregator = "west"'),
    "arbiter": (arbitrated(), 'arbiter = "hub"', 'arbiter = "west"'),
}


@pytest.mark.parametrize("name", ROLES_WITH_ROWS)
def test_a_site_with_rows_is_given_no_role_that_adds_or_opens(place: Place, name: str) -> None:
    """A writer of jobs names it in the place of a site that holds nothing."""
    text, none, west = ROLES_WITH_ROWS[name]
    text = text.replace('aggregator = "hub"', 'aggregator = "adder"') if name == "key authority" else text
    assert none in text
    job = place.write_job(text.replace(none, west))
    site = place.write_site(f'{ALL}\nopenings = ["committee", "authority"]')
    check_refused(place, site, job, ("west",), f"[party] of the {name.removesuffix(' of an app')}", AT_WEST)


# --- other ways to write the same ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", ["3.0", "true", '"3"', "[3]", "1979-05-27", "-3", "0", "nan", "3\nrounds = 1"])
def test_a_number_of_another_type_is_no_job_and_slips_by_no_line(place: Place, rounds: str) -> None:
    with pytest.raises(HekatError):
        place.write_job(horizontal().replace("rounds = 3", f"rounds = {rounds}"))


@pytest.mark.parametrize("rounds", ["0x3", "0b11", "0o3", "+3", "1_0", "1000000"])
def test_a_number_in_another_spelling_is_the_same_number(place: Place, rounds: str) -> None:
    job = place.write_job(horizontal().replace("rounds = 3", f"rounds = {rounds}"))
    assert "policy.max_rounds" in str(refuse(place.write_site("max_rounds = 2"), job, ("north",)))


WRONG_LINES = [
    *("max_rounds = true", 'max_rounds = "1"', "max_rounds = 1.0", "max_rounds = [1]", "max_rounds = nan"),
    *('protocols = "psi"', "protocols = true", 'committee_members = "north"', f'approved_jobs = "{"0" * 64}"'),
    *('require_approval = "yes"', "require_approval = 1", "min_parties = 3.0", 'single_ids = "false"', "models = {}"),
    *("Max_rounds = 1", '"max_rounds " = 1', '"m\N{CYRILLIC SMALL LETTER A}x_rounds" = 1', "[policy.more]"),
    *(f'approved_jobs = ["{text}"]' for text in ("0" * 63, "0" * 65, f" {'0' * 63}", f"sha256:{'0' * 57}")),
    f'approved_jobs = ["{chr(0xFF10) * 64}"]',
    f'approved_jobs = ["{"0" * 64}\\n"]',
]


@pytest.mark.parametrize("line", WRONG_LINES)
def test_a_line_that_is_written_wrong_is_refused_and_never_read_as_no_limit(place: Place, line: str) -> None:
    with pytest.raises(JobError):
        place.write_site(line)


@pytest.mark.parametrize("place_of_policy", ["[Policy]", "[[policy]]", "[party.north.policy]", "[site.policy]"])
def test_a_policy_in_another_place_is_refused(tmp_path: Path, place_of_policy: str) -> None:
    path = tmp_path / "site.toml"
    path.write_text(f"format = 1\n{place_of_policy}\nmax_rounds = 1\n")
    with pytest.raises(JobError):
        load_site(path)


CHANGES = {
    "a comment": lambda text: f"{text}# more\n",
    "another line end": lambda text: text.replace("\n", "\r\n"),
    "a blank": lambda text: text.replace(" = ", "  = ", 1),
    "another name": lambda text: text.replace("hostile", "hostile "),
    "letters that look alike": lambda text: text.replace("hostile", "h\N{CYRILLIC SMALL LETTER O}stile"),
    "an escape for a letter": lambda text: text.replace("hostile", "h\\u006fstile"),
}


@pytest.mark.quick_values
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("text", [horizontal(), vertical(), intersection(), averaging()], ids=lambda text: text[42:52])
def test_one_changed_letter_makes_another_job(place: Place, text: str, change: str) -> None:
    """An approval, and a digest in the site file, are of the bytes: what a reader sees, or TOML means, is nothing."""
    first = place.write_job(text)
    site = place.write_site(f"{ALL}\nrequire_approval = true")
    for role in approvers_of(first):
        approve(site, role, first.digest, first.name)
    enforce_policy(site, first, roles_of(first))
    other = place.write_job(CHANGES[change](text))
    assert other.settings == first.settings
    assert "not approved" in str(refuse(site, other, roles_of(other)))
    listing = place.write_site(f'{ALL}\napproved_jobs = ["{first.digest.hex()}"]')
    enforce_policy(listing, first, roles_of(first))
    assert "policy.approved_jobs" in str(refuse(listing, other, roles_of(other)))


@pytest.mark.parametrize(
    "name", ["South", "\N{CYRILLIC SMALL LETTER DZE}outh", "\N{FULLWIDTH LATIN SMALL LETTER S}outh"]
)
def test_a_name_that_looks_like_a_trusted_one_is_a_stranger(place: Place, name: str) -> None:
    job = place.write_job(horizontal(parties=("north", "east", name)))
    site = place.write_site('committee_members = ["north", "east", "south"]')
    check_refused(place, site, job, ("north",), "policy.committee_members")


@pytest.mark.parametrize(
    "name", ["south ", "sou\N{COMBINING ACUTE ACCENT}th", "south\N{ZERO WIDTH SPACE}", "../south", "north"]
)
def test_a_name_that_could_pass_for_another_is_no_job(place: Place, name: str) -> None:
    with pytest.raises(HekatError):
        place.write_job(horizontal(parties=("north", "east", name)))


def keyed(keys: Mapping[str, PartyKey]) -> str:
    pins = "\n".join(f'{name} = "{key.pin}"' for name, key in keys.items())
    return horizontal(f"[party_keys]\n{pins}")


def test_a_trusted_name_with_a_strangers_key_is_a_stranger(place: Place) -> None:
    keys = {name: PartyKey.generate() for name in (*THREE, "hub")}
    by_key = "committee_members = [" + ", ".join(f'"{keys[name].public.text}"' for name in THREE) + "]"
    site = place.write_site(by_key)
    trusted, hostile = place.write_job(keyed(keys)), place.write_job(keyed({**keys, "south": PartyKey.generate()}))
    for job in (trusted, hostile):
        approve(site, "north", job.digest, job.name)
    enforce_policy(site, trusted, ("north",))
    error = refuse(site, hostile, ("north",))
    assert hostile.party_keys["south"].fingerprint in error.got
    by_name = place.write_site('committee_members = ["north", "east", "south"]')
    assert "policy.committee_members" in str(refuse(by_name, trusted, ("north",)))
    (first, second) = place.refused_at("north")
    assert {first.line, second.line} == {"policy.committee_members"}


def test_one_trusted_key_makes_no_two_members(place: Place) -> None:
    keys = {name: PartyKey.generate() for name in (*THREE, "hub")}
    with pytest.raises(JobError, match="one key"):
        place.write_job(keyed({**keys, "south": keys["east"]}))


def test_a_job_that_is_refused_by_several_lines_is_told_of_all_of_them(place: Place) -> None:
    """A writer of jobs who splits what it asks for over sections is answered line by line."""
    text = horizontal("[compare]\nplain = true\nbits = [8, 32]", "[checks]\nexactness = true", '[model]\nname = "mlp"')
    job = place.write_job(text)
    site = place.write_site(
        "max_rounds = 11\nmax_value_bits = 31\nmodels = []\nrequire_approval = true\nmin_parties = 9"
    )
    error = refuse(site, job, ("north",))
    lines = ["models", "max_rounds", "max_value_bits", "protections", "exactness_check", "min_parties"]
    wanted = [*(f"policy.{key}" for key in lines), APPROVAL]
    assert [found.line for found in place.refused_at("north")] == wanted
    assert all(line in f"{error} {error.__notes__}" for line in wanted)
