"""The ledger of what a site refused, signed and chained, in the state folder of the role that was refused.

Refused jobs have no session and no run's folder. `refusals/1/ledger/ROLE.jsonl` lies as a run's ledger does, beside the
public key that signs it; the party key signs, or where the site keeps none a key that stays in the folder. The file is
closed and signed at each refusal, so that missing lines are missed. A file that is full, of another key or damaged is
left as it is, and the next number begun.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path

from hekat.channel import PartyKey
from hekat.disk_errors import disk_errors_as_state_errors
from hekat.errors import LedgerError, StateError
from hekat.job.site_file import PartySite
from hekat.ledger.chain import VerifiedLedger, verify_ledger
from hekat.ledger.extend import extend_ledger, new_ledger
from hekat.ledger.refusals import PROTOCOL, STEP, RefusedJob
from hekat.protocol.role_session import LEDGER_FOLDER, PARTIES_FILE
from hekat.state import replace_file

FOLDER = "refusals"
OWN_KEY_FILE = "own.key"
MOST_LINES = 1000
"""Lines of one file; then the next one is begun."""
MOST_FILES = 100
"""Files of one role: whoever sends jobs does not fill the disk."""
_LOCK_FILE = "lock"


def write_refusals(held: PartySite, state: Path, role: str, lines: Sequence[RefusedJob]) -> None:
    """Add the lines to the newest ledger of `role`, in its `state` folder. Raises StateError or KeyRefusedError."""
    folder = state / FOLDER
    with disk_errors_as_state_errors("the ledger of refusals cannot be written"):
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        lock = os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            key = _signing_key(held, folder)
            place, ledger = _newest(folder, role, key)
            data = extend_ledger(ledger, key, STEP, [line.to_fields() for line in lines])
            (place / LEDGER_FOLDER).mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(place / LEDGER_FOLDER / f"{role}.jsonl", data)
            replace_file(place / PARTIES_FILE, json.dumps({role: key.public.text}, indent=1).encode())
        finally:
            os.close(lock)


def _signing_key(held: PartySite, folder: Path) -> PartyKey:
    if held.party_key is not None:
        return PartyKey.load(held.party_key)
    path = folder / OWN_KEY_FILE
    if not path.exists():
        PartyKey.generate().save(path)
    return PartyKey.load(path)


def _newest(folder: Path, role: str, key: PartyKey) -> tuple[Path, VerifiedLedger]:
    """The numbered folder to write to and the ledger in it; a new one where the newest takes no more lines.

    Raises StateError where there are as many as there may be.
    """
    last = max((int(path.name) for path in numbered(folder)), default=0)
    if last:
        try:
            found = verify_ledger((folder / str(last) / LEDGER_FOLDER / f"{role}.jsonl").read_bytes(), key.public)
            if found.signed and len(found.entries) < MOST_LINES:
                return folder / str(last), found
        except (LedgerError, OSError):
            pass  # left for an audit to find
    if last >= MOST_FILES:
        raise StateError(
            "the ledgers of refusals are full",
            expected=f"up to {MOST_FILES} of {MOST_LINES} lines",
            got=f"{last}",
            cure=f"keep {FOLDER}/ elsewhere, and begin with an empty folder",
        )
    return folder / str(last + 1), new_ledger(role, key, f"{FOLDER}-{last + 1}", PROTOCOL)


def numbered(folder: Path) -> list[Path]:
    """The numbered folders in a folder of refusals, in order."""
    found = [path for path in folder.iterdir() if path.name.isascii() and path.name.isdigit() and path.is_dir()]
    return sorted(found, key=lambda path: int(path.name))


def find_refusal_ledgers(state: Path) -> list[Path]:
    """The ledgers of refusals in a role's state folder, in order; none where it never refused.

    Raises LedgerError where a number or a file is missing.
    """
    folder = state / FOLDER
    if not folder.is_dir():
        return []
    places = numbered(folder)
    numbers = [int(place.name) for place in places]
    ledgers = [sorted((place / LEDGER_FOLDER).glob("*.jsonl")) for place in places]
    if numbers != list(range(1, len(numbers) + 1)) or not all(ledgers):
        held = [number for number, found in zip(numbers, ledgers, strict=True) if found]
        raise LedgerError(
            "ledgers of refusals are missing",
            expected=f"{FOLDER}/1 up to the newest, each with its ledger",
            got=f"ledgers in {', '.join(map(str, held)) or 'none'}",
            cure="somebody removed them: ask who could write to the state folder, and restore it from a backup",
        )
    return [ledger for found in ledgers for ledger in found]
