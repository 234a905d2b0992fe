"""Lines of a site file that protect less than they could, each with what to do."""

from __future__ import annotations

from collections.abc import Iterator

from hekat.data.columns.specs import LEAST_ROWS_OF_FOUND
from hekat.job.policy.site_lines import MAX_LABEL_EPSILON, SitePolicy
from hekat.job.site_file import Site
from hekat.model import MODEL_NAMES
from hekat.protocol.vertical_network.settings import GUEST_LAYER

FEW_PARTIES = 3


def weak_lines(site: Site) -> list[str]:
    """A sentence for each; empty where nothing is to say."""
    return [*_on_openness(site.policy), *_on_limits(site), *_on_parties(site)]


def _on_openness(policy: SitePolicy) -> Iterator[str]:
    if "none" in policy.protections:
        yield 'policy.protections has "none": updates may leave in the clear. Keep it for comparisons on public data'
    for opening, who in (("shared", "every party"), ("authority", "the authority")):
        if opening in policy.openings:
            yield f'policy.openings has "{opening}": {who} could open single updates. Leave it out if no job needs it'
    if policy.min_masked < 1:
        yield (
            f"policy.min_masked = {policy.min_masked:g}: a job may send the other values of every update in the clear. "
            "Leave it out but to compare: full masking costs fewer bytes than float32"
        )
    if policy.exposed_embeddings:
        yield (
            "policy.exposed_embeddings = true: a job may send tables of embeddings in the clear: their rows that "
            "change are the words of texts here. Leave it out but to compare, on public texts"
        )
    if policy.exactness_check:
        yield "policy.exactness_check = true: one process may see all parties' updates. For tests on one machine"
    if policy.joined_rows:
        yield "policy.joined_rows = true: one process may hold all parties' rows. For tests on one machine"
    if policy.label_leak_waiver:
        yield "policy.label_leak_waiver = true: a job may let hosts learn labels of single rows"
    if GUEST_LAYER in policy.network_forms:
        yield 'policy.network_forms with "guest_layer": a form that is there to compare and opens more than "shared"'
    if policy.column_leak_waiver:
        yield "policy.column_leak_waiver = true: a job may let the guest learn columns of hosts"
    if policy.slope_leak_waiver:
        yield "policy.slope_leak_waiver = true: a job may let hosts learn of the columns of all other parties"
    if policy.max_label_epsilon > MAX_LABEL_EPSILON:
        yield (
            f"policy.max_label_epsilon = {policy.max_label_epsilon:g}: label privacy may leave nearly all labels as "
            f"they are. Set {MAX_LABEL_EPSILON:g} or less"
        )
    if policy.bin_leak_waiver:
        yield "policy.bin_leak_waiver = true: sums of many trees may tell the guest the bins of rows here"
    if policy.budget_waiver:
        yield (
            "policy.budget_waiver = true: jobs may open exact sums of rows that have a privacy budget, whose epsilon "
            "then says nothing of them"
        )
    if policy.single_ids:
        yield "policy.single_ids = true: a party may ask whether others know one person"
    if policy.server_learns_model:
        yield "policy.server_learns_model = true: who runs an engine's server may see the mean model of every round"


def _on_limits(site: Site) -> Iterator[str]:
    policy = site.policy
    # Lines of protocols that the site does not allow open nothing, however wide they are.
    sums = not {"horizontal", "averaging"}.isdisjoint(policy.protocols)
    trains = policy.protocols != ("psi",) and bool(policy.protocols)
    if (sums or "encrypted_model" in policy.protocols) and policy.min_parties < FEW_PARTIES:
        yield (
            f"policy.min_parties = {policy.min_parties}: in a sum of two updates each party subtracts its own and has "
            f"the other's. Set {FEW_PARTIES} or more"
        )
    if sums and policy.min_category_rows < LEAST_ROWS_OF_FOUND:
        yield (
            f"policy.min_category_rows = {policy.min_category_rows}: a job may show all parties texts of so few rows, "
            f"which can say whose they are. Set {LEAST_ROWS_OF_FOUND} or more"
        )
    if trains and policy.max_rounds is None:
        yield "policy.max_rounds is not set: a job may open sums as often as it likes. Set what your jobs need"
    if sums and policy.committee_members is None:
        yield "policy.committee_members is not set: whoever writes a job chooses who can open sums. List public keys"
    elif sums and "paillier" in policy.protections:
        yield "policy.committee_members says nothing about protection 'paillier', where every party opens sums"
    if policy.approved_jobs is None and not policy.require_approval:
        yield (
            "policy.require_approval = false: jobs without party keys run here unapproved, where one machine plays all "
            "roles. Set it to true where others are to take part"
        )
    own = {name for party in site.parties.values() for name in party.models} | site.common_models.keys()
    strangers = [name for name in policy.models or () if name not in (*MODEL_NAMES, *own)]
    if strangers:
        yield f"policy.models names what neither Hekat nor this site has: {', '.join(strangers)}. Misspelt?"


def _on_parties(site: Site) -> Iterator[str]:
    homeless = ", ".join(name for name, party in site.parties.items() if party.state is None)
    if homeless:
        yield (
            f"no state under [party] of {homeless}: refusals are in no ledger, and no job with party keys runs. "
            'Add state = "state/NAME"'
        )
    keyless = ", ".join(name for name, party in site.parties.items() if party.state and party.party_key is None)
    if keyless:
        yield (
            f"no party_key under [party] of {keyless}: a key that lies beside the refusals signs them. "
            "Make one: hekat keys party"
        )
