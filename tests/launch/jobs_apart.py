"""Jobs of tests whose roles each have a folder of their own: rows in four or five tables, one job for each protocol."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.launch.roles_apart import RolesApart

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
    place: Path, count: int, protection: str, *, rounds: int = 2, key: str = "", head: str = "", more_sites: str = ""
) -> RolesApart:
    """A horizontal job of `count` parties; `key` is a line of the leader's site, `head` are lines of the job's top."""
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
    policy = 'protections = ["lattice", "paillier", "none"]\nmin_key_bits = 2048\nmin_parties = 2'
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
