"""What a reader of a report on a split network has to keep in mind."""

from __future__ import annotations

from collections.abc import Iterator

from hekat.job.vertical_network.job_file import NetworkJob
from hekat.protocol.vertical_network.settings import GUEST_LAYER, SEALED
from hekat.summary.vertical.caveats import (
    ROWS_JOINED,
    caveats_on_labels,
    caveats_on_matching,
    caveats_on_measuring,
    caveats_on_resuming,
    caveats_on_tables,
    caveats_on_trust,
)
from hekat.summary.vertical_network.finished_run import FinishedNetworkRun


def list_network_caveats(run: FinishedNetworkRun, *, compares_centralised: bool = False) -> list[str]:
    """The caveats of a finished run; `compares_centralised`: it was held against training on the joined rows."""
    return [
        *caveats_on_trust(run.job),
        *who_learns_what(run.job),
        *_on_code(run),
        *caveats_on_matching(run.job),
        *caveats_on_tables(run),
        *([ROWS_JOINED] if compares_centralised else []),
        *caveats_on_resuming(run, "epoch"),
        *caveats_on_measuring(run),
    ]


def _on_code(run: FinishedNetworkRun) -> Iterator[str]:
    """Which parts of the network are code of sites, as far as it is known here."""
    for name, found in run.results.items():
        for what, code in (("bottom", found.bottom_code), ("top", found.top_code)):
            if code:
                yield f"the {what} of {name} is a module of its site's own code: SHA-256 {code}"


def who_learns_what(job: NetworkJob) -> Iterator[str]:
    """What each party of a run of the job learned, or may have learned, of the others."""
    settings = job.settings
    guest, hosts = settings.guest, " and ".join(settings.hosts)
    if settings.protection == "none":
        yield "protection is NONE: features, gradients and weights were sent in the clear"
    if settings.form == SEALED:
        yield from _on_sealed(job)
        return
    how = "" if len(settings.hosts) == 1 else ", summed over hosts"
    if settings.form == GUEST_LAYER:
        how = ", each by itself"
        yield (
            f"form guest_layer is there TO COMPARE with FATE's protocol: gradients of hosts' weights went to {guest} "
            "under bounded noise, whose protection has no proof"
        )
    yield (
        f"{guest} learned what the interactive layer gives of {hosts}{how}, which over the epochs tells their features "
        "but for a rotation; with columns of some people known, also of the others"
    )
    yield (
        f"{guest} is trusted to send what the protocol says: in two passes a lying guest reads features of hosts "
        "exactly, and no message shows it"
    )
    yield from _on_labels(job)
    yield "predicted rows are counted against policy.max_predictions of the site: features of these open as well"


def _on_sealed(job: NetworkJob) -> Iterator[str]:
    settings = job.settings
    guest, host = settings.guest, settings.hosts[0]
    yield (
        f"form sealed: {guest} learned the mean loss of each epoch, {host} when training ended, and neither of them "
        "learned weights"
    )
    yield (
        "the loss is the second-order Taylor form of the log-loss: its scores have probabilities by a link of their own"
    )
    yield (
        f"{guest} and {host} are trusted with their own shares: one that lies spoils the model, or makes a loss "
        f"another number of rows that it picks; {guest} then learns as many bits as leave, which the ledger names, and "
        f"{host} a bit an epoch, by whether {guest} goes on"
    )
    told = [name for name in settings.hosts if name in job.prediction.receivers]
    if told:
        yield (
            f"{host} may receive scores, which tell a host that lies the labels of rows that it marked: the job "
            f"accepts that {settings.labels_accepted}"
        )


def _on_labels(job: NetworkJob) -> Iterator[str]:
    settings = job.settings
    hosts = " and ".join(settings.hosts)
    yield from caveats_on_labels(job)
    told = [host for host in settings.hosts if host in job.prediction.receivers]
    if told and settings.label_privacy is None:
        yield (
            f"{' and '.join(told)} may receive scores, which tell a host that lies the labels of rows that it marked: "
            f"the job accepts that {settings.labels_accepted}"
        )
    if settings.host_bottom == "trained":
        others = settings.guest if len(settings.hosts) == 1 else f"{settings.guest} and of each other"
        yield (
            f"slopes of their features told {hosts} something of the columns of {others}, "
            "and label privacy does not bound that; a host that lies reads the slopes themselves and its own weights"
        )
    if settings.host_bottom != "trained":
        yield f"in training {hosts} learned nothing of labels but when it ended: no gradient opens to a host"
    elif settings.label_privacy is None:
        yield f"gradients of their bottoms told {hosts} the labels: the job accepts that {settings.labels_accepted}"
