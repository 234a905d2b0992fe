"""`hekat audit`: what did each party learn, in which step; and do two parties' ledgers tell the same story?"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from hekat.channel import PartyPublicKey
from hekat.cli.printable import printable
from hekat.errors import LedgerError
from hekat.job.run import LEDGER_FOLDER, PARTIES_FILE
from hekat.ledger import AuditReport, audit, reconcile

DISAGREE = 1


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "audit",
        help="verify ledgers: what each party learned, and whether two agree",
        description="With a run's folder: verify every ledger in it and say what each party learned, step by step. "
        "With two ledger files: check that everything one sent the other received, byte for byte.",
        epilog="Exit code 1 where two ledgers disagree, 2 where one does not hold. Public keys come from the run's "
        "parties.json; to rule out that somebody exchanged it, pass the file you pinned with --parties.",
    )
    parser.add_argument("paths", type=Path, nargs="+", metavar="RUN or LEDGER", help="a run's folder, or ledger files")
    parser.add_argument("--party", help="only this party's ledger")
    parser.add_argument("--parties", type=Path, help="a JSON file of party names and public party keys")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(handle=run)


def run(options: argparse.Namespace) -> int:
    ledgers = [ledger for path in options.paths for ledger in _find_ledgers(path, options.party)]
    reports = [audit(path, _public_key(path, options.parties)) for path in ledgers]
    reconciled = [
        reconcile(a, b)
        for number, a in enumerate(reports)
        for b in reports[number + 1 :]
        if any(peer.peer == b.party for peer in a.passed) or any(peer.peer == a.party for peer in b.passed)
    ]
    agree = all(found.agrees for found in reconciled)
    if options.json:
        content = {
            "ledgers": [json.loads(report.to_json()) for report in reports],
            "reconciled": [json.loads(found.to_json()) for found in reconciled],
        }
        sys.stdout.write(json.dumps(content, indent=1) + "\n")
    else:
        _show(reports, [printable(found.to_text(), keep="\n") for found in reconciled])
    return 0 if agree else DISAGREE


def _show(reports: list[AuditReport], reconciled: list[str]) -> None:
    for report in reports:
        sys.stdout.write(printable(report.to_text(), keep="\n") + "\n" + "-" * 100 + "\n\n")
    for text in reconciled:
        sys.stdout.write(text.rstrip() + "\n")


def _find_ledgers(path: Path, party: str | None) -> list[Path]:
    if not path.exists():
        raise LedgerError(
            f"{path} is not there",
            expected="the folder of a run, or a ledger file",
            got="nothing of that name",
            cure="give runs/<id>, or runs/<id>/ledger/PARTY.jsonl",
        )
    if not path.is_dir():
        return [path]
    found = sorted((path / LEDGER_FOLDER).glob("*.jsonl"))
    if party is not None:
        found = [ledger for ledger in found if ledger.stem == party]
    if not found:
        raise LedgerError(
            f"no ledger in {path}",
            expected=f"{LEDGER_FOLDER}/{party or 'PARTY'}.jsonl",
            got="none",
            cure="give the folder of a run, runs/<id>",
        )
    return found


def _public_key(ledger: Path, parties: Path | None) -> PartyPublicKey:
    source = parties or ledger.resolve().parent.parent / PARTIES_FILE
    try:
        texts = json.loads(source.read_text(encoding="utf-8"))
        text = texts[ledger.stem]
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError):
        raise LedgerError(
            f"no public key for the ledger {ledger.name}",
            expected=f"{source} with an entry {ledger.stem!r}",
            got="none",
            cure="pass the file of pinned public keys with --parties",
        ) from None
    if not isinstance(text, str):
        raise LedgerError(
            f"the public key of {ledger.stem!r} in {source} is no text",
            expected="the line that `hekat keys party` prints",
        )
    return PartyPublicKey.from_text(text)
