"""Jobs of tests whose roles each have a folder of their own: rows in four or five tables, one job for each protocol."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
from tests.launch.roles_apart import RolesApart

from hekat.protocol.vertical_network.settings import LABELS_ACCEPTED
from hekat.wire.keyfile import save_private_key

PARTIES = ("north", "east", "south", "west", "middle", "coast", "island", "hills")
HORIZONTAL = """format = 2
name = "clinics"
protocol = "horizontal"
parties = [{parties}]
aggregator = "hub"
data = "visits"
classes = ["no", "yes"]
weight_max = 100
allow_two_parties = {two}
timeout_s = 120

[training]
rounds = {rounds}
batch_rows = 8

[protection]
{protection}
"""


def clinics(
    place: Path,
    count: int,
    protection: str,
    *,
    rounds: int = 2,
    key: str = "",
    head: str = "",
    more_sites: str = "",
    allows: str = "",
) -> RolesApart:
    """A horizontal job of `count` parties; `key` is a line of the leader's site, `head` are lines of the job's top,
    `allows` lines of every site's policy."""
    parties = PARTIES[:count]
    sites = {}
    for seed, party in enumerate(parties):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(16, 3))
        ill = features[:, 0] + 0.2 * rng.normal(size=16) > 0
        ill[:2] = [True, False]
        rows = [f"{a:.4f},{b:.4f},{c:.4f},{'yes' if y else 'no'}" for (a, b, c), y in zip(features, ill, strict=True)]
        (place / f"{party}.csv").write_text("\n".join(["age,dose,days,ill", *rows]) + "\n")
        source = f'source = "csv"\npath = "{place / party}.csv"\nlabel = "ill"'
        sites[party] = f"{key if party == parties[0] else ''}\n[party.{party}.data.visits]\n{source}\n"
    names = ", ".join(f'"{party}"' for party in parties)
    two = "true" if count == 2 else "false"
    text = head + HORIZONTAL.format(parties=names, two=two, rounds=rounds, protection=protection)
    policy = 'protections = ["lattice", "paillier", "none"]\nmin_key_bits = 2048\nmin_parties = 2\n' + allows
    return RolesApart(place, text, (*parties, "hub"), sites, policy, more_sites)


def protected_clinics(place: Path, paillier_keys, protection: str) -> RolesApart:
    """As many parties as the protection needs, and a stored key for the leader where it has one."""
    key = ""
    if protection == "paillier":
        save_private_key(place / "leader.key", paillier_keys[2048][0].private, None)
        key = f'paillier_key = "{place}/leader.key"'
    lines = f'kind = "{protection}"' + ("\nkey_bits = 2048" if protection == "paillier" else "")
    return clinics(place, 3 if protection == "lattice" else 2, lines, key=key)


def customers(place: Path, kind: str) -> RolesApart:
    """An intersection of two parties, of 30 and 35 rows, 20 of them common."""
    sites = {}
    for party, numbers in {"bank": range(30), "insurer": range(44, 9, -1)}.items():
        rows = "".join(f"client{number},{number % 7}\n" for number in numbers)
        (place / f"{party}.csv").write_text("customer,age\n" + rows)
        source = f'source = "csv"\npath = "{place / party}.csv"\nid = "customer"'
        sites[party] = f"[party.{party}.data.customers]\n{source}\n"
    text = (
        'format = 2\nname = "customers"\nprotocol = "psi"\nguest = "bank"\nhosts = ["insurer"]\ndata = "customers"\n'
        f'[intersection]\nkind = "{kind}"\nlearns = ["bank", "insurer"]\n'
    )
    if kind == "rsa_blind":
        text += "key_bits = 3072\n"
    return RolesApart(place, text, ("bank", "insurer"), sites)


def credit(place: Path, paillier_keys, form: str) -> RolesApart:
    """A vertical regression of two parties with two columns each, of 40 rows in the same order."""
    rng = np.random.default_rng(5)
    values = {"bank": rng.normal(size=(40, 2)), "insurer": rng.normal(size=(40, 2))}
    score = values["bank"][:, 0] - values["insurer"][:, 1]
    roles = ("bank", "insurer", *(("arbiter",) if form == "arbiter" else ()))
    sites = {}
    for number, (party, columns) in enumerate(values.items()):
        label = ",outcome" if party == "bank" else ""
        rows = [
            f"{a:.4f},{b:.4f}" + ((",yes" if one > 0 else ",no") if label else "")
            for (a, b), one in zip(columns, score, strict=True)
        ]
        (place / f"{party}.csv").write_text("\n".join([f"{party}-a,{party}-b{label}", *rows]) + "\n")
        source = f'source = "csv"\npath = "{place / party}.csv"' + ('\nlabel = "outcome"' if label else "")
        key = ""
        if form == "shared_weights":
            save_private_key(place / f"{party}.key", paillier_keys[2048][number].private, None)
            key = f'paillier_key = "{place / party}.key"\n'
        sites[party] = f"{key}[party.{party}.data.clients]\n{source}\n"
    if form == "arbiter":
        save_private_key(place / "arbiter.key", paillier_keys[2048][0].private, None)
        sites["arbiter"] = f'paillier_key = "{place}/arbiter.key"\n'
    text = (
        'format = 2\nname = "credit"\nprotocol = "vertical_linear"\nguest = "bank"\nhosts = ["insurer"]\n'
        + ('arbiter = "arbiter"\n' if form == "arbiter" else "")
        + 'data = "clients"\nclasses = ["no", "yes"]\n[intersection]\nkind = "aligned"\n'
        "[training]\nepochs = 2\nbatch_rows = 20\nreweight = false\n"
        f'[protection]\nkind = "paillier"\nkey_bits = 2048\nform = "{form}"\n'
    )
    if form == "arbiter":
        text += '[label_leak]\naccepted = "hosts may learn labels"\n'
        text += '[column_leak]\naccepted = "the guest may learn columns of hosts"\n'
    policy = 'protections = ["paillier"]\nmin_key_bits = 2048\nlabel_leak_waiver = true\ncolumn_leak_waiver = true'
    return RolesApart(place, text, roles, sites, policy)


def patients(
    place: Path,
    protocol: str,
    *,
    protection: str = "none",
    form: str = "shared",
    limit: int | None = None,
    top: str | None = None,
) -> RolesApart:
    """A split network, or trees, of a clinic and a laboratory with 80 patients each, 70 of them common, and 12 new
    ones; `limit` is how many rows the laboratory's site lets be predicted, `top` the code of the clinic's own top."""
    rng = np.random.default_rng(7)
    values = rng.normal(size=(112, 4))
    sick = values[:, 0] + values[:, 2] > 0
    sites = {}
    for party, columns, rows in (("clinic", (0, 1), range(80)), ("laboratory", (2, 3), range(89, 9, -1))):
        label = "label = 'sick'\n" if party == "clinic" else ""
        for name, numbers in (("known", rows), ("new", range(100, 112))):
            lines = ["who,a,b" + (",sick" if label else "")]
            for number in numbers:
                cells = [f"p{number}", *(f"{values[number, column]:.4f}" for column in columns)]
                lines.append(",".join([*cells, *(["yes" if sick[number] else "no"] if label else [])]))
            (place / f"{party}-{name}.csv").write_text("\n".join(lines) + "\n")
        sites[party] = "".join(
            f"[party.{party}.data.{name}]\nsource = 'csv'\npath = '{place}/{party}-{name}.csv'\nid = 'who'\n{label}"
            for name in ("known", "new")
        )
    waiver = {
        "vertical_network": "[column_leak]\naccepted = 'the guest may learn my columns but for a rotation'\n"
        f"[label_leak]\naccepted = '{LABELS_ACCEPTED}'\n",
        "vertical_trees": "[bin_leak]\naccepted = 'the guest may learn bins of hosts'\n",
    }[protocol]
    training = {
        "vertical_network": "epochs = 2\nbatch_rows = 16\n[network]\nunits = 4\nguest_width = 3\nhost_width = 3\n",
        "vertical_trees": "max_iter = 2\nmax_depth = 2\nmax_bins = 8\n",
    }[protocol]
    if protocol == "vertical_network":
        protection += f'"\nform = "{form}'
    if form == "sealed":
        waiver, training = "", "epochs = 2\nbatch_rows = 16\n[network]\nunits = 3\n"
    text = (
        f'format = 2\nname = "patients"\nprotocol = "{protocol}"\nguest = "clinic"\nhosts = ["laboratory"]\n'
        f'data = "known"\nclasses = ["no", "yes"]\ntimeout_s = 60\n[training]\n{training}{waiver}'
        f'[protection]\nkind = "{protection}"\n'
    )
    policy = (
        'protections = ["lattice", "none"]\ncolumn_leak_waiver = true\nlabel_leak_waiver = true\nbin_leak_waiver = true'
    )
    if top is not None:
        text = text.replace("[network]\n", "[network]\ntop = 'their-top'\n")
        sites["clinic"] += "[party.clinic.model.their-top]\nfunction = 'net:build'\n"
    made = RolesApart(place, text, ("clinic", "laboratory"), sites, policy)
    if top is not None:
        for folder in (made.folder_of("clinic"), made.together):
            (folder / "net.py").write_text(top)
    if limit is not None:
        path = made.folder_of("laboratory") / "site.toml"
        path.write_text(path.read_text().replace("[policy]\n", f"[policy]\nmax_predictions = {limit}\n"))
    return made


def shortened(job: Path, place: Path, steps: int = 1) -> Path:
    """The job with all that lies beside it, in `place`; trained for so many rounds, epochs or trees, if at all."""
    shutil.copytree(job.parent, place)
    copied = place / job.name
    text, count = re.subn(r"^(rounds|epochs|max_iter) = \d+", rf"\1 = {steps}", copied.read_text(), flags=re.MULTILINE)
    assert count == ("[training]" in text)
    copied.write_text(text)
    return copied
