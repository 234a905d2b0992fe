"""The job file of a vertical regression: what it means, and every way of writing it wrong."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from hekat.errors import HekatError, InputError, JobError, PolicyError
from hekat.job.agreed_terms import terms_of
from hekat.job.horizontal.job_file import load_job
from hekat.job.job_head import read_head
from hekat.job.load_any_job import load_any_job
from hekat.job.policy.judge_job import judge_job
from hekat.job.site_file import load_site
from hekat.job.vertical_linear.job_file import load_vertical_job
from hekat.protocol.vertical_linear.settings import COLUMN_LEAK_ACCEPTED, LEAK_ACCEPTED, VerticalLinearSettings
from hekat.protocol.vertical_linear.training_settings import FixedPoint, LinearTraining, TrainingRules
from hekat.summary.vertical_linear.described_settings import describe_vertical_settings

PLAIN = "[protection]\nkind = 'none'\n"


def test_the_smallest_job_gets_the_safe_defaults(firms) -> None:
    path = firms.write_job("[training]\n[protection]\n")
    job = load_vertical_job(path)
    settings = job.settings
    assert (settings.form, settings.protection, settings.key_bits, settings.arbiter) == (
        "shared_weights",
        "paillier",
        3072,
        None,
    )
    ruled = LinearTraining().resolved(0.25, 2, TrainingRules.of(in_shares=True, of_numbers=False))
    assert (settings.task, settings.training, settings.fixed_point) == ("logistic", ruled, FixedPoint())
    assert (ruled.learning_rate, ruled.batch_rows, ruled.mixes_columns) == (4.0, 32_768, True)
    assert (job.intersection_kind, job.prediction.receivers) == ("ecdh", ("bank",))
    assert (job.test_data, job.compare_centralised, job.check_exactness, job.sparse) == (None, False, False, False)
    assert settings.label_leak_accepted is None
    assert settings.column_leak_accepted is None
    assert (settings.limit_spreads, settings.calibration_rows) == (3.0, 2000)
    assert (settings.reweights, settings.score_openings, ruled.stops_when_settled) == (True, 2, True)
    assert job.digest == hashlib.sha256(path.read_bytes()).digest()
    assert job.timeout_s == 240


def test_probabilities_are_fitted_by_rule_only_where_the_guest_alone_receives_scores(firms) -> None:
    """Others' predictions are not calibrated, so a guest would learn scores of training rows for nothing."""
    ruled = load_vertical_job(firms.write_job("[training]\n"))
    told = dict(terms_of(ruled))["learn scores of training rows"]
    assert told == "bank, of up to 2000, at most twice, to fit probabilities to its labels and to re-weight rows"
    for receivers in (["insurer"], ["insurer", "bank"]):
        job = load_vertical_job(firms.write_job(f"[training]\n[prediction]\nreceivers = {receivers}\n"))
        assert job.settings.calibration_rows == 0
        assert "learn scores of training rows" not in dict(terms_of(job))
    wanted = "[training]\ncalibration_rows = 50\n[prediction]\nreceivers = {}\n"
    assert load_vertical_job(firms.write_job(wanted.format(["insurer", "bank"]))).settings.calibration_rows == 50
    with pytest.raises(JobError, match="a guest that is to receive none"):
        load_vertical_job(firms.write_job(wanted.format(["insurer"])))


def test_probabilities_are_not_fitted_by_rule_where_a_party_is_quiet() -> None:
    """Both holders together learn each quiet party's part of the score of every row that is predicted."""
    training = LinearTraining()
    two = VerticalLinearSettings(guest="bank", hosts=("insurer",), classes=("no", "yes"), training=training)
    three = replace(two, hosts=("insurer", "broker"))
    assert (two.calibration_rows, two.quiet_parties) == (2000, ())
    assert (three.calibration_rows, three.quiet_parties) == (0, ("broker",))
    asked = replace(three, training=replace(training, calibration_rows=50))
    assert asked.calibration_rows == 50


def test_every_key_is_read(firms) -> None:
    sections = """
[intersection]
kind = "rsa_blind"
key_bits = 4096
[model]
name = "linear"
l1 = 0.5
l2 = 1
[training]
epochs = 7
batch_rows = 0
learning_rate = 0.5
optimiser = "adam"
standardise = false
patience = 2
min_improvement = 0.01
stop_at_loss = 0.2
seed = 9
[training.optimiser_settings]
beta_1 = 0.8
[fixed_point]
feature_bits = 20
value_bits = 30
[protection]
kind = "paillier"
form = "arbiter"
key_bits = 2048
[label_leak]
accepted = "hosts may learn labels"
[column_leak]
accepted = "the guest may learn columns of hosts"
[prediction]
receivers = ["insurer", "bank"]
[compare]
centralised = true
[checks]
exactness = true
[columns.region]
categories = ["north", "south"]
"""
    job = load_vertical_job(
        firms.write_job(sections, classes="", arbiter='"auditor"', sparse="true", timeout_s="9", test_data='"t"')
    )
    training = job.settings.training
    assert (job.settings.task, job.settings.classes, training.l1, training.l2) == ("linear", None, 0.5, 1.0)
    assert (training.epochs, training.batch_rows, training.learning_rate, training.optimiser) == (7, 0, 0.5, "adam")
    assert (training.optimiser_settings, training.standardise, training.patience) == ({"beta_1": 0.8}, False, 2)
    assert (training.min_improvement, training.stop_at_loss, training.seed) == (0.01, 0.2, 9)
    assert job.settings.fixed_point == FixedPoint(20, 30)
    assert (job.settings.form, job.settings.arbiter, job.settings.key_bits) == ("arbiter", "auditor", 2048)
    assert job.settings.label_leak_accepted == LEAK_ACCEPTED
    assert job.settings.column_leak_accepted == COLUMN_LEAK_ACCEPTED
    assert (training.limit_spreads, job.settings.limit_spreads) == (None, 0.0)
    assert job.intersection is not None
    assert (job.intersection.kind, job.intersection.key_bits) == ("rsa_blind", 4096)
    assert job.prediction.receivers == ("insurer", "bank")
    assert (job.compare_centralised, job.check_exactness, job.sparse) == (True, True, True)
    assert (job.timeout_s, job.test_data, len(job.columns)) == (9.0, "t", 1)


@pytest.mark.parametrize(
    ("sections", "limit"),
    [
        ("[protection]\n", 3.0),
        ("[protection]\n[training]\nlimit_spreads = 0\n", 0.0),
        ("[protection]\n[training]\nlimit_spreads = 2.5\n", 2.5),
        ("[protection]\n[training]\nstandardise = false\n", 0.0),
    ],
)
def test_with_an_arbiter_values_are_limited_unless_the_job_says_otherwise(sections, limit, firms) -> None:
    assert load_vertical_job(firms.write_job(sections, arbiter='"auditor"')).settings.limit_spreads == limit


@pytest.mark.parametrize("key", ["format", "name", "protocol", "guest", "hosts", "data"])
def test_a_missing_key_is_named(key, firms) -> None:
    with pytest.raises(JobError) as caught:
        load_vertical_job(firms.write_job(without=key))
    assert key in caught.value.what
    assert caught.value.cure


WRONG = {
    "an unknown key": ("[training]\nepoch = 3\n", {}, "did you mean epochs"),
    "an unknown section": ("[trainings]\nepochs = 3\n", {}, "did you mean training"),
    "another intersection": ("[intersection]\nkind = 'ecdhe'\n", {}, "'aligned'"),
    "key bits where nothing is signed": ("[intersection]\nkind = 'ecdh'\nkey_bits = 4096\n", {}, "key_bits"),
    "a key too small to sign": ("[intersection]\nkind = 'rsa_blind'\nkey_bits = 1024\n", {}, "3072"),
    "another form": ("[protection]\nform = 'shares'\n", {}, "'shared_weights' or 'arbiter'"),
    "another protection": ("[protection]\nkind = 'ckks'\n", {}, "'paillier' or 'lattice' or 'none'"),
    "a ring on shares": ("[protection]\nkind = 'lattice'\n", {}, "name an arbiter and set protection.form = 'arbiter'"),
    "a key size of a ring": (
        "[protection]\nkind = 'lattice'\nkey_bits = 3072\n",
        {"arbiter": '"x"'},
        "protection.key_bits belongs to another protection",
    ),
    "an arbiter too much": ("[protection]\nform = 'shared_weights'\n", {"arbiter": '"x"'}, "has no arbiter"),
    "no arbiter": ("[protection]\nform = 'arbiter'\n", {}, "names no arbiter"),
    "holders of whom one is no party": (
        "",
        {"hosts": '["a", "b"]', "share_holders": '["a", "c"]'},
        "share_holders refused",
    ),
    "one holder": ("", {"share_holders": '["bank"]'}, "share_holders refused"),
    "holders beside an arbiter": (PLAIN, {"arbiter": '"x"', "share_holders": '["bank", "shop"]'}, "another form"),
    "no host": ("", {"hosts": "[]"}, "one host or more"),
    "a host twice": (PLAIN, {"hosts": '["a", "a"]', "arbiter": '"x"'}, "a different name for each"),
    "a guest that is a host": ("", {"hosts": '["bank"]'}, "a different name for each"),
    "an arbiter with rows": (PLAIN, {"arbiter": '"bank"'}, "a different name for each"),
    "Adam on shares": ("[training]\noptimiser = 'adam'\n", {}, "protection.form = 'arbiter'"),
    "l1 on shares": ("[model]\nl1 = 0.1\n", {}, "protection.form = 'arbiter'"),
    "a rate that shares cannot hold": ("[training]\nlearning_rate = 1e-11\n", {}, "training.learning_rate cannot be"),
    "a penalty that shares cannot hold": ("[model]\nl2 = 1e-12\n", {}, "training.l2 cannot be"),
    "a small key": ("[protection]\nkey_bits = 1024\n", {}, "2048 or more"),
    "a waiver in other words": ("[label_leak]\naccepted = 'yes'\n", {}, LEAK_ACCEPTED),
    "the other waiver in other words": (f"[column_leak]\naccepted = '{LEAK_ACCEPTED}'\n", {}, COLUMN_LEAK_ACCEPTED),
    "classes of a regression": ("[model]\nname = 'linear'\n", {}, "none for a linear regression"),
    "no classes": ("", {"classes": ""}, "2 classes or more"),
    "one class": ("", {"classes": '["a"]'}, "2 classes or more"),
    "a class twice": ("", {"classes": '["a", "a"]'}, "each class once"),
    "another model": ("[model]\nname = 'mlp'\n", {}, "'logistic' or 'linear'"),
    "a stranger receives": ("[prediction]\nreceivers = ['eve']\n", {}, "one or more of bank, insurer"),
    "nobody receives": ("[prediction]\nreceivers = []\n", {}, "got nobody"),
    "metrics without scores": ("[prediction]\nreceivers = ['insurer']\n", {"test_data": '"t"'}, "'bank' among"),
    "a comparison without test data": ("[compare]\ncentralised = true\n", {}, "rows that training does not see"),
    "folds": ("[validation]\nfolds = 5\n", {}, "validation.folds belongs to horizontal jobs"),
    "no time": ("", {"timeout_s": "0"}, "timeout_s refused"),
    "no epochs": ("[training]\nepochs = 0\n", {}, "training.epochs"),
    "too many bits": ("[fixed_point]\nvalue_bits = 64\n", {}, "fixed_point.value_bits"),
    "a name that leads elsewhere": ("", {"hosts": '["../x"]'}, "party's name cannot be used"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_a_job_may_not_say(case, firms) -> None:
    sections, changes, words = WRONG[case]
    with pytest.raises((JobError, InputError, PolicyError)) as caught:
        load_vertical_job(firms.write_job(sections, **changes))
    assert words in str(caught.value)
    assert caught.value.expected


@pytest.mark.parametrize(
    ("rule", "section", "words"),
    [
        ("label-leak rule", "label_leak", LEAK_ACCEPTED),
        ("column-leak rule", "column_leak", COLUMN_LEAK_ACCEPTED),
    ],
)
def test_a_site_reads_of_a_waiver_before_it_approves(rule, section, words, firms) -> None:
    def told_of(sections: str) -> dict[str, str]:
        return dict(terms_of(load_vertical_job(firms.write_job(sections, arbiter='"auditor"'))))

    told = told_of(firms.ARBITER)
    told_of_waiver = told_of(f"{firms.ARBITER}[{section}]\naccepted = '{words}'\n")
    assert (told[rule], told_of_waiver[rule]) == ("holds", f"WAIVED: {words}")
    assert {name for name in told if told[name] != told_of_waiver[name]} == {rule}


def test_a_job_of_another_protocol_is_told_apart(firms) -> None:
    path = firms.write_job()
    assert read_head(path).protocol == "vertical_linear"
    with pytest.raises(JobError, match="this is a job of protocol 'vertical_linear'"):
        load_job(path)
    with pytest.raises(JobError, match="this is a job of protocol 'psi'"):
        load_vertical_job(firms.write_job(protocol='"psi"'))
    with pytest.raises(
        JobError, match="expected 'horizontal' or 'horizontal_trees' or 'encrypted_model' or 'vertical_"
    ):
        load_vertical_job(firms.write_job(protocol='"vertical"'))


ASKED = {
    "a form": ("vertical_forms = ['arbiter']", "", {}, "the site does not allow form 'shared_weights'"),
    "no form at all": ("vertical_forms = []", "", {}, "policy.vertical_forms is empty"),
    "a protocol": ("protocols = ['horizontal', 'psi']", "", {}, "policy.protocols"),
    "a model": ("models = ['linear']", "", {}, "policy.models"),
    "epochs": ("max_rounds = 2", "", {}, "lower training.epochs in the job"),
    "bits of residuals that a party sees": (
        "max_value_bits = 31",
        "[protection]\nform = 'arbiter'\n",
        {"arbiter": '"auditor"'},
        "lower fixed_point.value_bits in the job",
    ),
    "a list of jobs": ("approved_jobs = []", "", {}, "policy.approved_jobs"),
    "plain text": ("", PLAIN, {}, "the site does not allow protection 'none'"),
    "a ring": (
        "protections = ['paillier']",
        "[protection]\nkind = 'lattice'\n",
        {"arbiter": '"auditor"'},
        "set protection.kind = 'paillier' in the job",
    ),
    "a key size": ("min_key_bits = 4096", "", {}, "the job's key is smaller than the site allows"),
    "a signing key's size": (
        "min_key_bits = 3073",
        "[protection]\nkey_bits = 4096\n[intersection]\nkind = 'rsa_blind'\n",
        {},
        "intersection.key_bits",
    ),
    "a waiver": (
        "",
        "[label_leak]\naccepted = 'hosts may learn labels'\n",
        {"arbiter": '"auditor"'},
        "policy.label_leak_waiver = true",
    ),
    "the waiver for the guest": (
        "label_leak_waiver = true",
        "[column_leak]\naccepted = 'the guest may learn columns of hosts'\n",
        {"arbiter": '"auditor"'},
        "policy.column_leak_waiver = true",
    ),
    "exactness": ("", "[checks]\nexactness = true\n", {}, "policy.exactness_check = true"),
    "joined rows": (
        "",
        "[compare]\ncentralised = true\n",
        {"test_data": '"clients-test"'},
        "policy.joined_rows = true",
    ),
}


@pytest.mark.parametrize("case", ASKED)
def test_what_a_site_does_not_allow(case, firms) -> None:
    policy, sections, changes, words = ASKED[case]
    firms.write_site(f"[policy]\n{policy}\n")
    firms.write_job(sections if "[protection]" in sections else f"{sections}[protection]\n", **changes)
    with pytest.raises(PolicyError) as caught:
        firms.load_inputs()
    assert words in str(caught.value)
    assert caught.value.cure


def test_a_site_is_told_every_line_that_refuses_a_job(firms) -> None:
    lines = {
        "protocols = ['psi']": "policy.protocols",
        "models = []": "policy.models",
        "max_rounds = 1": "policy.max_rounds",
        "max_value_bits = 16": "policy.max_value_bits",
        "vertical_forms = ['shared_weights']": "policy.vertical_forms",
        "max_score_bits = 4": "policy.max_score_bits",
    }
    firms.write_site("[policy]\n" + "\n".join(lines) + "\n")
    site, job = (
        load_site(firms.folder / "site.toml"),
        load_any_job(firms.write_job("[protection]\nform = 'arbiter'\n" + firms.WAIVER, arbiter='"auditor"')),
    )
    refused = [line for line in judge_job(site, job, ("bank",)) if line.refusal]
    waivers = {"policy.label_leak_waiver", "policy.column_leak_waiver"}
    assert {line.line for line in refused} == {*lines.values(), *waivers}
    assert all(line.cure for line in refused)


def test_shares_open_no_gradient_whose_bits_a_site_could_limit(firms) -> None:
    firms.write_site("[policy]\nmax_value_bits = 8\n")
    firms.write_job("[protection]\n")
    firms.load_inputs()


@pytest.mark.parametrize("name", ["clients", "clients-test"])
def test_a_column_that_a_party_keeps_to_itself_is_refused(firms, name) -> None:
    firms.write_site("")
    path = firms.folder / "site.toml"
    table = f"path = 'insurer-{name}.csv'"
    path.write_text(path.read_text().replace(table, f"{table}\ndeny_columns = ['claims']"))
    firms.write_job("[protection]\n", test_data='"clients-test"')
    with pytest.raises(PolicyError, match="'claims'") as caught:
        firms.load_inputs()
    assert f"party.insurer.data.{name}.deny_columns" in str(caught.value)


def test_a_ring_has_no_key_size_and_no_stored_key(firms, key_files) -> None:
    """`min_key_bits` is of Paillier keys; a site file serves jobs of every protection."""
    firms.write_site(
        "[policy]\nmin_key_bits = 4096\nlabel_leak_waiver = true\ncolumn_leak_waiver = true\n",
        party=key_files,
        more="[party.auditor]\npaillier_key = 'bank.paillier'\n",
    )
    firms.write_job("[protection]\nkind = 'lattice'\n" + firms.WAIVER, arbiter='"auditor"')
    inputs = firms.load_inputs()
    assert inputs.key_pairs == {}
    described = describe_vertical_settings(inputs.job)
    assert (described["form"], described["protection"], described["key_bits"]) == ("arbiter", "lattice", None)


def test_a_site_that_knows_no_such_form_is_refused(firms) -> None:
    firms.write_site("[policy]\nvertical_forms = ['shared']\n")
    firms.write_job()
    with pytest.raises(JobError, match=r"policy\.vertical_forms names no vertical form"):
        firms.load_inputs()


def test_a_party_that_the_site_does_not_know_is_named(firms) -> None:
    firms.write_job(hosts='["grocer"]')
    with pytest.raises(HekatError, match="the site file knows no party 'grocer'"):
        firms.load_inputs()


def test_an_arbiter_with_rows_is_refused(firms) -> None:
    firms.write_site(more="[party.auditor.data.clients]\nsource = 'csv'\npath = 'bank-clients.csv'\n")
    firms.write_job(firms.ARBITER, arbiter='"auditor"')
    with pytest.raises(PolicyError, match="the arbiter is given data"):
        firms.load_inputs()
