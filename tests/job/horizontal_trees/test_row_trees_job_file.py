"""The job file of boosted trees across rows: what it says, what it is refused for, and what a site lets it ask for."""

import pytest

from hekat.errors import HekatError, JobError, PolicyError
from hekat.job.agreed_terms import terms_of
from hekat.job.horizontal_trees.job_file import load_row_trees_job
from hekat.job.horizontal_trees.site_check import check_site_allows_row_trees
from hekat.job.load_any_job import approvers_of, load_any_job
from hekat.job.site_file import load_site
from hekat.model.trees import TreeTraining

HEAD = (
    'format = 2\nname = "credit"\nprotocol = "horizontal_trees"\nparties = ["north", "lake", "county"]\n'
    'aggregator = "hub"\ndata = "rows"\nweight_max = 1000\n'
)
CLASSES = 'classes = ["no", "yes"]\n'
SITE = "format = 1\n" + "".join(
    f'[party.{name}.data.rows]\nsource = "csv"\npath = "{name}.csv"\nlabel = "y"\n'
    for name in ("north", "lake", "county")
)


@pytest.fixture
def load(tmp_path):
    def read(text: str):
        path = tmp_path / "job.toml"
        path.write_text(HEAD + text)
        return load_row_trees_job(path)

    return read


def test_a_job_that_says_little_is_the_secure_one(load) -> None:
    settings = load(CLASSES).settings
    assert (settings.protection, settings.opening, settings.classes) == ("lattice", "committee", ("no", "yes"))
    assert settings.training == TreeTraining()
    # A sum without a lost party would tell its counts, so that a run opens sums of all parties alone.
    assert settings.sums.min_parties == 3
    assert settings.held_out_fraction == 0


def test_every_setting_arrives(load, tmp_path) -> None:
    job = load(
        f"""{CLASSES}min_parties = 2
[model]
task = "binary"
[training]
max_iter = 7
max_leaf_nodes = 9
gradient_bits = 6
early_stopping = true
[protection]
opening = "shared"
[validation]
hold_out = 0.2
[columns.town]
categories = ["a", "b"]
unknown = "ignore"
"""
    )
    settings = job.settings
    assert settings.training == TreeTraining(max_iter=7, max_leaf_nodes=9, gradient_bits=6, early_stopping=True)
    assert (settings.opening, settings.hold_out, settings.sums.min_parties) == ("shared", 0.2, 2)
    assert job.columns.keeps_gaps
    assert not job.columns.for_trees
    assert approvers_of(load_any_job(tmp_path / "job.toml")) == ("north", "lake", "county")


def test_without_classes_it_is_a_regression(load) -> None:
    assert load("").settings.class_count == 0
    assert load('[model]\ntask = "regression"\n').settings.class_count == 0


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[training]\nmax_bins = 1\n", "training.max_bins"),
        ("[training]\nmax_depth = 0\n", "training.max_depth"),
        ("[training]\nrounds = 3\n", "training.rounds is not a setting"),
        ('[model]\ntask = "regression"\n', "model.task does not fit the job's classes"),
        ('[protection]\nkind = "bfv"\n', "protection.kind"),
        ("[protection]\nkey_bits = 2048\n", "protection.key_bits belongs to another protection"),
        ("[protection]\nhide_partition = true\n", "protection.hide_partition is not a setting"),
        ("min_parties = 4\n", "min_parties"),
        ("[validation]\nhold_out = 0.95\n", "validation.hold_out"),
        ("[compare]\nalone = true\n", "it grows the same trees"),
        ("[checks]\nexactness = true\n", "sums of trees are of integers, and exact"),
        ("[codec]\nvalue_bits = 8\n", "of training.gradient_bits"),
        ("[validation]\nfolds = 5\n", "validation.folds belongs to jobs of protocol 'horizontal'"),
        ("[compare]\nplain = true\n", "compare"),
        ('[columns.town]\ncategories = "found"\n', "columns.town.categories refused"),
        ('[columns.age]\nfill = "median"\n', "columns.age.fill refused"),
        ('[columns.town]\ncategories = ["a", "b"]\nfill = "most_frequent"\n', "says 'most_frequent'"),
        ('[columns.age]\nmissing = "indicator"\nfill = 1\n', "columns.age.missing"),
        ("sparse = true\n", "dense rows"),
        ("min_parties = 4\n", "setting min_parties refused"),
    ],
)
def test_what_cannot_be_is_refused_with_what_was_expected_and_a_cure(load, text: str, what: str) -> None:
    with pytest.raises(HekatError) as refusal:
        load(CLASSES + text)
    assert what in str(refusal.value)
    assert refusal.value.expected
    assert refusal.value.cure


@pytest.mark.parametrize("text", ["rounds = 20\n", '[intersection]\nkind = "ecdh"\n'])
def test_settings_of_other_jobs_are_not_taken_for_misspelt_ones(load, text: str) -> None:
    with pytest.raises(JobError, match="is not a setting") as refusal:
        load(CLASSES + text)
    assert refusal.value.cure == "remove it"


def test_two_parties_have_to_accept_that_each_learns_the_others_sums(tmp_path) -> None:
    path = tmp_path / "job.toml"
    text = (HEAD + CLASSES).replace(', "county"', "")
    path.write_text(text)
    with pytest.raises(PolicyError, match="two parties"):
        load_row_trees_job(path)
    path.write_text(f"{text}allow_two_parties = true\n")
    assert load_row_trees_job(path).settings.parties == ("north", "lake")


def test_a_site_is_told_what_it_agrees_to(load) -> None:
    terms = dict(terms_of(load(f"{CLASSES}[validation]\nhold_out = 0.25\n")))
    assert terms["protocol"].startswith("horizontal_trees")
    assert terms["trains"] == "trees (binary), up to 100 iterations of depth 6, 64 bins"
    assert "gradients by column and bin" in terms["opened sums"]
    assert terms["least updates in a sum"] == "3"
    assert terms["held out"].startswith("0.25 of every party's rows")


@pytest.mark.parametrize(
    ("policy", "text", "line"),
    [
        ("protocols = ['horizontal']", "", "protocol 'horizontal_trees'"),
        ("models = ['logistic']", "", "does not allow this model"),
        ("max_rounds = 99", "", "so many iterations"),
        ("protections = ['lattice']", "[protection]\nkind = 'none'\n", "protection 'none'"),
        ("openings = ['committee']", "[protection]\nopening = 'shared'\n", "opening 'shared'"),
        ("min_key_bits = 3072", "[protection]\nkind = 'paillier'\nkey_bits = 2048\n", "key is smaller"),
        ("min_parties = 4", "", "fewer parties than the site allows"),
        ("max_validation_bins = 255", "[validation]\nhold_out = 0.2\n", "scores of held-out rows"),
        ("committee_members = ['north']", "", "forms no committee"),
    ],
)
def test_a_site_refuses_what_its_policy_does_not_allow(load, tmp_path, policy: str, text: str, line: str) -> None:
    path = tmp_path / "site.toml"
    path.write_text(SITE)
    check_site_allows_row_trees(load_site(path), load(CLASSES))
    path.write_text(f"{SITE}[policy]\n{policy}\n")
    with pytest.raises(PolicyError, match=line) as refusal:
        check_site_allows_row_trees(load_site(path), load(f"{CLASSES}{text}"))
    assert refusal.value.cure


def test_a_job_of_another_protocol_is_told_apart(load, tmp_path) -> None:
    load(CLASSES)
    path = tmp_path / "job.toml"
    path.write_text(path.read_text().replace("horizontal_trees", "horizontal"))
    with pytest.raises(JobError, match="this is a job of protocol 'horizontal'"):
        load_row_trees_job(path)
