"""An iteration of regression by columns over links of a stated speed, each way of protecting it beside none: the axis
of FLASH's Fig. 11b. Every role is a process; an iteration is one batch."""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from hekat.channel import PartyKey
from hekat.channel.mailbox import MailboxChannel
from hekat.launch.one_role import RoleFiles, load_role
from hekat.run.own_keys import write_key_folder
from hekat.run.progress import Silence
from hekat.run.role_folder import Place
from hekat.state import new_run_id
from network.forked_roles import RoleFigures, play_forked, playing
from network.shaped_link import LOOPBACK, Link, ShapedPost, shaping_of_kernel
from vertical.columns_job import BATCH_ROWS, write_columns_job
from vertical.data import GUEST, HOST

EPOCHS = 3
# FLASH limits the bandwidth, from 10 to 100 Mbit/s; the millisecond is ours.
LINKS = (LOOPBACK, *(Link(f"{speed} Mbit/s, 1 ms", speed * 1e6, 0.001) for speed in (100, 50, 20, 10)))
# Form, kind of protection.
WAYS = (("arbiter", "none"), ("arbiter", "lattice"), ("arbiter", "paillier"), ("shared_weights", "paillier"))
LOSS_TOLERANCE = 1e-4


def measure_vertical_links(row_count: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A row for each way and link, and the conditions of all. Ends the benchmark where losses differ."""
    rows = []
    for form, kind in WAYS:
        for link in LINKS:
            rows.append({"form": form, "kind": kind, "link": link.name, **_play(form, kind, link, row_count)})
            print(rows[-1], flush=True)
            if not abs(rows[-1]["loss"] - rows[0]["loss"]) <= LOSS_TOLERANCE:
                sys.exit(f"{form}, {kind}, {link.name}: the loss is {rows[-1]['loss']}, not {rows[0]['loss']}")
    plain = {row["link"]: row["iteration_s"] for row in rows if row["kind"] == "none"}
    for row in rows:
        if row["form"] == "arbiter":  # the other form has other messages
            row["times_plain"] = row["iteration_s"] / plain[row["link"]]
    return rows, {"data_rows": row_count, "columns": 23, "batch_rows": BATCH_ROWS, "shaping": shaping_of_kernel()}


def _play(form: str, kind: str, link: Link, row_count: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="hekat-") as folder:
        place = Path(folder)
        roles = write_columns_job(place, form, None, row_count, EPOCHS, kind=kind)
        keys = {role: PartyKey.generate() for role in roles}
        for role in roles:
            write_key_folder(place / f"keys-{role}", keys[role], {name: key.public for name, key in keys.items()})
        run_id = new_run_id()
        figures = play_forked(roles, lambda role, sockets: _play_role(role, roles, run_id, place, sockets, link))
        for role in roles:
            if role not in figures or figures[role].error:
                sys.exit(f"{role} ended by {figures[role].error if role in figures else 'its process'}")
        events = place / "runs" / GUEST / run_id / "events.jsonl"
        entries = [json.loads(line) for line in events.read_text().splitlines()]
        epochs = [entry for entry in entries if entry["event"] == "epoch"]
        ends = [datetime.fromisoformat(entry["time"]) for entry in epochs]
        epoch_s = statistics.median((after - before).total_seconds() for before, after in itertools.pairwise(ends))
        sent = sum(figures[role].bytes_out for role in (GUEST, HOST))
        return {
            "iteration_s": epoch_s / -(-row_count // BATCH_ROWS),
            "loss": epochs[-1]["loss"],
            "sent_bytes": sent,
        }


def _play_role(role: str, roles: Sequence[str], run_id: str, place: Path, sockets: Path, link: Link) -> None:
    figures, post = RoleFigures(role), ShapedPost(sockets, role, link)
    channel = MailboxChannel(
        role, tuple(roles), post, run_id=run_id, timeout_s=600.0, lost_after_s=600.0, first_contact_s=600.0
    )
    runs = place / "runs" / role
    files = RoleFiles(place / "job.toml", place / "site.toml", runs, lambda: b"", place / f"keys-{role}")
    with playing(post, channel, figures):
        loaded = load_role(files, role)
        channel.meet(b"")
        with loaded.tenancy():
            loaded.play(Place(role, channel, run_id, runs, loaded.keys, Silence()))
