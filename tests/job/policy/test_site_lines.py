"""The section [policy]: what a site file of an older release means, and every way of writing a line wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from hekat.errors import JobError, PolicyError
from hekat.job.data_source import DataSource
from hekat.job.policy.columns import check_columns
from hekat.job.policy.job_limits import check_server_learns_model
from hekat.job.policy.site_lines import SitePolicy
from hekat.job.site_file import load_site

OLD = """format = 1
[policy]
protections = ["lattice", "paillier", "none"]
openings = ["committee", "shared"]
min_key_bits = 3072
exactness_check = true
vertical_forms = ["arbiter"]
label_leak_waiver = true
column_leak_waiver = true
joined_rows = true
max_predictions = 5
max_score_bits = 8
committee_members = ["north"]
min_committee_members = 3
min_parties = 4
"""


def load_policy(folder: Path, text: str) -> SitePolicy:
    path = folder / "site.toml"
    path.write_text(f"format = 1\n[policy]\n{text}\n")
    return load_site(path).policy


def test_a_file_without_the_newer_lines_means_what_it_meant(tmp_path) -> None:
    path = tmp_path / "site.toml"
    path.write_text(OLD)
    policy = load_site(path).policy
    assert (policy.protections, policy.openings) == (("lattice", "paillier", "none"), ("committee", "shared"))
    assert (policy.protocols, policy.models, policy.max_rounds) == (
        (
            "horizontal",
            "horizontal_trees",
            "encrypted_model",
            "vertical_linear",
            "vertical_trees",
            "vertical_network",
            "psi",
        ),
        None,
        None,
    )
    assert (policy.max_value_bits, policy.max_validation_bins, policy.min_category_rows) == (40, 4096, 5)
    assert (policy.require_approval, policy.approved_jobs) == (False, None)
    assert (policy.single_ids, policy.server_learns_model, policy.model_owners) == (False, False, ())


WRONG = {
    'protocols = ["vertical"]': "policy.protocols names no protocol",
    "max_rounds = -1": "policy.max_rounds is no number of rounds",
    "max_value_bits = 0": "policy.max_value_bits is no number of bits",
    "max_value_bits = 41": "policy.max_value_bits is no number of bits",
    "max_validation_bins = 4097": "policy.max_validation_bins is no number of bins",
    "min_category_rows = 0": "policy.min_category_rows is no number of rows",
    "min_parties = -1": "policy.min_parties is no number of parties",
    'approved_jobs = ["12ab"]': "policy.approved_jobs holds what is no job's digest",
    f'approved_jobs = ["{"A" * 64}"]': "policy.approved_jobs holds what is no job's digest",
    "server_learns_model = 1": "policy.server_learns_model has the wrong type",
    "models = [1]": "policy.models has an entry of the wrong type",
    "max_label_epsilon = 9": "policy.max_label_epsilon is no epsilon of label privacy",
    "max_label_epsilon = nan": "policy.max_label_epsilon",
    "max_sum_memory_mib = 0": "policy.max_sum_memory_mib is no amount of memory in MiB",
    "max_round = 3": "policy.max_round is not a setting",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_line_that_cannot_be_is_refused_with_its_cure(tmp_path, line) -> None:
    with pytest.raises(JobError) as caught:
        load_policy(tmp_path, line)
    assert WRONG[line] in str(caught.value)
    assert caught.value.cure


def test_no_server_learns_the_model_unless_the_site_says_so(tmp_path) -> None:
    with pytest.raises(PolicyError, match=r"policy\.server_learns_model") as caught:
        check_server_learns_model(load_policy(tmp_path, ""))
    assert caught.value.exit_code == 2
    check_server_learns_model(load_policy(tmp_path, "server_learns_model = true"))


@pytest.mark.parametrize("kind", ["npz", "libsvm", "npy", "python"])
def test_lists_of_columns_are_for_files_with_a_header(tmp_path, kind) -> None:
    """A list that could not be held against anything before rows are read would promise too much."""
    path = tmp_path / "site.toml"
    path.write_text(f'format = 1\n[party.a.data.rows]\nsource = "{kind}"\ndeny_columns = ["x"]\n')
    with pytest.raises(JobError):
        load_site(path)


def test_the_lists_speak_of_features_alone(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("id,age,dose,ill\n")
    options = {"path": "a.csv", "label": "ill", "id": "id"}
    for allowed, denied, fits in (
        (None, (), True),
        (("age", "dose"), (), True),
        (("age", "dose", "more"), ("ill", "id"), True),
        (("age",), (), False),
        (None, ("dose",), False),
        (("age", "dose"), ("dose",), False),
    ):
        source = DataSource("csv", options, allowed, denied)
        if fits:
            check_columns(source, tmp_path, "party.a.data.rows")
            continue
        with pytest.raises(PolicyError, match=r"party\.a\.data\.rows"):
            check_columns(source, tmp_path, "party.a.data.rows")
    check_columns(DataSource("csv", options, ("age",)), tmp_path, "party.a.data.rows", only=("age",))
