"""The job file of a training on an encrypted model: what it says, what it is refused for, what a site allows."""

from pathlib import Path

import pytest

from hekat.channel import PartyKey
from hekat.errors import HekatError, JobError, PolicyError
from hekat.job.agreed_terms import terms_of
from hekat.job.encrypted_model.job_file import load_encrypted_model_job
from hekat.job.encrypted_model.site_check import check_site_allows_encrypted_model
from hekat.job.horizontal.job_file import load_job
from hekat.job.load_any_job import aggregator_of, approvers_of, load_any_job, roles_of
from hekat.job.site_file import load_site
from hekat.protocol.encrypted_model.training_settings import EncryptedTraining

HEAD = (
    'format = 2\nname = "clinics"\nprotocol = "encrypted_model"\nhosts = ["north", "lake"]\nowner = "lab"\n'
    'aggregator = "hub"\narbiter = "judge"\ndata = "rows"\n'
    "allow_two_parties = true\n"
)
CLASSES = 'classes = ["no", "yes"]\n'
SITE = "format = 1\n" + "".join(
    f'[party.{name}.data.rows]\nsource = "csv"\npath = "{name}.csv"\nlabel = "y"\n' for name in ("north", "lake")
)


@pytest.fixture
def load(tmp_path):
    def read(text: str, head: str = HEAD):
        path = tmp_path / "job.toml"
        path.write_text(head + text)
        return load_encrypted_model_job(path)

    return read


def test_a_job_that_says_little_is_the_secure_one(load, tmp_path) -> None:
    job = load(CLASSES)
    settings = job.settings
    assert (settings.protection, settings.task, settings.training) == ("lattice", "logistic", EncryptedTraining())
    assert (job.test_data, job.hold_out, job.timeout_s) == (None, 0.0, 600.0)
    loaded = load_any_job(tmp_path / "job.toml")
    assert roles_of(loaded) == ("north", "lake", "lab", "hub", "judge")
    assert job.columns.fills_agreed, "a host is told to name a fill: no cells are counted together"
    assert (aggregator_of(loaded), approvers_of(loaded)) == ("hub", ("north", "lake", "lab", "judge"))


def test_every_setting_arrives(load) -> None:
    job = load(
        """classes = ["no", "maybe", "yes"]
test_data = "kept"
[model]
name = "logistic"
l2 = 0.5
[training]
rounds = 7
local_epochs = 2
batch_rows = 8
learning_rate = 0.25
optimiser = "sgd"
standardise = false
report_every = 3
seed = 9
[protection]
kind = "paillier"
key_bits = 2048
[columns.town]
categories = ["a", "b"]
"""
    )
    assert job.settings.training == EncryptedTraining(
        rounds=7,
        local_epochs=2,
        batch_rows=8,
        learning_rate=0.25,
        optimiser="sgd",
        l2=0.5,
        standardise=False,
        report_every=3,
        seed=9,
    )
    assert (job.settings.key_bits, job.test_data, job.settings.target_count) == (2048, "kept", 3)
    assert [spec.name for spec in job.columns] == ["town"]


def test_without_classes_it_is_a_regression(load) -> None:
    assert load("").settings.task == "linear"


def test_an_owner_among_the_hosts_may_hold_rows_out(load) -> None:
    job = load(f"{CLASSES}[validation]\nhold_out = 0.2\n", HEAD.replace('owner = "lab"', 'owner = "lake"'))
    assert (job.hold_out, roles_of(job)) == (0.2, ("north", "lake", "hub", "judge"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[training]\nrounds = 0\n", "training.rounds"),
        ("[training]\nlearning_rate = -1\n", "training.learning_rate"),
        ("[training]\nmomentum = 1.0\n", "training.momentum"),
        ('[training]\noptimiser = "adam"\n', "no sum of products gives"),
        ("[training]\nl2 = 0.1\n", "training.l2 is not a setting"),
        ("[training]\nepochs = 3\n", "training.epochs is not a setting"),
        ("[model]\nl1 = 0.1\n", "training.l1"),
        ('[model]\nname = "mlp"\n', "model.name"),
        ('[model]\nname = "linear"\n', "classes"),
        ('[protection]\nkind = "bfv"\n', "protection.kind"),
        ("[protection]\nkey_bits = 2048\n", "protection.key_bits belongs to another protection"),
        ("[validation]\nhold_out = 0.95\n", "validation.hold_out refused"),
        ("[validation]\nhold_out = 0.2\n", "the owner has no training rows"),
        ("[validation]\nfolds = 5\n", "validation.folds belongs to jobs of protocol 'horizontal'"),
        ('[columns.town]\ncategories = "found"\n', "columns.town.categories refused"),
        ('[columns.age]\nfill = "median"\n', "columns.age.fill refused"),
        ("sparse = true\n", "dense rows"),
        ("weight_max = 100\n", "weight_max is not a setting"),
        ("[compare]\nplain = true\n", "compare is not a setting"),
    ],
)
def test_what_cannot_be_is_refused_with_what_was_expected_and_a_cure(load, text: str, what: str) -> None:
    with pytest.raises(HekatError) as refusal:
        load(CLASSES + text)
    assert what in f"{refusal.value} {refusal.value.expected}"
    assert refusal.value.expected
    assert refusal.value.cure


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        ('owner = "lab"', 'owner = "hub"'),
        ('owner = "lab"', 'owner = "judge"'),
        ('arbiter = "judge"', 'arbiter = "north"'),
        ('aggregator = "hub"', 'aggregator = "lake"'),
        ('hosts = ["north", "lake"]', 'hosts = ["north", "north"]'),
        ('hosts = ["north", "lake"]', 'hosts = ["north"]'),
        ('owner = "lab"', 'owner = "../lab"'),
    ],
)
def test_roles_that_would_read_the_model_or_stand_twice_are_refused(load, said: str, instead: str) -> None:
    with pytest.raises(HekatError) as refusal:
        load(CLASSES, HEAD.replace(said, instead))
    assert refusal.value.cure


def test_a_held_out_part_and_test_data_measure_in_two_ways(load) -> None:
    head = HEAD.replace('owner = "lab"', 'owner = "lake"')
    with pytest.raises(JobError, match="measures on test_data or on rows that it holds out"):
        load(f'{CLASSES}test_data = "kept"\n[validation]\nhold_out = 0.2\n', head)


@pytest.mark.parametrize("place", ["", "[model]\n", "[training]\n"])
def test_a_horizontal_job_that_says_who_may_read_the_model_is_shown_this_protocol(tmp_path: Path, place: str) -> None:
    path = tmp_path / "job.toml"
    path.write_text(
        'format = 2\nname = "clinics"\nprotocol = "horizontal"\nparties = ["a", "b", "c"]\naggregator = "hub"\n'
        f'data = "rows"\nclasses = ["no", "yes"]\nweight_max = 10\n{place}model_access = "encrypted"\n'
    )
    with pytest.raises(JobError, match="model_access is no setting of a horizontal job") as refusal:
        load_job(path)
    assert 'protocol = "encrypted_model"' in refusal.value.cure


def site_of(folder: Path, policy: str = "", text: str = SITE):
    path = folder / "site.toml"
    path.write_text(text.replace("format = 1\n", f"format = 1\n[policy]\n{policy}\n"))
    return load_site(path)


def test_a_site_says_to_whom_a_model_of_its_rows_may_go(load, tmp_path) -> None:
    job = load(CLASSES)
    check_site_allows_encrypted_model(site_of(tmp_path), job)  # one machine plays the owner too
    for here in (["hub"], ["judge"], ["lab"]):
        check_site_allows_encrypted_model(site_of(tmp_path), job, here)
    with pytest.raises(PolicyError, match="the model to go to this owner") as refusal:
        check_site_allows_encrypted_model(site_of(tmp_path), job, ["north"])
    assert "policy.model_owners" in refusal.value.cure
    check_site_allows_encrypted_model(site_of(tmp_path, 'model_owners = ["lab"]'), job, ["north"])
    with pytest.raises(PolicyError, match="the model to go to this owner"):
        check_site_allows_encrypted_model(site_of(tmp_path, 'model_owners = ["laboratory"]'), job, ["north"])


def test_the_owner_is_listed_by_its_key_where_the_job_gives_names_keys(load, tmp_path) -> None:
    keys = {name: PartyKey.generate() for name in ("north", "lake", "lab", "hub", "judge")}
    pins = "".join(f'{name} = "{key.pin}"\n' for name, key in keys.items())
    job = load(f"{CLASSES}[party_keys]\n{pins}")
    for listed in ('["lab"]', f'["{keys["hub"].pin}"]'):
        with pytest.raises(PolicyError, match="the model to go to this owner"):
            check_site_allows_encrypted_model(site_of(tmp_path, f"model_owners = {listed}"), job, ["north"])
    line = keys["lab"].public.text
    check_site_allows_encrypted_model(site_of(tmp_path, f'model_owners = ["{line}"]'), job, ["north"])
    # A name in the site file says nothing of a job with keys: its writer chooses the names.
    named = f"{SITE}[party.lab]\n"
    with pytest.raises(PolicyError, match="the model to go to this owner"):
        check_site_allows_encrypted_model(site_of(tmp_path, "", named), job, ["north"])
    keys["lab"].save(tmp_path / "lab.key")
    own = f'{SITE}[party.lab]\nparty_key = "lab.key"\n'
    check_site_allows_encrypted_model(site_of(tmp_path, "", own), job, ["north"])


@pytest.mark.parametrize(
    ("policy", "what"),
    [
        ('protocols = ["horizontal"]', "protocol 'encrypted_model'"),
        ('protections = ["paillier"]', "protection 'lattice'"),
        ('models = ["linear"]', "this model"),
        ("max_rounds = 9", "so many rounds"),
        ("min_parties = 3", "of fewer hosts"),
    ],
)
def test_a_site_refuses_what_its_policy_does_not_allow(load, tmp_path, policy: str, what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        check_site_allows_encrypted_model(site_of(tmp_path, policy), load(CLASSES))


def test_arbiter_and_aggregator_are_given_no_rows(load, tmp_path) -> None:
    for role in ("hub", "judge"):
        text = f'{SITE}[party.{role}.data.rows]\nsource = "csv"\npath = "x.csv"\n'
        with pytest.raises(PolicyError, match="is given data"):
            check_site_allows_encrypted_model(site_of(tmp_path, "", text), load(CLASSES))


def test_who_approves_the_job_reads_that_the_owner_alone_gets_the_model(load) -> None:
    terms = dict(terms_of(load(CLASSES)))
    assert terms["owner"] == "lab: alone GETS THE MODEL"
    assert "must not work with the aggregator or a host" in terms["arbiter"]
    assert "means and spreads" in terms["opened sums"]


def test_two_hosts_say_that_they_accept_what_each_learns_of_the_other(load) -> None:
    with pytest.raises(PolicyError, match="two hosts learn each other") as refusal:
        load(CLASSES, HEAD.replace("allow_two_parties = true\n", ""))
    assert "allow_two_parties = true" in refusal.value.cure
    assert "LEARNS the other's row count" in dict(terms_of(load(CLASSES)))["two hosts"]
    three = HEAD.replace("allow_two_parties = true\n", "").replace('"lake"]', '"lake", "hill"]')
    assert not load(CLASSES, three).settings.allow_two_parties


def test_a_site_bounds_how_many_models_of_one_training_the_owner_is_given(load, tmp_path) -> None:
    job = load(f"{CLASSES}[training]\nrounds = 11\nreport_every = 1\n")
    assert "TELLS of sums of products" in dict(terms_of(job))["models on the way"]
    with pytest.raises(PolicyError, match="so many models of one training") as refusal:
        check_site_allows_encrypted_model(site_of(tmp_path), job)
    assert "policy.max_reported_models = 10" in refusal.value.expected
    check_site_allows_encrypted_model(site_of(tmp_path, "max_reported_models = 11"), job)
    check_site_allows_encrypted_model(site_of(tmp_path), load(f"{CLASSES}[training]\nrounds = 11\n"))
