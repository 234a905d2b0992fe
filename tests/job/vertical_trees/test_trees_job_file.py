"""The job file of boosted trees across columns: what it says, and what it is refused for."""

import pytest

from hekat.errors import HekatError, JobError
from hekat.job.agreed_terms import terms_of
from hekat.job.vertical_trees.job_file import load_trees_job
from hekat.model.trees import TreeTraining

HEAD = 'format = 2\nname = "credit"\nprotocol = "vertical_trees"\nguest = "bank"\nhosts = ["insurer"]\ndata = "rows"\n'
CLASSES = 'classes = ["no", "yes"]\n'


@pytest.fixture
def load(tmp_path):
    def read(text: str):
        path = tmp_path / "job.toml"
        path.write_text(HEAD + text)
        return load_trees_job(path)

    return read


def test_a_job_that_says_little_is_the_secure_one(load) -> None:
    job = load(CLASSES)
    settings = job.settings
    assert (settings.protection, settings.task, settings.hide_partition) == ("lattice", "binary", False)
    assert settings.bin_leak_accepted is None
    assert settings.training == TreeTraining()
    assert job.prediction.receivers == ("bank",)
    assert job.intersection_kind == "ecdh"
    assert job.columns.for_trees


@pytest.mark.parametrize(
    ("classes", "task"),
    [("", "regression"), (CLASSES, "binary"), ('classes = ["a", "b", "c"]\n', "multiclass")],
)
def test_classes_say_the_task(load, classes: str, task: str) -> None:
    assert load(classes).settings.task == task


def test_every_setting_arrives(load) -> None:
    job = load(
        f"""{CLASSES}[training]
max_iter = 7
max_leaf_nodes = 9
max_bins = 255
early_stopping = true
rounding = "nearest"
[protection]
kind = "paillier"
key_bits = 2048
hide_partition = true
label_party_first_trees = 2
[bin_leak]
accepted = "the guest may learn bins of hosts"
[validation]
hold_out = 0.2
[prediction]
receivers = ["bank", "insurer"]
"""
    )
    settings = job.settings
    expected = TreeTraining(max_iter=7, max_leaf_nodes=9, max_bins=255, early_stopping=True, rounding="nearest")
    assert settings.training == expected
    assert (settings.protection, settings.key_bits) == ("paillier", 2048)
    assert (settings.hide_partition, settings.label_party_first_trees) == (True, 2)
    assert job.hold_out == 0.2
    assert job.prediction.receivers == ("bank", "insurer")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[training]\nmax_bins = 1\n", "training.max_bins"),
        ("[training]\nmax_bins = 256\n", "training.max_bins"),
        ("[training]\nmax_depth = 0\n", "training.max_depth"),
        ("[training]\nmax_iter = 0\n", "training.max_iter"),
        ("[training]\nepochs = 3\n", "training.epochs is not a setting"),
        ('[model]\ntask = "ranking"\n', "model.task"),
        ('[model]\ntask = "regression"\n', "classes refused"),
        ('[protection]\nkind = "bfv"\n', "protection.kind is no protection"),
        ('[protection]\nkind = "auto"\n', "hekat run JOB --dry-run says what both cost"),
        ("[checks]\nexactness = true\n", "say centralised = true under [compare]"),
        ("[protection]\nkey_bits = 2048\n", "protection.key_bits belongs to another protection"),
        ("[protection]\nlabel_party_first_trees = 101\n", "protection.label_party_first_trees"),
        ('[bin_leak]\naccepted = "yes"\n', "bin_leak.accepted"),
        ('[prediction]\nreceivers = ["insurer"]\n', "receivers of a prediction refused"),
        ("[prediction]\nreceivers = []\n", "receivers of a prediction refused"),
        ("[validation]\nhold_out = 0.95\n", "validation.hold_out"),
        ("[validation]\nfolds = 5\n", "validation.folds belongs to horizontal jobs"),
        ("[compare]\ncentralised = true\n", "needs rows to compare scores on"),
        ('[columns.town]\ncategories = ["a", "b"]\nfill = "most_frequent"\n', "says 'most_frequent'"),
        ('[columns.age]\nmissing = "indicator"\nfill = 1\n', "columns.age.missing"),
    ],
)
def test_what_cannot_be_is_refused_with_what_was_expected_and_a_cure(load, text: str, what: str) -> None:
    with pytest.raises(HekatError) as refusal:
        load(CLASSES + text)
    assert what in str(refusal.value)
    assert refusal.value.expected
    assert refusal.value.got
    assert refusal.value.cure


def test_rows_are_not_held_sparse(load) -> None:
    with pytest.raises(JobError, match="dense rows"):
        load(f"{CLASSES}sparse = true\n")


def test_a_site_is_told_what_it_agrees_to(load) -> None:
    terms = dict(terms_of(load(f"{CLASSES}[protection]\nhide_partition = true\nlabel_party_first_trees = 3\n")))
    assert terms["protocol"].startswith("vertical_trees")
    assert terms["rows of a node"].startswith("hidden from hosts")
    assert terms["least rows of a node's sum"].startswith("20 at the root; 1 below it")
    assert terms["first iterations"].startswith("3 by columns of bank alone")
    assert terms["bin-leak rule"] == "holds"
    waived = dict(terms_of(load(f'{CLASSES}[bin_leak]\naccepted = "the guest may learn bins of hosts"\n')))
    assert waived["bin-leak rule"] == "WAIVED: the guest may learn bins of hosts"
    assert waived["rows of a node"] == "seen by every host"
    assert waived["least rows of a node's sum"].startswith("20, however sums of a column")
