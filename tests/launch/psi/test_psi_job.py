"""A job of protocol psi: its file, what is refused before anything is sent, the run and what each party keeps of it."""

from __future__ import annotations

import csv
import json
import stat

import pytest

from hekat.errors import HekatError, InputError, JobError, PartyStoppedError, PolicyError
from hekat.job.load_any_job import load_any_job
from hekat.job.policy.checks_of_job import APPROVAL
from hekat.job.policy.judge_job import judge_job, roles_here
from hekat.job.site_file import load_site
from hekat.launch.psi.run import run_intersection_job
from hekat.report import load_summary
from hekat.run.psi.load_inputs import load_intersection_inputs

COMMON = {f"client{number}" for number in range(11, 40, 2)}


def kept(folder, party: str) -> list[str]:
    with (folder / "intersection" / f"{party}.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["customer"]
    return [row[0] for row in rows]


def test_those_who_learn_keep_their_ids_in_one_order(inputs, workplace) -> None:
    result = run_intersection_job(inputs('learns = ["bank", "telco"]'), workplace / "runs")
    bank, telco = kept(result.folder, "bank"), kept(result.folder, "telco")
    assert set(bank) == COMMON
    assert bank == telco
    assert sorted(path.name for path in (result.folder / "intersection").iterdir()) == ["bank.csv", "telco.csv"]
    assert stat.S_IMODE((result.folder / "intersection").stat().st_mode) == 0o700
    assert stat.S_IMODE((result.folder / "intersection" / "bank.csv").stat().st_mode) == 0o600


def test_the_summary_says_who_learned_what(inputs, workplace) -> None:
    result = run_intersection_job(inputs('learns = ["bank"]'), workplace / "runs")
    summary = load_summary(result.folder)
    assert summary == result.summary
    assert summary["protocol"] == "psi"
    assert summary["common"] == len(COMMON)
    assert [(party["name"], party["ids"], party["padded"], party["learned"]) for party in summary["parties"]] == [
        ("bank", 40, 256, "rows"),
        ("insurer", 50, 256, "nothing"),
        ("telco", 26, 256, "nothing"),
    ]
    total = summary["seconds"]["total"]
    for seconds in summary["seconds_by_role"].values():
        assert sum(seconds.values()) == pytest.approx(total)
        assert seconds["idle"] >= 0
    views = {view["party"]: view for view in summary["seen"]}
    assert list(views) == ["bank", "insurer", "telco"]
    assert not any(row["step"] == "common-rows" for row in views["insurer"]["learned"])


def test_nothing_of_an_id_is_written_but_for_its_owner(inputs, workplace) -> None:
    folder = run_intersection_job(inputs(), workplace / "runs").folder
    for path in folder.rglob("*"):
        if path.is_file() and path.parent.name != "intersection":
            assert "client" not in path.read_text(), path.name


def test_only_how_many(inputs, workplace) -> None:
    result = run_intersection_job(inputs("cardinality_only = true", hosts='"insurer"'), workplace / "runs")
    assert result.summary["common"] == 30
    assert {party["learned"] for party in result.summary["parties"]} == {"count"}
    assert not (result.folder / "intersection").exists()


def test_ids_with_ends_of_lines_in_them_are_kept_whole(inputs, workplace) -> None:
    ids = ["a\rb", "a\nb", "a\r\nb", 'a"b', "a,b"]
    for party in ("bank", "insurer"):
        text = "customer,age\n" + "".join('"{}",1\n'.format(one.replace('"', '""')) for one in ids)
        (workplace / f"{party}.csv").write_text(text, newline="")
    result = run_intersection_job(inputs(hosts='"insurer"'), workplace / "runs")
    assert sorted(kept(result.folder, "bank")) == sorted(ids)
    assert kept(result.folder, "insurer") == kept(result.folder, "bank")


def test_nothing_in_common_is_an_answer(inputs, workplace) -> None:
    (workplace / "insurer.csv").write_text("customer\n" + "".join(f"x{number}\n" for number in range(9)))
    result = run_intersection_job(inputs(hosts='"insurer"'), workplace / "runs")
    assert result.summary["common"] == 0
    assert kept(result.folder, "bank") == kept(result.folder, "insurer") == []
    assert any("no id is common" in note for note in result.summary["notes"])


def test_events_tell_how_it_went(inputs, workplace) -> None:
    folder = run_intersection_job(inputs(), workplace / "runs").folder
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["started", "finished"]
    assert events[0]["protocol"] == "psi"


@pytest.mark.long
def test_progress_is_told_of_every_role(inputs, workplace) -> None:
    told = {}

    class Watcher:
        def open_folder(self, folder) -> None:
            told["folder"] = folder

        def watch(self, role, session) -> None:
            """Not looked at here."""

        def reach(self, work: str, done: int, total: int) -> None:
            assert 0 < done <= total
            told[work] = (done, total)

    result = run_intersection_job(inputs(), workplace / "runs", Watcher())
    assert told.pop("folder") == result.folder
    assert {work.split(":")[0] for work in told} == {"bank", "insurer", "telco"}
    assert all(done == total for done, total in told.values())


@pytest.mark.parametrize(
    ("lines", "error", "what"),
    [
        (['kind = "edch"'], InputError, "did you mean 'ecdh'"),
        (['learns = ["nobody"]'], InputError, r"'nobody'; cure: change intersection\.learns"),
        (["cardinality_only = true"], InputError, r"setting intersection\.cardinality_only refused"),
        (['kind = "rsa_blind"', "key_bits = 2048"], InputError, r"setting intersection\.key_bits refused"),
        (["cardinality = true"], JobError, "did you mean cardinality_only"),
    ],
)
def test_a_wrong_line_is_named(inputs, lines, error, what) -> None:
    with pytest.raises(error, match=what):
        inputs(*lines)


def test_a_name_that_would_lead_out_of_the_folder_is_refused(inputs) -> None:
    with pytest.raises(PolicyError, match="a party's name cannot be used"):
        inputs(hosts='"../telco"')


def test_a_key_below_what_the_site_allows_is_refused(inputs, workplace) -> None:
    with (workplace / "site.toml").open("a") as file:
        file.write("\n[policy]\nmin_key_bits = 4096\n")
    assert inputs().job.settings.kind == "ecdh"
    with pytest.raises(PolicyError, match="smaller than the site allows"):
        inputs('kind = "rsa_blind"')


@pytest.mark.parametrize(
    ("site", "what"),
    [
        (("[party.telco.data.customers]", "[party.tel.data.customers]"), "knows no party 'telco'"),
        (("[party.telco.data.customers]", "[party.telco.data.clients]"), "no data called 'customers'"),
        (('path = "telco.csv"\nid = "customer"', 'path = "telco.csv"'), "telco has no ids"),
    ],
)
def test_a_site_that_does_not_have_it_is_refused(inputs, workplace, site, what) -> None:
    text = (workplace / "site.toml").read_text()
    (workplace / "site.toml").write_text(text.replace(*site))
    assert (workplace / "site.toml").read_text() != text
    with pytest.raises(HekatError, match=what):
        inputs()


def test_ids_that_repeat_are_refused_without_being_named(inputs, workplace) -> None:
    (workplace / "telco.csv").write_text("customer\nclient1\nclient2\nclient1\n")
    with pytest.raises(InputError, match="telco") as caught:
        inputs()
    assert "client" not in str(caught.value)


def test_parties_with_other_id_columns_stop_the_run(inputs, workplace) -> None:
    site = (workplace / "site.toml").read_text()
    (workplace / "site.toml").write_text(
        site.replace('"bank.csv"\nid = "customer"', '"bank.csv"\nid = ["customer", "age"]')
    )
    with pytest.raises(PartyStoppedError) as caught:
        run_intersection_job(inputs(hosts='"insurer"'), workplace / "runs")
    assert "the same id columns in the same order" in str(caught.value.__cause__)
    (folder,) = (workplace / "runs").iterdir()
    last = json.loads((folder / "events.jsonl").read_text().splitlines()[-1])
    assert last["event"] == "stopped"


def test_one_id_is_refused_before_the_run_unless_the_job_says_so(inputs, workplace) -> None:
    (workplace / "bank.csv").write_text("customer\nclient13\n")
    with pytest.raises(InputError, match="bank has one id") as caught:
        inputs(hosts='"insurer"')
    assert "allow_single" in str(caught.value.cure)
    with pytest.raises(PolicyError, match=r"policy\.single_ids"):
        inputs("allow_single = true", hosts='"insurer"')
    with (workplace / "site.toml").open("a") as file:
        file.write("\n[policy]\nsingle_ids = true\n")
    result = run_intersection_job(inputs("allow_single = true", hosts='"insurer"'), workplace / "runs")
    assert result.summary["common"] == 1


def test_a_site_is_told_every_line_that_refuses_an_intersection(inputs, workplace) -> None:
    inputs("kind = 'rsa_blind'")
    with (workplace / "job.toml").open("a") as file:
        file.write("allow_single = true\n")
    with (workplace / "site.toml").open("a") as file:
        file.write("\n[policy]\nprotocols = ['horizontal']\nmin_key_bits = 4096\nrequire_approval = true\n")
        file.write("".join(f"[party.{name}]\nstate = 'state/{name}'\n" for name in ("bank", "insurer", "telco")))
    site, job = load_site(workplace / "site.toml"), load_any_job(workplace / "job.toml")
    judged = judge_job(site, job, roles_here(site, job))
    refused = [line.line for line in judged if line.refusal]
    assert refused == ["policy.protocols", "policy.min_key_bits", "policy.single_ids", APPROVAL]
    with pytest.raises(PolicyError):
        load_intersection_inputs(workplace / "job.toml", role="bank")
    assert {path.name for path in (workplace / "state").iterdir()} == {"bank"}


def test_a_horizontal_job_is_not_one(inputs, workplace) -> None:
    inputs()
    text = (workplace / "job.toml").read_text().replace('"psi"', '"horizontal"')
    (workplace / "job.toml").write_text(text)
    from hekat.job.psi.job_file import load_intersection_job

    with pytest.raises(JobError, match="protocol 'horizontal'"):
        load_intersection_job(workplace / "job.toml")
