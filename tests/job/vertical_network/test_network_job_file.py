"""The job file of a split network: what it says, and what it is refused for."""

import pytest

from hekat.errors import HekatError, JobError
from hekat.job.agreed_terms import terms_of
from hekat.job.vertical_network.job_file import load_network_job
from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining
from hekat.protocol.vertical_network.settings import LABELS_ACCEPTED, ROTATION_ACCEPTED, SLOPES_ACCEPTED
from hekat.summary.vertical_network.described_settings import describe_network_settings

HEAD = (
    'format = 2\nname = "credit"\nprotocol = "vertical_network"\nguest = "bank"\nhosts = ["insurer"]\ndata = "rows"\n'
)
CLASSES = 'classes = ["no", "yes"]\n'
WAIVED = f'[column_leak]\naccepted = "{ROTATION_ACCEPTED}"\n'
SLOPES = f'[slope_leak]\naccepted = "{SLOPES_ACCEPTED}"\n'


@pytest.fixture
def load(tmp_path):
    def read(text: str):
        path = tmp_path / "job.toml"
        path.write_text(HEAD + text)
        return load_network_job(path)

    return read


def test_a_job_that_says_little_opens_nothing_to_a_host(load) -> None:
    job = load(CLASSES + WAIVED)
    settings = job.settings
    assert (settings.form, settings.protection, settings.host_bottom) == ("shared", "lattice", "frozen")
    assert (settings.label_privacy, settings.labels_accepted) == (None, None)
    assert (settings.network, settings.training) == (NetworkShape(), NetworkTraining(shared_rate=0.2))
    assert job.prediction.receivers == ("bank",)
    assert job.intersection_kind == "ecdh"
    assert (job.bottoms, job.top) == ({}, None)


@pytest.mark.parametrize(
    ("classes", "task"),
    [("", "regression"), (CLASSES, "binary"), ('classes = ["a", "b", "c"]\n', "multiclass")],
)
def test_classes_say_the_task(load, classes: str, task: str) -> None:
    assert load(classes + WAIVED).settings.task == task


def test_every_setting_arrives(load) -> None:
    job = load(
        f"""{CLASSES}{WAIVED}[network]
units = 16
guest_width = 8
host_width = 12
bottom_hidden = [20, 10]
top_hidden = [8]
activation = "tanh"
[network.host_widths]
insurer = 24
[network.bottoms]
insurer = "their-net"
[training]
epochs = 3
batch_rows = 256
learning_rate = 0.01
shared_optimiser = "sgd"
shared_rate = 0.2
validation_fraction = 0.2
patience = 2
[protection]
kind = "none"
host_bottom = "trained"
[label_privacy]
epsilon = 2
{SLOPES}[validation]
hold_out = 0.2
[prediction]
receivers = ["bank", "insurer"]
"""
    )
    settings = job.settings
    assert settings.network == NetworkShape(16, 8, 12, {"insurer": 24}, (20, 10), (8,), "tanh")
    assert settings.training == NetworkTraining(
        epochs=3,
        batch_rows=256,
        learning_rate=0.01,
        shared_optimiser="sgd",
        shared_rate=0.2,
        validation_fraction=0.2,
        patience=2,
    )
    assert (settings.protection, settings.host_bottom, settings.label_privacy) == ("none", "trained", 2.0)
    assert job.bottoms == {"insurer": "their-net"}
    assert job.hold_out == 0.2
    assert job.prediction.receivers == ("bank", "insurer")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[training]\nbatch_rows = 0\n", "training.batch_rows"),
        ("[training]\nepochs = 0\n", "training.epochs"),
        ("[training]\nmax_iter = 3\n", "training.max_iter is not a setting"),
        ('[training]\nshared_optimiser = "adam"\n', "training.shared_optimiser"),
        ("[training]\nlearning_rate = nan\n", "training.learning_rate"),
        ("[training]\nshared_rate = 1e-9\n", "training.shared_rate"),
        ("[network]\nunits = 257\n", "network.units"),
        ("[network]\nhost_width = 0\n", "network.host_width"),
        ('[network]\nactivation = "gelu"\n', "network.activation"),
        ("[network]\ntop_hidden = [0]\n", "network.top_hidden"),
        ("[network.host_widths]\nshop = 3\n", "network.host_widths"),
        ('[network.host_widths]\ninsurer = "wide"\n', "network.host_widths.insurer has the wrong type"),
        ('[network.bottoms]\nshop = "net"\n', "network.bottoms names no party"),
        ("[network.bottoms]\ninsurer = 3\n", "network.bottoms.insurer has the wrong type"),
        (
            '[protection]\nhost_bottom = "source"\n[network.bottoms]\ninsurer = "net"\n',
            "gives insurer a bottom that it has no use for",
        ),
        ('[network]\ntop = " "\n', "network.top names nothing"),
        ('[network.bottoms]\ninsurer = ""\n', "network.bottoms.insurer names nothing"),
        ("[network]\ntop = 3\n", "network.top has the wrong type"),
        ('[network]\ntop = "net"\ntop_hidden = [4]\n', "network.top_hidden has no use beside network.top"),
        ('[protection]\nform = "sealed"\n[network]\ntop = "net"\n', "network.top has no use for a sealed network"),
        ('[model]\ntask = "ranking"\n', "model.task"),
        ('[model]\ntask = "regression"\n', "classes refused"),
        ('[protection]\nkind = "paillier"\n', "protection.kind cannot be used for a split network"),
        ('[protection]\nkind = "auto"\n', "protection.kind"),
        ('[protection]\nform = "sealed"\nhost_bottom = "frozen"\n', "leave the line out"),
        ('[protection]\nform = "sealed"\n[network]\nactivation = "relu"\n', "network.activation cannot be used"),
        ('[protection]\nform = "sealed"\n[network]\ntop_hidden = [4]\n', "network.top_hidden cannot be used"),
        ('[protection]\nform = "sealed"\n[training]\nlearning_rate = 0.01\n', "training.learning_rate cannot be used"),
        ('[protection]\nform = "sealed"\n[training]\nbatch_rows = 8193\n', "at most 8,192"),
        ('[protection]\nform = "sealed"\n[label_privacy]\nepsilon = 1\n', "label_privacy.epsilon cannot be used"),
        (
            '[protection]\nform = "sealed"\n[network.bottoms]\ninsurer = "net"\n',
            "network.bottoms has no use for a sealed network",
        ),
        ('[protection]\nhost_bottom = "free"\n', "protection.host_bottom"),
        ('[protection]\nform = "guest_layer"\n', "use protection.form = 'shared'"),
        ('[protection]\nhost_bottom = "trained"\n', "label_leak.accepted = 'the host may learn labels'"),
        (
            '[protection]\nhost_bottom = "trained"\n[label_privacy]\nepsilon = 1\n',
            "slope_leak.accepted = 'hosts may learn columns of the guest and of each other'",
        ),
        ('[slope_leak]\naccepted = "yes"\n', "slope_leak.accepted"),
        (
            '[prediction]\nreceivers = ["bank", "insurer"]\n',
            "label_privacy.epsilon, or label_leak.accepted = 'the host may learn labels'",
        ),
        ("[label_privacy]\nepsilon = 0\n", "label_privacy.epsilon"),
        ('[label_leak]\naccepted = "yes"\n', "the words 'the host may learn labels', or no such line"),
        ("[checks]\nexactness = true\n", "say centralised = true under [compare]"),
        ("[compare]\ncentralised = true\n", "needs rows to compare scores on"),
        (
            '[compare]\ncentralised = true\n[validation]\nhold_out = 0.2\n[network.bottoms]\nbank = "net"\n',
            "knows Hekat's own bottoms and top alone",
        ),
        (
            '[compare]\ncentralised = true\n[validation]\nhold_out = 0.2\n[network]\ntop = "net"\n',
            "knows Hekat's own bottoms and top alone",
        ),
        ('[prediction]\nreceivers = ["insurer"]\n', "it has the top of the network"),
        (
            '[protection]\nform = "sealed"\n[prediction]\nreceivers = ["insurer"]\n',
            "or train with label_leak.accepted = 'the host may learn labels', where the guest's site allows it",
        ),
        (
            f'[protection]\nform = "sealed"\n[label_leak]\naccepted = "{LABELS_ACCEPTED}"\n[prediction]\n'
            'receivers = ["insurer"]\n[validation]\nhold_out = 0.2\n',
            "the metrics of test rows need their scores at the guest",
        ),
        ("[prediction]\nreceivers = []\n", "receivers of a prediction refused"),
        ("[validation]\nhold_out = 0.95\n", "validation.hold_out"),
        ("[validation]\nfolds = 5\n", "validation.folds belongs to horizontal jobs"),
    ],
)
def test_what_cannot_be_is_refused_with_what_was_expected_and_a_cure(load, text: str, what: str) -> None:
    with pytest.raises(HekatError) as refusal:
        load(CLASSES + text + WAIVED)
    assert what in str(refusal.value)
    assert refusal.value.expected
    assert refusal.value.got
    assert refusal.value.cure


def test_no_split_network_without_the_hosts_words(load) -> None:
    with pytest.raises(JobError, match=r"but for a rotation.*column_leak\.accepted = "):
        load(CLASSES)
    with pytest.raises(JobError, match="other words"):
        load(f'{CLASSES}[column_leak]\naccepted = "the guest may learn columns of hosts"\n')


def test_a_job_names_the_guests_top_for_all_to_see(load) -> None:
    job = load(f'{CLASSES}{WAIVED}[network]\ntop = "their-top"\n')
    assert job.top == "their-top"
    assert dict(terms_of(job))["top of bank"] == "their-top, code of its site"
    assert describe_network_settings(job)["top"] == "their-top"
    plain = load(CLASSES + WAIVED)
    assert "top of bank" not in dict(terms_of(plain))
    assert "top" not in describe_network_settings(plain)


def test_rows_are_not_held_sparse(load) -> None:
    with pytest.raises(JobError, match="dense rows"):
        load(f"{CLASSES}sparse = true\n{WAIVED}")


def test_a_site_is_told_what_it_agrees_to(load) -> None:
    terms = dict(terms_of(load(CLASSES + WAIVED)))
    assert terms["protocol"].startswith("vertical_network")
    assert terms["bottoms of hosts"].startswith("fixed maps")
    assert terms["column-leak rule"] == f"WAIVED by each host: {ROTATION_ACCEPTED}"
    assert "label-leak rule" not in terms
    assert "in shares" in terms["form"]
    said = '[protection]\nhost_bottom = "trained"\n[network.bottoms]\ninsurer = "their-net"\n'
    opened = dict(terms_of(load(f'{CLASSES}{WAIVED}{SLOPES}{said}[label_leak]\naccepted = "{LABELS_ACCEPTED}"\n')))
    assert "OPEN to them" in opened["bottoms of hosts"]
    assert opened["label-leak rule"] == f"WAIVED: {LABELS_ACCEPTED}"
    assert opened["slope-leak rule"] == f"WAIVED by each party: {SLOPES_ACCEPTED}"
    assert opened["bottom of insurer"] == "their-net, code of its site"
    private = dict(terms_of(load(f"{CLASSES}{WAIVED}{SLOPES}{said}[label_privacy]\nepsilon = 1.5\n")))
    held = said.replace("[protection]\n", '[protection]\nform = "guest_layer"\n')
    compared = dict(terms_of(load(f"{CLASSES}{WAIVED}{SLOPES}{held}[label_privacy]\nepsilon = 1.5\n")))
    assert compared["form"].startswith("TO COMPARE")
    assert private["labels"] == "each replaced once by chance, epsilon 1.5"


@pytest.mark.parametrize("said", [f'[label_leak]\naccepted = "{LABELS_ACCEPTED}"\n', "[label_privacy]\nepsilon = 1\n"])
def test_a_host_receives_scores_where_labels_answer_by_chance_or_in_words(load, said: str) -> None:
    job = load(f'{CLASSES}{WAIVED}{said}[prediction]\nreceivers = ["bank", "insurer"]\n')
    assert job.prediction.receivers == ("bank", "insurer")


def test_a_host_alone_receives_scores_of_a_sealed_network(load) -> None:
    said = f'[protection]\nform = "sealed"\n[label_leak]\naccepted = "{LABELS_ACCEPTED}"\n'
    assert load(f'{CLASSES}{said}[prediction]\nreceivers = ["insurer"]\n').prediction.receivers == ("insurer",)
