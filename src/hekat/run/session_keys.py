"""The keys that roles sign with in one run, and the file that tells their public halves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from hekat.channel import PartyKey, PartyPublicKey
from hekat.protocol.role_session import PARTIES_FILE
from hekat.state import replace_file


def session_keys(kept: Mapping[str, PartyKey], names: Iterable[str]) -> dict[str, PartyKey]:
    """Each role's key: the one that its site keeps, else one made for the run."""
    return {name: kept.get(name) or PartyKey.generate() for name in names}


def write_public_keys(run_folder: Path, keys: Mapping[str, PartyKey]) -> dict[str, PartyPublicKey]:
    """Write parties.json, by which ledgers are audited; returns what it holds. Raises StateError."""
    public = {name: key.public for name, key in keys.items()}
    save_public_keys(run_folder, public)
    return public


def save_public_keys(folder: Path, public: Mapping[str, PartyPublicKey], *, mode: int = 0o644) -> None:
    """Write parties.json into `folder`: every role's public key as text. Raises StateError."""
    texts = {name: key.text for name, key in public.items()}
    replace_file(folder / PARTIES_FILE, json.dumps(texts, indent=1).encode(), mode=mode)
