"""Jobs that ask a site for more than one line of its policy allows, each beside the line that would allow it.

Each job is valid by itself. `refusing` and `allowing` are lines on either side of what it asks for: where the line is a
number, the job's own number is allowed, and the next one is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hekat.job.policy.checks_of_job import APPROVAL

THREE = ("north", "east", "south")
EIGHT = (*THREE, "west", "middle", "coast", "island", "river")
DIGEST = "{digest}"
"""Stands for the job's own digest in a line of the policy."""


def _list(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def horizontal(*sections: str, parties: tuple[str, ...] = THREE, training: str = "", protection: str = "") -> str:
    """A job of three rounds over the same columns; `sections` that are no tables go to the top."""
    return _job(
        "horizontal",
        f'parties = {_list(parties)}\naggregator = "hub"\ndata = "visits"\nclasses = ["no", "yes"]\nweight_max = 100',
        *sections,
        f'[training]\nalgorithm = "fedavg"\nrounds = 3\n{training}',
        f"[protection]\n{protection}",
    )


def vertical(*sections: str, training: str = "epochs = 3", protection: str = 'kind = "paillier"') -> str:
    """A regression of three epochs on other columns, in shares."""
    return _job(
        "vertical_linear",
        'guest = "north"\nhosts = ["east"]\ndata = "visits"\nclasses = ["no", "yes"]',
        *sections,
        f"[training]\n{training}",
        f"[protection]\n{protection}",
    )


def arbitrated(*sections: str, protection: str = 'kind = "paillier"') -> str:
    """The same with an arbiter: parties see their own gradients."""
    return vertical('arbiter = "hub"', *sections, protection=protection)


def trees(*sections: str, protection: str = "") -> str:
    """Boosted trees of three iterations on other columns."""
    return _job(
        "vertical_trees",
        'guest = "north"\nhosts = ["east"]\ndata = "visits"\nclasses = ["no", "yes"]',
        *sections,
        "[training]\nmax_iter = 3",
        f"[protection]\n{protection}",
    )


def row_trees(*sections: str) -> str:
    """Boosted trees of three iterations over the same columns."""
    return _job(
        "horizontal_trees",
        f'parties = {_list(THREE)}\naggregator = "hub"\ndata = "visits"\nclasses = ["no", "yes"]\nweight_max = 100',
        *sections,
        "[training]\nmax_iter = 3",
    )


def encrypted_model(*sections: str, training: str = "", protection: str = "") -> str:
    """Three rounds of two hosts on a model that a third party gets."""
    return _job(
        "encrypted_model",
        'hosts = ["north", "east"]\nowner = "south"\naggregator = "hub"\narbiter = "notary"\ndata = "visits"\n'
        'classes = ["no", "yes"]\nallow_two_parties = true',
        *sections,
        f"[training]\nrounds = 3\n{training}",
        f"[protection]\n{protection}",
    )


def network(*sections: str, protection: str = "", hosts: tuple[str, ...] = ("east",)) -> str:
    """A split network of three epochs on other columns."""
    return _job(
        "vertical_network",
        f'guest = "north"\nhosts = {_list(hosts)}\ndata = "visits"\nclasses = ["no", "yes"]',
        *sections,
        ROTATION,
        "[training]\nepochs = 3",
        f"[protection]\n{protection}",
    )


def intersection(lines: str = "") -> str:
    """Two parties that compare ids."""
    return _job("psi", 'guest = "north"\nhosts = ["east"]\ndata = "visits"', f"[intersection]\n{lines}")


def averaging(*sections: str, parties: tuple[str, ...] = THREE, rounds: int = 3) -> str:
    """Updates of an app that an engine runs."""
    return _job("averaging", f'parties = {_list(parties)}\naggregator = "hub"\nrounds = {rounds}', *sections)


def _job(protocol: str, top: str, *sections: str) -> str:
    tops = [one for one in sections if not one.startswith("[")]
    tables = [one for one in sections if one.startswith("[")]
    return "\n".join(["format = 2", 'name = "hostile"', f'protocol = "{protocol}"', top, *tops, *tables]) + "\n"


ROTATION = '[column_leak]\naccepted = "the guest may learn my columns but for a rotation"'
OPEN = "column_leak_waiver = true"
"""Of a split network, which no host takes part in otherwise."""


@dataclass(frozen=True)
class Case:
    """A job, a policy that refuses it by one line, and one that allows it. `line` is where it is none of [policy];
    the line is for `party`. `budgets` are parties whose rows have a privacy budget."""

    job: str
    refusing: str
    allowing: str
    line: str = ""
    party: str = "north"
    budgets: tuple[str, ...] = ()


PSI, APP = 'protocols = ["psi"]', 'protocols = ["averaging"]'
RSA = 'kind = "rsa_blind"\nkey_bits = 3072'
PLAIN = 'protections = ["lattice", "none"]'
LABEL_LEAK = '[label_leak]\naccepted = "hosts may learn labels"'
BIN_LEAK = '[bin_leak]\naccepted = "the guest may learn bins of hosts"'
SLOPE_LEAK = '[slope_leak]\naccepted = "hosts may learn columns of the guest and of each other"'
COLUMN_LEAK = '[column_leak]\naccepted = "the guest may learn columns of hosts"'

CASES: Mapping[str, Case] = {
    "protocols: horizontal": Case(horizontal(), PSI, 'protocols = ["horizontal"]'),
    "protocols: vertical": Case(vertical(), PSI, 'protocols = ["psi", "vertical_linear"]'),
    "protocols: psi": Case(intersection(), APP, PSI),
    "protocols: averaging, which no site allows unasked": Case(averaging(), "", APP),
    "protocols: none": Case(horizontal(), "protocols = []", ""),
    "protections: lattice": Case(horizontal(), 'protections = ["paillier"]', 'protections = ["lattice"]'),
    "protections: paillier": Case(
        horizontal(protection='kind = "paillier"'), 'protections = ["lattice"]', 'protections = ["paillier"]'
    ),
    "protections: none": Case(horizontal(protection='kind = "none"'), "", PLAIN),
    "protections: none in a comparison": Case(horizontal("[compare]\nplain = true"), "", PLAIN),
    "protections: none in shares": Case(vertical(protection='kind = "none"'), "", PLAIN),
    "protections: lattice at an arbiter": Case(
        arbitrated(protection='kind = "lattice"'), 'protections = ["paillier"]', 'protections = ["lattice"]'
    ),
    "protections: of an app": Case(averaging(), f'{APP}\nprotections = ["paillier"]', APP),
    "openings: shared": Case(horizontal(protection='opening = "shared"'), "", 'openings = ["shared"]'),
    "openings: authority": Case(
        horizontal(protection='opening = "authority"\nauthority = "notary"'), "", 'openings = ["authority"]'
    ),
    "openings: committee": Case(horizontal(), 'openings = ["shared"]', 'openings = ["committee"]'),
    "openings: of an app": Case(
        averaging('[protection]\nopening = "shared"'), APP, f'{APP}\nopenings = ["committee", "shared"]'
    ),
    "models": Case(horizontal('[model]\nname = "mlp"'), 'models = ["logistic"]', 'models = ["mlp"]'),
    "models: none": Case(horizontal(), "models = []", 'models = ["logistic"]'),
    "models: in capitals": Case(horizontal('[model]\nname = "Logistic"'), 'models = ["logistic"]', ""),
    "models: with a blank": Case(horizontal('[model]\nname = "logistic "'), 'models = ["logistic"]', ""),
    "models: in other letters that look alike": Case(
        horizontal('[model]\nname = "l\N{CYRILLIC SMALL LETTER O}gistic"'), 'models = ["logistic"]', ""
    ),
    "models: vertical": Case(vertical(), 'models = ["linear"]', 'models = ["logistic"]'),
    "models: of an app": Case(averaging(), f'{APP}\nmodels = ["logistic"]', f'{APP}\nmodels = ["app"]'),
    "min_key_bits": Case(
        horizontal(protection='kind = "paillier"\nkey_bits = 2048'), "min_key_bits = 2049", "min_key_bits = 2048"
    ),
    "min_key_bits: of an intersection": Case(intersection(RSA), "min_key_bits = 3073", "min_key_bits = 3072"),
    "min_key_bits: vertical": Case(
        vertical(protection="key_bits = 2048"), "min_key_bits = 2049", "min_key_bits = 2048"
    ),
    "min_key_bits: of an arbiter": Case(
        arbitrated(protection="key_bits = 2048"), "min_key_bits = 2049", "min_key_bits = 2048"
    ),
    "min_key_bits: of a vertical job's intersection": Case(
        vertical(f"[intersection]\n{RSA}", protection="key_bits = 4096"), "min_key_bits = 3073", "min_key_bits = 3072"
    ),
    "min_key_bits: of a prediction on shares after a training in the clear": Case(
        vertical('test_data = "visits"', protection='kind = "none"\nkey_bits = 2048'),
        f"{PLAIN}\nmin_key_bits = 2049",
        f"{PLAIN}\nmin_key_bits = 2048",
    ),
    "exactness_check": Case(horizontal("[checks]\nexactness = true"), "", "exactness_check = true"),
    "exactness_check: vertical": Case(vertical("[checks]\nexactness = true"), "", "exactness_check = true"),
    "vertical_forms: arbiter": Case(arbitrated(), 'vertical_forms = ["shared_weights"]', ""),
    "vertical_forms: shares": Case(vertical(), 'vertical_forms = ["arbiter"]', 'vertical_forms = ["shared_weights"]'),
    "label_leak_waiver": Case(arbitrated(LABEL_LEAK), "column_leak_waiver = true", "label_leak_waiver = true"),
    "column_leak_waiver": Case(arbitrated(COLUMN_LEAK), "label_leak_waiver = true", "column_leak_waiver = true"),
    "bin_leak_waiver": Case(trees(BIN_LEAK), "column_leak_waiver = true", "bin_leak_waiver = true"),
    **{
        f"budget_waiver: {name}": Case(job, line, f"{line}\nbudget_waiver = true", budgets=(*THREE, "west"))
        for name, job, line in (
            ("horizontal", horizontal(), ""),
            ("horizontal trees", row_trees(), ""),
            ("vertical", vertical(), ""),
            ("vertical, at an arbiter", arbitrated(), ""),
            ("trees", trees(), ""),
            ("network", network(), "column_leak_waiver = true"),
            ("encrypted model", encrypted_model(), ""),
            ("of an app", averaging(), 'protocols = ["averaging"]'),
        )
    },
    "hide_partition": Case(
        trees(protection="hide_partition = true"), "bin_leak_waiver = true", "hide_partition = true"
    ),
    "joined_rows: trees": Case(
        trees('test_data = "visits"', "[compare]\ncentralised = true"), "bin_leak_waiver = true", "joined_rows = true"
    ),
    "protocols: trees": Case(trees(), PSI, 'protocols = ["vertical_trees"]'),
    "protections: trees": Case(trees(), 'protections = ["paillier"]', 'protections = ["lattice"]'),
    "protections: trees in the clear": Case(trees(protection='kind = "none"'), "", PLAIN),
    "models: trees": Case(trees(), 'models = ["logistic"]', 'models = ["trees"]'),
    "min_key_bits: trees": Case(
        trees(protection='kind = "paillier"\nkey_bits = 2048'), "min_key_bits = 2049", "min_key_bits = 2048"
    ),
    "max_rounds: iterations": Case(trees(), "max_rounds = 2", "max_rounds = 3"),
    "protocols: encrypted model": Case(encrypted_model(), PSI, 'protocols = ["encrypted_model"]'),
    "protections: encrypted model": Case(encrypted_model(), 'protections = ["paillier"]', 'protections = ["lattice"]'),
    "models: encrypted model": Case(encrypted_model(), 'models = ["linear"]', 'models = ["logistic"]'),
    "max_reported_models": Case(
        encrypted_model(training="report_every = 2"), "max_reported_models = 1", "max_reported_models = 2"
    ),
    "max_rounds: encrypted model": Case(encrypted_model(), "max_rounds = 2", "max_rounds = 3"),
    "min_parties: encrypted model": Case(encrypted_model(), "min_parties = 3", "min_parties = 2"),
    "min_key_bits: encrypted model": Case(
        encrypted_model(protection='kind = "paillier"\nkey_bits = 2048'), "min_key_bits = 2049", "min_key_bits = 2048"
    ),
    "column_leak_waiver: network": Case(network(), "label_leak_waiver = true", OPEN, party="east"),
    "label_leak_waiver: network": Case(
        network(
            '[label_leak]\naccepted = "the host may learn labels"', SLOPE_LEAK, protection='host_bottom = "trained"'
        ),
        f"{OPEN}\nslope_leak_waiver = true",
        f"{OPEN}\nslope_leak_waiver = true\nlabel_leak_waiver = true",
    ),
    "label_leak_waiver: scores at a host": Case(
        network('[label_leak]\naccepted = "the host may learn labels"', '[prediction]\nreceivers = ["north", "east"]'),
        OPEN,
        f"{OPEN}\nlabel_leak_waiver = true",
    ),
    "max_label_epsilon": Case(
        network("[label_privacy]\nepsilon = 8", SLOPE_LEAK, protection='host_bottom = "trained"'),
        f"{OPEN}\nslope_leak_waiver = true",
        f"{OPEN}\nslope_leak_waiver = true\nmax_label_epsilon = 8",
    ),
    "max_label_epsilon: a regression": Case(
        vertical("[label_privacy]\nepsilon = 3.5"), "max_label_epsilon = 3", "max_label_epsilon = 3.5"
    ),
    "max_label_epsilon: trees": Case(trees("[label_privacy]\nepsilon = 3.5"), "", "label_leak_waiver = true"),
    "require_label_privacy": Case(vertical(), "require_label_privacy = true", ""),
    "require_label_privacy: trees": Case(trees(), "require_label_privacy = true", ""),
    "require_label_privacy: network": Case(network(), f"{OPEN}\nrequire_label_privacy = true", OPEN),
    "max_label_epsilon: scores at a host": Case(
        network("[label_privacy]\nepsilon = 3.5", '[prediction]\nreceivers = ["north", "east"]'),
        OPEN,
        f"{OPEN}\nlabel_leak_waiver = true",
    ),
    "slope_leak_waiver": Case(
        network("[label_privacy]\nepsilon = 1", SLOPE_LEAK, protection='host_bottom = "trained"'),
        f"{OPEN}\nlabel_leak_waiver = true",
        f"{OPEN}\nslope_leak_waiver = true",
    ),
    "slope_leak_waiver: at a host of two": Case(
        network(
            "[label_privacy]\nepsilon = 1",
            SLOPE_LEAK,
            protection='host_bottom = "trained"',
            hosts=("east", "south"),
        ),
        f"{OPEN}\nlabel_leak_waiver = true",
        f"{OPEN}\nslope_leak_waiver = true",
        party="east",
    ),
    "network_forms": Case(
        network("[label_privacy]\nepsilon = 1", SLOPE_LEAK, protection='form = "guest_layer"\nhost_bottom = "trained"'),
        f"{OPEN}\nslope_leak_waiver = true",
        f'{OPEN}\nslope_leak_waiver = true\nnetwork_forms = ["guest_layer"]',
    ),
    "network_forms: shares": Case(network(), f"{OPEN}\nnetwork_forms = []", OPEN),
    "protocols: network": Case(network(), f"{OPEN}\n{PSI}", f'{OPEN}\nprotocols = ["vertical_network"]'),
    "protections: network": Case(
        network(), f'{OPEN}\nprotections = ["paillier"]', f'{OPEN}\nprotections = ["lattice"]'
    ),
    "protections: network in the clear": Case(network(protection='kind = "none"'), OPEN, f"{OPEN}\n{PLAIN}"),
    "models: network": Case(network(), f'{OPEN}\nmodels = ["trees"]', f'{OPEN}\nmodels = ["network"]'),
    "models: a bottom of the site's": Case(
        network('[network.bottoms]\neast = "their-net"'),
        f'{OPEN}\nmodels = ["network"]',
        f'{OPEN}\nmodels = ["network", "their-net"]',
        party="east",
    ),
    "models: a top of the guest's": Case(
        network('[network]\ntop = "their-top"'),
        f'{OPEN}\nmodels = ["network"]',
        f'{OPEN}\nmodels = ["network", "their-top"]',
    ),
    "max_rounds: epochs of a network": Case(network(), f"{OPEN}\nmax_rounds = 2", f"{OPEN}\nmax_rounds = 3"),
    "min_key_bits: of a network's intersection": Case(
        network(f"[intersection]\n{RSA}"), f"{OPEN}\nmin_key_bits = 3073", f"{OPEN}\nmin_key_bits = 3072"
    ),
    "joined_rows": Case(
        vertical('test_data = "visits"', "[compare]\ncentralised = true"),
        "exactness_check = true",
        "joined_rows = true",
    ),
    "single_ids": Case(intersection("allow_single = true"), "", "single_ids = true"),
    "server_learns_model": Case(averaging("server_learns_model = true"), APP, f"{APP}\nserver_learns_model = true"),
    "max_rounds": Case(horizontal(), "max_rounds = 2", "max_rounds = 3"),
    "max_rounds: none": Case(horizontal(), "max_rounds = 0", ""),
    "max_rounds: epochs": Case(vertical(), "max_rounds = 2", "max_rounds = 3"),
    "max_rounds: at an arbiter": Case(arbitrated(), "max_rounds = 2", "max_rounds = 3"),
    "max_rounds: of an app": Case(averaging(), f"{APP}\nmax_rounds = 2", f"{APP}\nmax_rounds = 3"),
    "max_rounds: split over comparisons": Case(
        horizontal("[compare]\nbits = [8, 10]"), "max_rounds = 8", "max_rounds = 9"
    ),
    "max_rounds: split over folds": Case(horizontal("[validation]\nfolds = 2"), "max_rounds = 8", "max_rounds = 9"),
    "max_validation_bins: of folds": Case(
        horizontal("[validation]\nfolds = 2\nbins = 128"), "max_validation_bins = 127", "max_validation_bins = 128"
    ),
    "max_rounds: split over a comparison in the clear": Case(
        horizontal("[compare]\nplain = true\nbits = [8]"), f"{PLAIN}\nmax_rounds = 8", f"{PLAIN}\nmax_rounds = 9"
    ),
    "max_value_bits": Case(horizontal("[codec]\nvalue_bits = 20"), "max_value_bits = 19", "max_value_bits = 20"),
    "max_value_bits: in a comparison": Case(
        horizontal("[compare]\nbits = [8, 24]"), "max_value_bits = 23", "max_value_bits = 24"
    ),
    "max_value_bits: under one key": Case(
        horizontal(protection='kind = "paillier"'), "max_value_bits = 15", "max_value_bits = 16"
    ),
    "max_value_bits: of gradients": Case(
        arbitrated("[fixed_point]\nvalue_bits = 30"), "max_value_bits = 29", "max_value_bits = 30"
    ),
    "max_value_bits: of an app": Case(averaging(), f"{APP}\nmax_value_bits = 15", f"{APP}\nmax_value_bits = 16"),
    "max_validation_bins": Case(
        horizontal("[validation]\nhold_out = 0.3\nbins = 128"), "max_validation_bins = 127", "max_validation_bins = 128"
    ),
    "max_validation_bins: none": Case(
        horizontal("[validation]\nhold_out = 0.3\nbins = 2"), "max_validation_bins = 0", "max_validation_bins = 2"
    ),
    "min_category_rows": Case(
        horizontal('[columns.job]\ncategories = "found"\nmin_rows = 3'),
        "min_category_rows = 4",
        "min_category_rows = 3",
    ),
    "min_category_rows: unless said": Case(
        horizontal('[columns.job]\ncategories = "found"'), "min_category_rows = 6", "min_category_rows = 5"
    ),
    "max_score_bits": Case(vertical("[prediction]\nscore_bits = 20"), "max_score_bits = 19", "max_score_bits = 20"),
    "committee_members": Case(
        horizontal(), 'committee_members = ["north", "east"]', f"committee_members = {_list(THREE)}"
    ),
    "committee_members: none": Case(horizontal(), "committee_members = []", ""),
    "committee_members: too few of eight to draw seven": Case(
        horizontal(parties=EIGHT),
        f"committee_members = {_list(EIGHT[:6])}",
        f"committee_members = {_list(EIGHT[:7])}",
    ),
    "committee_members: of an app": Case(
        averaging(), f'{APP}\ncommittee_members = ["north"]', f"{APP}\ncommittee_members = {_list(THREE)}"
    ),
    "min_committee_members": Case(horizontal(), "min_committee_members = 4", "min_committee_members = 3"),
    "min_committee_members: no more than seven": Case(
        horizontal(parties=EIGHT), "min_committee_members = 8", "min_committee_members = 7"
    ),
    "min_committee_members: of an app": Case(
        averaging(), f"{APP}\nmin_committee_members = 4", f"{APP}\nmin_committee_members = 3"
    ),
    "min_parties": Case(horizontal(), "min_parties = 4", "min_parties = 3"),
    "min_parties: of a sample": Case(
        horizontal(parties=EIGHT, training="participation = 0.5"), "min_parties = 5", "min_parties = 3"
    ),
    "min_parties: said by the job": Case(
        horizontal(parties=EIGHT, training="min_parties = 7"), "min_parties = 8", "min_parties = 7"
    ),
    "min_parties: under one key": Case(
        horizontal(protection='kind = "paillier"'), "min_parties = 4", "min_parties = 3"
    ),
    "min_parties: of an app": Case(averaging(), f"{APP}\nmin_parties = 4", f"{APP}\nmin_parties = 3"),
    "min_masked": Case(horizontal(protection="masked = 0.25"), "min_masked = 0.3", "min_masked = 0.25"),
    "min_masked: unless said": Case(horizontal(protection="masked = 0.99"), "", "min_masked = 0.0"),
    "exposed_embeddings": Case(
        horizontal(protection="masked = 0.5\nexpose_embeddings = true"),
        "min_masked = 0.1",
        "min_masked = 0.1\nexposed_embeddings = true",
    ),
    "require_approval: horizontal": Case(horizontal(), "require_approval = true", "", APPROVAL),
    "require_approval: vertical": Case(vertical(), "require_approval = true", "", APPROVAL),
    "require_approval: at an arbiter": Case(arbitrated(), "require_approval = true", "", APPROVAL),
    "require_approval: psi": Case(intersection(), "require_approval = true", "", APPROVAL),
    "require_approval: averaging": Case(averaging(), f"{APP}\nrequire_approval = true", APP, APPROVAL),
    **{
        f"approved_jobs: {name}": Case(
            job, f'{line}\napproved_jobs = ["{"0" * 64}"]', f'{line}\napproved_jobs = ["{DIGEST}"]'
        )
        for name, job, line in (
            ("horizontal", horizontal(), ""),
            ("vertical", vertical(), ""),
            ("psi", intersection(), ""),
            ("averaging", averaging(), APP),
        )
    },
    "approved_jobs: none": Case(horizontal(), "approved_jobs = []", f'approved_jobs = ["{DIGEST}"]'),
}

ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "protocols": (
        "launch/vertical_linear/test_vertical_score_bits.py::"
        "test_a_prediction_is_refused_by_protocol_and_column_and_the_refusal_is_kept",
    ),
    "min_key_bits": (
        "launch/vertical_linear/test_vertical_key_bits.py::test_a_prediction_with_smaller_keys_is_refused",
        "protocol/horizontal/test_horizontal_failures.py::test_a_key_of_another_size_than_the_jobs_is_refused",
        "protocol/vertical_linear/arbiter/test_arbiter_failures.py::test_a_key_of_another_size_is_refused",
        "protocol/vertical_linear/shared_weights/test_shared_runs.py::"
        "test_keys_of_another_size_or_the_same_at_both_are_refused",
        "protocol/psi/test_psi_malicious.py::test_keys_that_are_not_used",
    ),
    "single_ids": ("launch/psi/test_psi_job.py::test_one_id_is_refused_before_the_run_unless_the_job_says_so",),
    "server_learns_model": (
        "launch/nvflare/protected/test_hostile_server.py::test_a_site_may_forbid_that_the_server_learns_the_model",
        "launch/flower/test_party_process.py::test_a_site_forbids_what_its_policy_says",
    ),
    "model_owners": (
        "job/encrypted_model/test_encrypted_model_job_file.py::test_a_site_says_to_whom_a_model_of_its_rows_may_go",
        "job/encrypted_model/test_encrypted_model_job_file.py::"
        "test_the_owner_is_listed_by_its_key_where_the_job_gives_names_keys",
    ),
    "max_rounds": (
        "launch/nvflare/protected/test_hostile_server.py::test_a_server_that_asks_out_of_turn_is_refused",
        "launch/flower/test_party_process.py::test_an_update_is_taken_only_when_the_loop_wants_it",
    ),
    "max_predictions": (
        "launch/vertical_linear/test_vertical_prediction_count.py::"
        "test_what_would_pass_the_limit_is_refused_before_a_score_leaves_and_counts_nothing",
        "launch/vertical_linear/test_vertical_prediction_count.py::"
        "test_where_the_site_names_a_folder_of_state_a_copy_of_the_run_has_no_new_count",
        "launch/vertical_linear/test_vertical_prediction_count.py::"
        "test_a_run_whose_test_rows_would_pass_the_limit_is_refused_before_it_begins",
        "launch/encrypted_model/test_encrypted_model_scores.py::"
        "test_rows_are_counted_over_all_predictions_whoever_asks",
    ),
    "max_score_bits": (
        "launch/vertical_linear/test_vertical_score_bits.py::"
        "test_a_later_prediction_that_asks_for_more_is_refused_and_counts_nothing",
    ),
    "max_sum_memory_mib": (
        "protocol/vertical_trees/test_host_memory.py::test_a_guest_that_chooses_narrow_windows_is_refused_before_sums",
        "launch/vertical_trees/test_trees_runs.py::test_sums_beyond_the_memory_of_a_site_end_the_run_by_name",
    ),
    "committee_members": (
        "job/policy/test_refusals_ledger.py::test_a_member_that_was_drawn_and_is_not_listed_is_in_the_ledger",
        "cli/run/test_drawn_members.py::"
        "test_a_policy_that_the_draw_does_not_keep_ends_the_run_before_anything_is_dealt",
        "cli/run/test_drawn_members.py::test_a_comparison_draws_no_members_that_the_site_does_not_allow",
    ),
    "require_approval": (
        "cli/site/test_policy_attacks.py::test_one_role_alone_is_refused_as_well",
        "launch/flower/test_party_process.py::"
        "test_an_approval_that_was_taken_back_while_the_process_waited_begins_no_run",
    ),
}
"""Tests of what no job file shows: keys that others send, members that are drawn, rows that are counted, a server that
asks for more than the job says, a prediction, which has no job."""
