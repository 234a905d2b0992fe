"""`hekat keys`: makes and describes key files; never prints what is in them."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
from pathlib import Path

from cryptography.hazmat.primitives.hashes import SHA256
from rich.console import Console

from hekat.channel import PartyKey
from hekat.channel.party_key import is_party_key_file
from hekat.cli.new_file import write_new
from hekat.errors import InputError
from hekat.job.new.template_lines import toml_value
from hekat.launch.nvflare.kit_binding import bind_to_kit, load_root
from hekat.launch.nvflare.pinning import binding_path
from hekat.launch.passphrase_file import read_passphrase_file
from hekat.printable import printable
from hekat.scheme.paillier import generate_keys
from hekat.toml_text import toml_key
from hekat.wire.keyfile import describe_key_file, save_private_key, save_public_key


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "keys",
        help="make and describe key files",
        description="Key files are written once, readable by their owner alone, and never overwritten.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_generate(actions)
    _add_party(actions)
    _add_show(actions)
    _add_bind(actions)


def _add_generate(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser(
        "generate",
        help="make a Paillier key pair",
        description="Writes FILE (the private key, mode 600) and FILE.pub (the public key). 3072 bits take seconds.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="where the private key goes; must not exist")
    parser.add_argument("--bits", type=int, default=3072, help="size of the modulus (default 3072; at least 2048)")
    parser.add_argument("--passphrase", action="store_true", help="protect the private key; asks at the terminal")
    parser.add_argument("--passphrase-file", type=Path, help="protect the private key with the passphrase in this file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handle=generate)


def _add_party(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser(
        "party",
        help="make a party key (Ed25519), with which a party signs what it sends",
        description="Writes FILE (mode 600) and prints the public key that the other parties pin, and the line of "
        "[party_keys] in the job, where FILE is called as the party is.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="where the key goes; must not exist")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handle=make_party_key)


def _add_show(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser(
        "show",
        help="describe a key file: kind, bits, fingerprint, protection; of a party key the line that others pin",
        description="Says what a Paillier key file holds, without opening it: no passphrase is asked, no key is shown. "
        "The fingerprint is the same for a private key and its public key. Of a party key it prints what "
        "`hekat keys party` printed.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a file that `hekat keys` wrote")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handle=show)


def _add_bind(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser(
        "bind",
        help="tie a party key to the site's start-up kit of NVIDIA FLARE",
        description="Writes FILE.kit: the kit's private key signs the public party key, with its certificate beside. "
        'Sites with pin = "kit" play only with roles that show one of their project.',
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the party key that `hekat keys party` wrote")
    parser.add_argument(
        "--kit", type=Path, required=True, metavar="FOLDER", help="the folder startup of the site's kit"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handle=bind)


def generate(options: argparse.Namespace) -> int:
    passphrase = _new_passphrase(options)
    public_file = options.file.with_name(options.file.name + ".pub")
    _check_new(options.file, public_file)
    console = Console(stderr=True)
    with console.status("looking for two primes") as status:
        pair = generate_keys(
            options.bits,
            progress=lambda tried, found: status.update(f"looking for two primes: {found} found, {tried} tried"),
        )
    save_private_key(options.file, pair.private, passphrase)
    save_public_key(public_file, pair.public)
    facts = {"private": str(options.file), "public": str(public_file), "bits": pair.public.bits}
    _print({**facts, "fingerprint": pair.public.fingerprint}, as_json=options.json)
    return 0


def make_party_key(options: argparse.Namespace) -> int:
    key = PartyKey.generate()
    key.save(options.file)
    _show_party_key(options, key)
    return 0


def show(options: argparse.Namespace) -> int:
    if is_party_key_file(options.file):
        _show_party_key(options, PartyKey.load(options.file))
    else:
        _print(dict(describe_key_file(options.file)), as_json=options.json)
    return 0


def bind(options: argparse.Namespace) -> int:
    key = PartyKey.load(options.file)
    path = binding_path(options.file)
    _check_new(path)
    site, binding = bind_to_kit(options.kit, key.public)
    write_new(path, binding.encode().encode(), force=False)
    root = load_root(options.kit).fingerprint(SHA256()).hex(":")
    _print({"binding": str(path), "site": site, "root_ca_sha256": root}, as_json=options.json)
    return 0


def _show_party_key(options: argparse.Namespace, key: PartyKey) -> None:
    line = f"{toml_key(options.file.stem)} = {toml_value(key.pin)}"
    facts = {"private": str(options.file), "pin": key.pin, "fingerprint": key.fingerprint}
    _print({**facts, "in_party_keys": line}, as_json=options.json)


def _check_new(*paths: Path) -> None:
    """Refuse before the search for primes what could not be written after it."""
    for path in paths:
        if os.path.lexists(path):
            raise InputError(
                f"{path} exists", expected="a new file", got="one that is there", cure="choose another name"
            )
        if not path.parent.is_dir():
            raise InputError(
                f"the folder {path.parent} is not there",
                expected="a folder that exists",
                got="none",
                cure="make it first",
            )


def _new_passphrase(options: argparse.Namespace) -> bytes | None:
    if options.passphrase_file is not None:
        passphrase = read_passphrase_file(options.passphrase_file)
    elif options.passphrase:
        passphrase = getpass.getpass("passphrase: ").encode()
        if getpass.getpass("again: ").encode() != passphrase:
            raise InputError("the passphrases differ", expected="the same twice", got="two", cure="try again")
    else:
        return None
    if not passphrase:
        raise InputError("an empty passphrase", expected="a passphrase", got="nothing", cure="type one")
    return passphrase


def _print(facts: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(facts, indent=1) + "\n")
        return
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        sys.stdout.write(f"{name.replace('_', ' '):<{width}}  {printable(value)}\n")
