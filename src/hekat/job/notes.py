"""What a reader of a run's report has to keep in mind: whom to trust, and how the figures came about."""

from __future__ import annotations

from collections.abc import Iterator

from hekat.engine.select import get_engine
from hekat.engine.tenancy import PLAIN_TABLES
from hekat.job.prepare import Prepared
from hekat.job.upload_states import roles_without_own_folder
from hekat.protocol.horizontal.opening.committee import equivocation_bound, form_committee
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training import TrainingState


def make_notes(prepared: Prepared, name: str, resumed: TrainingState | None, *, witnessed: bool) -> list[str]:
    """The notes of a finished run called `name`; `witnessed`: its sums were held against those of floats."""
    job, settings = prepared.job, prepared.job.settings
    notes = [*_whom_to_trust(settings)]
    if settings.protection == "lattice" and roles_without_own_folder(prepared):
        notes.append(
            "one machine plays all roles: their upload numbers and releases lie in the run's folder, in state/; "
            "between machines each party keeps its own (state under [party.NAME] of its site file)"
        )
    if job.compare_plain and settings.protection != "none":
        notes.append("the plain comparison sent updates unencrypted, inside this process only, by the site's leave")
    if witnessed:
        notes.append("float updates of all parties were compared inside this process to check the stated bound")
    if resumed is not None:
        notes.append(
            f"resumed after round {resumed.rounds_done}: rounds, seconds, bytes and clipped values of the {name} "
            "run are those of the rounds after it"
        )
    if len(settings.parties) == 2:
        notes.append("with two parties each learns the other's update from every sum")
    notes.append("roles took turns at the measured steps, so each figure is that of a machine to itself")
    return notes


def _whom_to_trust(settings: HorizontalSettings) -> Iterator[str]:
    if settings.protection == "none":
        yield "protection is NONE: the aggregator saw every party's update in the clear"
    elif settings.protection == "paillier":
        yield (
            "all parties share one Paillier private key: a party that obtains another's ciphertext can open it, "
            "so parties trust each other not to work with the aggregator"
        )
        if get_engine().single_tenant:
            yield f"randomiser tables: {PLAIN_TABLES}; this machine's owner says that nobody else's code runs on it"
        if settings.key_bits < 3072:
            yield f"a {settings.key_bits}-bit key gives about 112-bit security; 3072 bits give 128"
    else:
        yield _who_opens(settings)
        yield "protection 'lattice' has had no review from outside yet: docs/security.md says what it rests on"


def _who_opens(settings: HorizontalSettings) -> str:
    if settings.opening == "authority":
        return (
            f"the key authority {settings.authority} opens the sums and could open every single update as well, if it "
            "works with the aggregator; parties hold no key"
        )
    if settings.opening == "shared":
        return (
            "all parties share one key: a party that obtains another's upload can open it, so parties trust each "
            "other not to work with the aggregator"
        )
    committee = form_committee(settings.parties, allow_two_parties=settings.allow_two_parties)
    members, threshold = len(committee.members), committee.threshold
    spare = members - threshold
    most = equivocation_bound(members, threshold)
    others = committee.least_included - 2
    return (
        f"no key opens an update: {threshold} of {members} committee members open each sum, of at least "
        f"{committee.least_included} parties; {spare or 'none'} of them may be lost. This holds against the aggregator "
        f"{_colluders(most, others, everybody=members == len(settings.parties))}"
    )


def _colluders(members: int, parties: int, *, everybody: bool) -> str:
    """Both bounds hold at once; where all parties are members the lower one says it all."""
    if not everybody:
        return f"together with up to {members} of these members, and up to {parties} parties in all"
    most = max(0, min(members, parties))
    return f"together with up to {most} {'party' if most == 1 else 'parties'}" if most else "alone"
