"""`hekat init --from` of a job with a guest and hosts: who is the guest, which columns are ids, what is left out."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hekat.cli.init.horizontal_from import HOLD_OUT, csv_options, parties_of
from hekat.cli.init.read_tables import find_tables, read_tables
from hekat.cli.init.say_plan import describe_table, say_columns, say_label
from hekat.errors import InputError
from hekat.job.new.new_guest_job import NewGuestJob
from hekat.job.new.table_plan import source_options
from hekat.job.new.vertical_plan import PartyPlan, VerticalPlan, find_guest, plan_vertical


@dataclass(frozen=True)
class Suggestion:
    """What the tables suggest: the parties, the guest first, and the plan for the tables of as many of them."""

    parties: tuple[str, ...]
    plan: VerticalPlan
    kinds: tuple[str, ...]
    places: tuple[dict[str, Any], ...]

    def fill_in(self, model: str | None) -> dict[str, Any]:
        """What a NewGuestJob takes of it."""
        label, ids = self.plan.label, self.plan.parties[0].ids
        sources = {
            name: _source(party, place, self.plan if number == 0 else None)
            for number, (name, party, place) in enumerate(
                zip(self.parties, self.plan.parties, self.places, strict=False)
            )
        }
        said: dict[str, Any] = {"guest": self.parties[0], "hosts": self.parties[1:], "id": ids, "sources": sources}
        said["kinds"] = dict(zip(self.parties, self.kinds, strict=False))
        if label is None:
            return said
        kind = model or ("logistic" if label.classes else "linear")
        return said | {
            "hold_out": HOLD_OUT,
            "label": label.name,
            "classes": label.classes,
            "model": kind,
            "columns": self.plan.settings(),
        }

    @property
    def most_rows(self) -> int:
        """How many rows all parties can have in common, at most."""
        return self.plan.common or min(party.table.rows for party in self.plan.parties)

    def say(self, *, fills: bool) -> Iterator[str]:
        """What was found, for a reader; `fills` as `say_columns` takes it."""
        if self.plan.label is not None:
            yield f"guest       {self.parties[0]}: its table has the label"
            yield from say_label(self.plan.label, names_model=fills)
        for name, party in zip(self.parties, self.plan.parties, strict=False):
            yield f"read        {name}: {describe_table(party.table)}"
            yield f"ids         {', '.join(party.ids)}"
            if self.plan.label is not None:
                yield from say_columns(party.columns, fills=fills)
        if self.plan.common is not None:
            yield f"common      {self.plan.common:,} rows by these ids, counted here in the open"
        for problem in self.plan.problems:
            yield f"to mend     {problem}: hekat run refuses the table as it is"


def suggest_guest_job(options: argparse.Namespace, usual: NewGuestJob) -> Suggestion:
    """Read the tables and plan. Raises InputError."""
    paths: list[Path] = options.tables
    trains = options.protocol != "psi"
    named = _named_parties(options, usual, len(paths))
    names = named or parties_of(None, paths, options.arbiter or "", split=False)
    files = find_tables(options)
    tables = read_tables(files)
    place = find_guest(tables, options.label) if trains else 0
    if place and named is not None:
        raise InputError(
            f"the label is not in the guest's table {tables[0].name}",
            expected="the guest's table first after --from, then the hosts' in the order of --hosts",
            got=f"the label in {tables[place].name}",
            cure="change the order of the tables, or name another column with --label",
        )
    order = [place, *(number for number in range(len(tables)) if number != place)]
    classes = () if options.model == "linear" else options.classes
    plan = plan_vertical(
        [tables[number] for number in order], label=options.label, classes=classes, ids=options.id, trains=trains
    )
    if named is None:
        names = tuple(names[number] for number in order)
    places = tuple(files[number].place(options.folder) for number in order)
    return Suggestion(names, plan, tuple(files[number].kind for number in order), places)


def _named_parties(options: argparse.Namespace, usual: NewGuestJob, table_count: int) -> tuple[str, ...] | None:
    """Guest and hosts where an option names one of them, or one table leaves them open."""
    if options.guest is None and options.hosts is None and table_count > 1:
        return None
    named = (options.guest or usual.guest, *(options.hosts or usual.hosts))
    if table_count > len(named):
        raise InputError(
            "there are more tables than parties",
            expected=f"at most {len(named)} tables after --from, for {', '.join(named)}",
            got=f"{table_count} tables",
            cure="name every party with --guest and --hosts",
        )
    return named


def _source(party: PartyPlan, place: dict[str, Any], guest: VerticalPlan | None) -> dict[str, Any]:
    source: dict[str, Any] = {**place, "id": party.ids[0] if len(party.ids) == 1 else list(party.ids)}
    if guest is not None and guest.label is not None:
        source["label"] = guest.label.name
    return source | source_options(party.table, party.columns, party.ignored) | csv_options(party.table.dialect)
