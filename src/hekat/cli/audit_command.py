"""`hekat audit`: what did each party learn, in which step; and do ledgers, and the job, tell the same story?"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hekat.channel import PartyPublicKey
from hekat.cli.audit_claims import find_differences, say_differences
from hekat.cli.exit_codes import ExitCode
from hekat.command_name import as_called
from hekat.errors import InputError, LedgerError
from hekat.job.load_any_job import AnyJob, load_any_job
from hekat.job.policy.refusals_ledger import find_refusal_ledgers
from hekat.launch.vertical.predict import PREDICTIONS_FOLDER
from hekat.ledger import AuditReport, audit, reconcile
from hekat.ledger.claims import alone_with_claims
from hekat.ledger.ledger import STOPPED
from hekat.ledger.ledger_files import find_ledgers, name_of_ledger
from hekat.ledger.refusals import is_of_refusals, refused_jobs, say_refused
from hekat.printable import printable
from hekat.protocol.role_session import LEDGER_FOLDER, PARTIES_FILE
from hekat.state import cure_of_parent


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "audit",
        help="verify ledgers: what each party learned, and whether two agree",
        description="With a run's folder: verify every ledger in it and say what each party learned, step by step. "
        "With two ledger files: check that everything one sent the other received, byte for byte. Claims of "
        "differential privacy are compared between parties, and with --job held against the job's settings. "
        "With a party's state folder: verify what its site refused, and list it.",
        epilog="Exit code 1 where ledgers disagree, with one another or with the job, are missing or are not signed, 2 "
        "where one does not hold, "
        "or claims an epsilon that does not follow from its noise and releases. Public "
        "keys come from the run's parties.json; to rule out that somebody exchanged it, pass the file you pinned with "
        "--parties, or a job that names party keys with --job.",
    )
    parser.add_argument(
        "paths",
        type=Path,
        nargs="+",
        metavar="RUN or LEDGER",
        help="a run's folder, ledger files, or a party's state folder",
    )
    parser.add_argument("--party", help="only this party's ledger")
    parser.add_argument("--parties", type=Path, help="a JSON file of party names and public party keys")
    parser.add_argument("--job", type=Path, help="the job file, whose party keys must have signed the ledgers")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(handle=run)


def run(options: argparse.Namespace) -> int:
    ledgers = [ledger for path in options.paths for ledger in _find_ledgers(path, options.party)]
    job = None if options.job is None else load_any_job(options.job)
    stated = {} if job is None else _keys_of_job(job, options)
    reports = [audit(path, _public_key(path, options.parties, stated)) for path in ledgers]
    reconciled = [
        reconcile(a, b)
        for number, a in enumerate(reports)
        for b in reports[number + 1 :]
        if any(peer.peer == b.party for peer in a.passed) or any(peer.peer == a.party for peer in b.passed)
    ]
    unlike = find_differences(reports, job)
    agree = not unlike and all(found.agrees for found in reconciled)
    missing = _find_missing(options, reports, stated)
    unsigned = [report.party for report in reports if not report.signed]
    if options.json:
        content = {
            "ledgers": [json.loads(report.to_json()) for report in reports],
            "reconciled": [json.loads(found.to_json()) for found in reconciled],
            "claims": {
                "job": None if job is None else job.name,
                "differences": unlike,
                "not_compared": [report.party for report in alone_with_claims(reports)],
            },
            "missing": missing,
            "unsigned": unsigned,
        }
        if refused := [job for report in reports if is_of_refusals(report) for job in refused_jobs(report)]:
            content["refused"] = [dataclasses.asdict(job) for job in refused]
        sys.stdout.write(json.dumps(content, indent=1) + "\n")
    else:
        _show(reports, [printable(found.to_text(), keep="\n") for found in reconciled])
        sys.stdout.write(printable(say_differences(reports, job, unlike), keep="\n"))
        _tell_stopped(reports)
        _tell_predictions(options.paths)
        _warn(missing, unsigned, agree=agree)
    return ExitCode.DONE if agree and not missing and not unsigned else ExitCode.NOT_WHOLE


def _show(reports: list[AuditReport], reconciled: list[str]) -> None:
    for report in reports:
        text = say_refused(report) if is_of_refusals(report) else report.to_text()
        sys.stdout.write(printable(text, keep="\n") + "\n" + "-" * 100 + "\n\n")
    _tell_notes(reports)
    for text in reconciled:
        sys.stdout.write(text.rstrip() + "\n")


def _tell_notes(reports: list[AuditReport]) -> None:
    """What roles noted that they learned, such as equations over rows: each fact once, with the roles that noted it."""
    found: dict[str, list[str]] = {}
    for report in reports:
        for note in report.notes:
            if note.disclosure_class == "disclosed":
                text = note.what if not note.explanation else f"{note.what}: {note.explanation}"
                found.setdefault(text, []).append(report.party)
    if found:
        lines = [f"  {text}  [{', '.join(dict.fromkeys(parties))}]\n" for text, parties in found.items()]
        sys.stdout.write(
            "In short, as the roles noted it\n" + "".join(printable(line, keep="\n") for line in lines) + "\n"
        )


def _tell_predictions(paths: list[Path]) -> None:
    """Later predictions with a run's model have ledgers of their own."""
    found = [folder for path in paths for folder in sorted((path / PREDICTIONS_FOLDER).glob("*")) if folder.is_dir()]
    if found:
        sys.stdout.write("\nPredictions with this model have ledgers of their own:\n")
        sys.stdout.write("".join(as_called(f"  hekat audit {printable(folder)}\n") for folder in found))


def _tell_stopped(reports: list[AuditReport]) -> None:
    """Roles that left before the end: their ledgers are whole up to there."""
    stopped = [report for report in reports if report.signed and report.reason.startswith(STOPPED)]
    lines = [f"{report.party} left before the end ({report.reason}) and signed its ledger then" for report in stopped]
    if lines:
        sys.stdout.write("\n" + "".join(f"NOTE: {printable(line)}\n" for line in lines))


def _warn(missing: list[str], unsigned: list[str], *, agree: bool) -> None:
    """Print last, where people read it, what this audit could not show."""
    lines = [f"NO LEDGER of {party}: what it learned cannot be told" for party in missing]
    lines += [f"NOT SIGNED: the ledger of {party}; lines may be missing at its end" for party in unsigned]
    if not agree:
        lines.append("LEDGERS DISAGREE, with one another or with the job: see above")
    if lines:
        sys.stdout.write("\n" + "".join(f"WARNING: {printable(line)}\n" for line in lines))


def _find_missing(
    options: argparse.Namespace, reports: list[AuditReport], stated: Mapping[str, PartyPublicKey]
) -> list[str]:
    """Parties of an audited folder without a ledger: those with a public key, and those that a ledger tells of."""
    folders = [path for path in options.paths if path.is_dir()]
    if not folders or options.party is not None:
        return []
    known = {peer.peer for report in reports for peer in report.passed}
    for folder in folders:
        known |= _read_parties(options.parties or folder / PARTIES_FILE).keys()
    known |= stated.keys()
    return sorted(known - {report.party for report in reports})


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
    found = find_ledgers(path / LEDGER_FOLDER) or find_refusal_ledgers(path)
    if party is not None and found:
        return _ledgers_of(party, found, path)
    if not found:
        raise LedgerError(
            f"no ledger in {path}",
            expected=f"{LEDGER_FOLDER}/{party or 'PARTY'}.jsonl",
            got="none",
            cure=cure_of_parent(path, "give the folder of a run, runs/<id>, or a party's state folder with refusals"),
        )
    return found


def _ledgers_of(party: str, found: list[Path], path: Path) -> list[Path]:
    """One of a run; of refusals there may be several."""
    if own := [ledger for ledger in found if name_of_ledger(ledger) == party]:
        return own
    raise LedgerError(
        f"no ledger of {party} in {path}",
        expected=f"one of {', '.join(dict.fromkeys(name_of_ledger(ledger) for ledger in found))}",
        got=f"--party {party}",
        cure="name one of them, or give the folder of another run",
    )


def _keys_of_job(job: AnyJob, options: argparse.Namespace) -> Mapping[str, PartyPublicKey]:
    """The party keys of the job that --job names; none of a job without, where --parties has them."""
    keys = job.party_keys
    if keys and options.parties is not None:
        raise InputError("--job and --parties both say whose keys hold", expected="one of them", cure="leave one out")
    if not keys and options.parties is None:
        raise LedgerError(
            f"{options.job} names no party keys",
            expected="a job with [party_keys]",
            got="none",
            cure="pass the file of pinned public keys with --parties as well",
        )
    return keys


def _public_key(ledger: Path, parties: Path | None, stated: Mapping[str, PartyPublicKey]) -> PartyPublicKey:
    if stated:
        if name_of_ledger(ledger) not in stated:
            raise LedgerError(
                f"the job names no key for the ledger {ledger.name}",
                expected=f"a ledger of {', '.join(stated)}",
                got=name_of_ledger(ledger),
                cure="give the job file that the run was of",
            )
        return stated[name_of_ledger(ledger)]
    source = parties or ledger.resolve().parent.parent / PARTIES_FILE
    text = _read_parties(source).get(name_of_ledger(ledger))
    if text is None:
        raise LedgerError(
            f"no public key for the ledger {ledger.name}",
            expected=f"{source} with an entry {name_of_ledger(ledger)!r}",
            got="none",
            cure="pass the file of pinned public keys with --parties",
        )
    if not isinstance(text, str):
        raise LedgerError(
            f"the public key of {name_of_ledger(ledger)!r} in {source} is no text",
            expected="the line that `hekat keys party` prints",
        )
    return PartyPublicKey.from_line(text)


def _read_parties(source: Path) -> dict[str, Any]:
    """Names and public keys in `source`; empty where it is no such file."""
    try:
        texts = json.loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return texts if isinstance(texts, dict) else {}
