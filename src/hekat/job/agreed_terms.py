"""What a site agrees to when it approves a job, in short: the roles, the protection, the openers, and what is told."""

from __future__ import annotations

from collections.abc import Iterator

from hekat.data.columns.specs import LEAST_ROWS_OF_FOUND
from hekat.data.number_text import count_of
from hekat.job.averaging.job_file import AveragingJob
from hekat.job.encrypted_model.job_file import EncryptedModelJob
from hekat.job.horizontal.colluders import say_colluders
from hekat.job.horizontal.job_file import Job
from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.job.load_any_job import AnyJob
from hekat.job.psi.job_file import IntersectionJob
from hekat.job.trees.sections import task_of
from hekat.job.vertical.columns_job import ColumnsJob
from hekat.job.vertical_linear.job_file import VerticalJob
from hekat.job.vertical_network.job_file import OWN_BOTTOMS, NetworkJob
from hekat.job.vertical_trees.job_file import TreesJob
from hekat.model.trees import TreeTraining
from hekat.protocol.horizontal.privacy_settings import PrivacySettings
from hekat.protocol.horizontal.selective_settings import SelectiveSettings
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal_trees.settings import describe_privacy
from hekat.protocol.psi.settings import IntersectionSettings
from hekat.protocol.secure_sum.masked.opening.committee import (
    member_count_of,
    say_members,
    threshold_of,
)
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings

Term = tuple[str, str]
_BOTTOMS = {
    "frozen": "fixed maps of their columns, to which no gradient opens",
    "source": "their columns themselves, to which no gradient opens",
    "trained": "trained on gradients that OPEN to them, which tell labels",
}
_NETWORK_FORMS = {
    "shared": "weights of a host's side lie in shares, outputs open summed over hosts",
    "guest_layer": "TO COMPARE: the guest holds weights of a host's side under noise, learns each host's outputs by "
    "themselves",
    "sealed": "all weights, units and slopes lie in shares; the guest learns the mean loss of an epoch",
}
_FILL_SUMS = {
    "mean": "counts and sums",
    "median": "histograms around the median",
    "most_frequent": "counts of each category",
}


def terms_of(job: AnyJob) -> list[Term]:
    """What the job asks for, each with a name; its columns are those that every site's own table has."""
    if isinstance(job, Job):
        terms = [*_of_horizontal(job.settings), *_of_horizontal_job(job)]
    elif isinstance(job, RowTreesJob):
        terms = list(_of_row_trees(job))
    elif isinstance(job, EncryptedModelJob):
        terms = list(_of_encrypted_model(job))
    elif isinstance(job, VerticalJob):
        terms = [*_of_vertical(job.settings), *_of_vertical_job(job)]
    elif isinstance(job, TreesJob):
        terms = list(_of_trees_job(job))
    elif isinstance(job, NetworkJob):
        terms = list(_of_network_job(job))
    elif isinstance(job, AveragingJob):
        terms = list(_of_averaging(job))
    else:
        terms = list(_of_intersection(job.settings))
    return [("job", job.name), ("protocol", _protocol_of(job)), *terms, ("data", _data_of(job))]


def _protocol_of(job: AnyJob) -> str:
    if isinstance(job, IntersectionJob):
        return "psi: which ids are common, nothing is trained"
    if isinstance(job, RowTreesJob):
        return "horizontal_trees: boosted trees, other rows, the same columns"
    if isinstance(job, EncryptedModelJob):
        return "encrypted_model: other rows, the same columns; one role alone gets the model"
    if isinstance(job, VerticalJob):
        return "vertical_linear: other columns of the same people"
    if isinstance(job, TreesJob):
        return "vertical_trees: boosted trees, other columns of the same people"
    if isinstance(job, NetworkJob):
        return "vertical_network: a split network, other columns of the same people"
    if isinstance(job, AveragingJob):
        return "averaging: updates of a training app that an engine runs"
    return "horizontal: other rows, the same columns"


def _data_of(job: AnyJob) -> str:
    if isinstance(job, AveragingJob):
        return "whatever the app trains on: the app's code is not in this job"
    test = None if isinstance(job, IntersectionJob) else job.test_data
    return f"the site's table {job.data!r}" + ("" if test is None else f"; to measure on, {test!r}")


def _of_horizontal(settings: HorizontalSettings) -> Iterator[Term]:
    training = settings.training
    yield "parties", ", ".join(settings.parties)
    yield "aggregator", settings.aggregator
    yield from _of_sums(settings.sums)
    if settings.selective is not None:
        yield from _of_selective(settings.selective)
    yield "trains", f"{settings.model.name} by {training.algorithm}, up to {training.round_count} rounds"
    if settings.sample_size < len(settings.parties):
        yield "in a round", f"{settings.sample_size} of {len(settings.parties)} parties, by the job's digest"
    yield "rows of a party", f"up to {settings.weight_max}"
    yield (
        "opened sums",
        "; ".join(
            [
                "updates of every round",
                *(["the categories of columns, which all parties then know"] if settings.found else []),
                *(["means and spreads of columns"] if training.standardise else []),
                *(["mean and spread of the labels"] if settings.standardises_labels else []),
                *(f"{_FILL_SUMS[rule]} of columns with empty cells" for rule in settings.fills),
                *(["once the mean products of every two columns"] if _may_sum_gram(settings) else []),
            ]
        ),
    )
    if settings.privacy is not None:
        yield "differential privacy", _noise_of(settings, settings.privacy)
    if settings.validation.hold_out:
        yield "held out", f"{settings.validation.hold_out:g} of every party's rows, whose losses and counts are summed"
    if settings.validation.folds:
        yield (
            "cross-validation",
            f"{settings.validation.folds} models more, each without a part of every party's rows, whose losses and "
            "counts are summed; all parties' updates are in every sum",
        )


def _of_selective(selective: SelectiveSettings) -> Iterator[Term]:
    rules = selective.rules
    again = f", anew after every {count_of(selective.refresh, 'round')}" if selective.refresh else ""
    yield "part of an update", selective.in_words
    yield "which values", f"the most sensitive ones by the mean map ({selective.mode}) of all parties{again}"
    for key, names in (("masked always", rules.always), ("masked never", rules.never)):
        if names:
            yield key, ", ".join(names)
    if rules.expose_embeddings:
        yield "embeddings", "MAY GO IN THE CLEAR: rows that change are the words of texts"


def _noise_of(settings: HorizontalSettings, privacy: PrivacySettings) -> str:
    noise = f"noise z = {privacy.noise:g}" if privacy.noise else f"epsilon {privacy.epsilon:g} over all rounds"
    colluders = privacy.colluders_of(least_parties(settings.sums, settings.sample_size))
    return (
        f"of each {privacy.unit} ({privacy.neighbours}): {noise}, clip {privacy.clip:g}, delta {privacy.delta:g}, "
        f"against {'each party by itself' if colluders == 1 else f'{colluders} parties together'}"
    )


def _may_sum_gram(settings: HorizontalSettings) -> bool:
    """Whether tables of enough rows and few enough columns have their Gram matrix summed."""
    return settings.training.searches_line and settings.is_linear


def _of_trees(task: str, training: TreeTraining) -> str:
    iterations = count_of(training.max_iter, "iteration")
    return f"trees ({task}), up to {iterations} of depth {training.max_depth}, {training.max_bins} bins"


def _of_row_trees(job: RowTreesJob) -> Iterator[Term]:
    settings, training = job.settings, job.settings.training
    yield "parties", ", ".join(settings.parties)
    yield "aggregator", settings.aggregator
    yield from _of_sums(settings.sums)
    yield "trains", _of_trees(task_of(settings.classes), training)
    yield "rows of a party", f"up to {settings.weight_max}"
    if settings.privacy is not None:
        yield "opened sums", "gradients by leaf of public splits, with noise of every party"
        yield "differential privacy", describe_privacy(settings)
    else:
        yield (
            "opened sums",
            "rows by cell of each column; rows by class, or the sum of labels; of each node that is asked, rows and "
            "gradients by column and bin; gradients by leaf; losses",
        )
        yield "least rows of a leaf", f"{training.min_samples_leaf:,}, of all parties; a bin can hold a single row"
    if settings.held_out_fraction:
        yield "held out", f"{settings.held_out_fraction:g} of every party's rows, whose losses and counts are summed"
    if job.columns.specs:
        yield "columns described", ", ".join(spec.name for spec in job.columns.specs)


def _of_encrypted_model(job: EncryptedModelJob) -> Iterator[Term]:
    settings, training = job.settings, job.settings.training
    yield "hosts, who have rows", ", ".join(settings.hosts)
    yield "owner", f"{settings.owner}: alone GETS THE MODEL"
    yield "arbiter", f"{settings.arbiter}: holds the key, and must not work with the aggregator or a host"
    yield "aggregator", f"{settings.aggregator}: adds ciphertexts, has no key, and must not work with the owner"
    yield "protection", _protection_with_key(settings.protection, settings.key_bits)
    yield "trains", f"{settings.task}, {count_of(training.rounds, 'round')}, on weights that no host can read"
    every = training.report_every
    opened = f"every {count_of(every, 'round')}, and after the last one" if every else "after the last round"
    yield "the owner is given the model", opened
    if training.reported_count > 1:
        yield "models on the way", "how they follow from each other TELLS of sums of products of hosts' columns"
    if len(settings.hosts) == 2:
        yield "two hosts", "each LEARNS the other's row count, means and spreads by subtraction"
    if training.standardise:
        yield "opened sums", "means and spreads of columns over all hosts, which hosts and owner learn"
    if job.hold_out:
        yield "held out", f"{job.hold_out:g} of the rows of {settings.owner}, to measure the model on"
    if job.columns.specs:
        yield "columns described", ", ".join(spec.name for spec in job.columns.specs)


def _of_averaging(job: AveragingJob) -> Iterator[Term]:
    settings = job.settings
    yield "parties", ", ".join(settings.parties)
    yield "aggregator", settings.aggregator
    yield from _of_sums(settings)
    yield "rounds", f"up to {job.round_count}"
    yield "weight of a party", f"up to {settings.weight_max}, as the app reports its steps or rows"
    yield "opened sums", "updates of every round" + ("; metrics of every round" if job.server_learns_model else "")
    yield (
        "the engine's server",
        "LEARNS the mean of every round, and of every metric" if job.server_learns_model else "learns no model",
    )


def _of_sums(settings: SumSettings) -> Iterator[Term]:
    yield "protection", _protection_of(settings)
    if settings.protection == "lattice":
        yield "opening", _opening_of(settings)
        yield "sums checked", _checked_sums_of(settings)
        yield "least updates in a sum", str(least_parties(settings, settings.sample_size))


def _of_horizontal_job(job: Job) -> Iterator[Term]:
    if job.columns.specs:
        yield "columns described", ", ".join(spec.name for spec in job.columns.specs)
    for spec in (spec for spec in job.columns.specs if spec.found):
        rows = spec.min_rows or LEAST_ROWS_OF_FOUND
        yield f"shown of {spec.name}", f"every text that {rows} {'row' if rows == 1 else 'rows or more'} of a site hold"
    compared = [name for name, wanted in (("alone", job.compare_alone), ("plain", job.compare_plain)) if wanted]
    compared += [f"{bits} bits" for bits in job.compare_bits]
    if compared:
        yield "compared, in one process", ", ".join(compared)
    if job.check_exactness:
        yield "exactness", "every sum is compared with the sum of floats, in one process"


def _protection_of(settings: SumSettings) -> str:
    if settings.protection == "none":
        return "NONE: the aggregator sees every update"
    if settings.protection == "paillier":
        return f"paillier: one key of {settings.key_bits} bits that all parties hold"
    return "lattice: every update under a secret of its own"


def _checked_sums_of(settings: SumSettings) -> str:
    if settings.check_sum:
        return "against the uploads that their parties signed: an aggregator alone cannot alter one"
    return "NO: an aggregator can alter a sum by itself"


def _opening_of(settings: SumSettings) -> str:
    if settings.opening == "authority":
        return f"by {settings.authority}, which could open every update as well"
    if settings.opening == "shared":
        return "by every party: one key that all parties hold"
    count = member_count_of(len(settings.parties))
    return (
        f"by {threshold_of(count)} of {count} members, {say_members(settings.parties)}; no update opens to the "
        f"aggregator {say_colluders(settings)}"
    )


def _of_vertical(settings: VerticalLinearSettings) -> Iterator[Term]:
    training = settings.training
    yield from _of_guest_and_hosts(settings.guest, settings.hosts)
    if settings.arbiter is not None:
        yield "arbiter", f"{settings.arbiter}: opens masked gradients"
    yield "protection", _protection_with_key(settings.protection, settings.key_bits)
    yield (
        "form",
        "shared_weights: weights stay in shares"
        if settings.form == "shared_weights"
        else "arbiter: guest and hosts see their own gradients, equations on the labels",
    )
    if settings.form == "shared_weights" and settings.quiet_parties:
        yield "holders of shares", f"{' and '.join(settings.holders)}, who must not work together"
    batch = "all rows" if not training.batch_rows else f"{training.batch_rows:,} rows"
    yield "trains", f"{settings.task}, up to {training.epochs:,} epochs, batches of {batch}"
    if settings.label_privacy is not None:
        yield _replaced(settings.label_privacy)
    waivers = {"label-leak rule": settings.label_leak_accepted, "column-leak rule": settings.column_leak_accepted}
    for rule, waived in waivers.items():
        yield rule, "holds" if waived is None else f"WAIVED: {waived}"


def _of_vertical_job(job: VerticalJob) -> Iterator[Term]:
    yield from _of_matching(job, job.prediction.receivers)
    if job.settings.calibration_rows:
        guest, count = job.settings.guest, job.settings.calibration_rows
        again = ", at most twice" if job.settings.score_openings > 1 else ""
        why = "to fit probabilities to its labels" + (" and to re-weight rows" if job.settings.reweights else "")
        yield "learn scores of training rows", f"{guest}, of up to {count}{again}, {why}"
    yield from _of_joined_rows(job)
    if job.check_exactness:
        yield "exactness", "gradients of all parties are compared in one process"


def _of_trees_job(job: TreesJob) -> Iterator[Term]:
    settings, training = job.settings, job.settings.training
    yield from _of_guest_and_hosts(settings.guest, settings.hosts)
    yield "protection", _protection_with_key(settings.protection, settings.key_bits)
    yield "trains", _of_trees(settings.task, training)
    if settings.hide_partition:
        least = f"{training.min_samples_leaf:,} at the root; 1 below it, where hosts cannot join bins"
        seen = "hidden from hosts"
    else:
        least = f"{training.min_samples_leaf:,}, however sums of a column in a tree are added and subtracted"
        seen = "seen by every host"
    yield "least rows of a node's sum", least
    yield "rows of a node", seen
    if settings.label_party_first_trees:
        yield "first iterations", f"{settings.label_party_first_trees:,} by columns of {settings.guest} alone"
    if settings.label_privacy is not None:
        yield _replaced(settings.label_privacy)
    waived = settings.bin_leak_accepted
    yield "bin-leak rule", "holds" if waived is None else f"WAIVED: {waived}"
    yield from _of_matching(job, job.prediction.receivers)
    yield from _of_joined_rows(job)


def _of_network_job(job: NetworkJob) -> Iterator[Term]:
    settings, training = job.settings, job.settings.training
    yield from _of_guest_and_hosts(settings.guest, settings.hosts)
    yield "protection", _protection_with_key(settings.protection, 0)
    yield (
        "trains",
        f"a split network ({settings.task}) with {settings.network.units} units where columns meet, up to "
        f"{training.epochs:,} epochs, batches of {training.batch_rows:,} rows",
    )
    for party, name in job.bottoms.items():
        yield f"bottom of {party}", name if name in OWN_BOTTOMS else f"{name}, code of its site"
    if job.top is not None:
        yield f"top of {settings.guest}", f"{job.top}, code of its site"
    yield "form", _NETWORK_FORMS[settings.form]
    yield "bottoms of hosts", _BOTTOMS[settings.host_bottom]
    if settings.label_privacy is not None:
        yield _replaced(settings.label_privacy)
    if settings.labels_accepted is not None:
        yield "label-leak rule", f"WAIVED: {settings.labels_accepted}"
    if settings.rotation_accepted is not None:
        yield "column-leak rule", f"WAIVED by each host: {settings.rotation_accepted}"
    if settings.slopes_accepted is not None:
        yield "slope-leak rule", f"WAIVED by each party: {settings.slopes_accepted}"
    yield from _of_matching(job, job.prediction.receivers)
    yield from _of_joined_rows(job)


def _replaced(epsilon: float) -> Term:
    return "labels", f"each replaced once by chance, epsilon {epsilon:g}"


def _of_guest_and_hosts(guest: str, hosts: tuple[str, ...]) -> Iterator[Term]:
    yield "guest, who has the labels", guest
    yield "hosts", ", ".join(hosts)


def _protection_with_key(protection: str, key_bits: int) -> str:
    bits = f", keys of {key_bits} bits" if protection == "paillier" else ""
    return f"{protection.upper() if protection == 'none' else protection}{bits}"


def _of_matching(job: ColumnsJob, receivers: tuple[str, ...]) -> Iterator[Term]:
    yield "rows matched by", job.intersection_kind
    yield "learn scores", ", ".join(receivers)


def _of_joined_rows(job: ColumnsJob) -> Iterator[Term]:
    if job.compare_centralised:
        yield "compared, in one process", "the joined rows of all parties"


def _of_intersection(settings: IntersectionSettings) -> Iterator[Term]:
    yield "guest, who compares", settings.guest
    yield "hosts", ", ".join(settings.hosts)
    yield "kind", settings.kind + (f", a key of {settings.key_bits} bits" if settings.kind == "rsa_blind" else "")
    what = "how many ids are common" if settings.cardinality_only else "which of its ids are common"
    yield f"learn {what}", ", ".join(settings.learners)
    if settings.allow_single:
        yield "single ids", "ALLOWED: a party may ask about one person"
