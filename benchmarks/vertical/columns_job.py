"""A job of set intersection and regression by columns on this machine: its file, the site's, rows and stored keys."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hekat.wire.keyfile import save_private_key
from vertical.data import ARBITER, CREDIT_GUEST, CREDIT_HOST, GUEST, HOST, draw_columns, stored_keys

KEY_BITS = 2048
BATCH_ROWS = 1024

_JOB = """format = 2
name = "columns"
protocol = "vertical_linear"
guest = "{guest}"
hosts = ["{host}"]
{arbiter}data = "people"
classes = ["0", "1"]
timeout_s = 300

[intersection]
kind = "ecdh"

[training]
epochs = {epochs}
batch_rows = {batch_rows}
learning_rate = 0.05
limit_spreads = 3

[protection]
kind = "{kind}"
{protection}"""


def write_columns_job(
    place: Path, form: str, credit: Path | None, row_count: int, epochs: int, *, kind: str = "paillier"
) -> tuple[str, ...]:
    """Write job.toml and site.toml into `place`, for UCI's credit data or, without them, `row_count` made-up rows.

    `kind` is the protection: "paillier", "lattice" or "none". Returns the roles.
    """
    roles = (GUEST, HOST, *((ARBITER,) if form == "arbiter" else ()))
    protection = f'form = "{form}"\n' + (f"key_bits = {KEY_BITS}\n" if kind == "paillier" else "")
    (place / "job.toml").write_text(
        _JOB.format(
            guest=GUEST, host=HOST, arbiter=f'arbiter = "{ARBITER}"\n' if form == "arbiter" else "", epochs=epochs,
            batch_rows=BATCH_ROWS, kind=kind, protection=protection,
        )
    )  # fmt: skip
    lines = ["format = 1", "[policy]", 'vertical_forms = ["shared_weights", "arbiter"]', f"min_key_bits = {KEY_BITS}"]
    lines += [f'protections = ["{kind}"]']
    sources = _write_rows(place, row_count) if credit is None else _csv_sources(credit)
    for party in (GUEST, HOST):
        lines += [f"[party.{party}.data.people]", *sources[party]]
    if kind == "paillier":
        # A new key's time is chance.
        for role, pair in zip([ARBITER] if form == "arbiter" else [GUEST, HOST], stored_keys(KEY_BITS), strict=False):
            path = place / f"{role}.key"
            save_private_key(path, pair.private, None)
            lines += [f"[party.{role}]", f'paillier_key = "{path}"']
    (place / "site.toml").write_text("\n".join([*lines, ""]))
    return roles


def _csv_sources(credit: Path) -> dict[str, list[str]]:
    return {
        GUEST: ['source = "csv"', f'path = "{credit / CREDIT_GUEST}"', 'id = "id"', 'label = "y"'],
        HOST: ['source = "csv"', f'path = "{credit / CREDIT_HOST}"', 'id = "id"'],
    }


def _write_rows(place: Path, row_count: int) -> dict[str, list[str]]:
    data = draw_columns(row_count, 13, 10, seed=7)
    ids = np.array([f"person-{number:06}" for number in range(row_count)])
    order = np.random.default_rng(1).permutation(row_count)
    np.savez(place / "guest.npz", features=data.guest, labels=data.labels, ids=ids)
    np.savez(place / "host.npz", features=data.host[order], ids=ids[order])
    return {
        GUEST: ['source = "npz"', f'path = "{place / "guest.npz"}"'],
        HOST: ['source = "npz"', f'path = "{place / "host.npz"}"'],
    }
