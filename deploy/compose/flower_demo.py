"""Keys, site files and certificates of a demo with three hospitals on Flower, and the app that is run on them.

Both parts run inside of Hekat's image for the SuperLink, which has the tools: deploy/compose/prepare calls the first,
the service `operator` of flower.yml the second. The job and the app are those of examples/hospitals_flower.py, which
lies at /examples. In earnest each organisation makes its own keys and sends the public halves.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

sys.path.insert(0, os.environ.get("HEKAT_EXAMPLES", "/examples"))

from hospitals_flower import APP, HOSPITALS, JOB, command

SERVER, AGGREGATOR, PORT = "superlink", "aggregator", 8000
VALID_DAYS = 30

# Paths are as the containers see them: keys and this file read-only, the rest in `kept`.
SITE = """
format = 1

[party.{role}]
party_key = "{role}.key"
state = "/srv/hekat/kept/state"

[policy]
protocols = ["averaging"]
"""

CONNECTION = """
[superlink.hospitals]
address = "{server}:{port}"
root-certificates = "/operator/ca.crt"
"""


def make_certificates(folder: Path) -> bytes:
    """server.key and server.pem of a CA that is made for this and forgotten. Returns the CA's certificate."""
    authority, key = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hospitals' demo")])
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, SERVER)])
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in (SERVER, "localhost")]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in ("127.0.0.1", "0.0.0.0")]  # noqa: S104
    now = datetime.now(UTC)

    def sign(name: x509.Name, public: ec.EllipticCurvePublicKey, *extensions: x509.ExtensionType) -> bytes:
        made = x509.CertificateBuilder(issuer, name, public, x509.random_serial_number())
        made = made.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=VALID_DAYS))
        for one in extensions:
            made = made.add_extension(one, critical=isinstance(one, x509.BasicConstraints))
        return made.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    root = sign(issuer, authority.public_key(), x509.BasicConstraints(ca=True, path_length=0))
    folder.mkdir(parents=True)
    (folder / "ca.crt").write_bytes(root)
    (folder / "server.pem").write_bytes(sign(subject, key.public_key(), x509.SubjectAlternativeName(names)))
    (folder / "server.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return root


def make_node_key(folder: Path) -> bytes:
    """node.key, by which the SuperLink knows the SuperNode. Returns the public line."""
    key = ec.generate_private_key(ec.SECP384R1())
    folder.mkdir()
    (folder / "node.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption())
    )
    return key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)


def make_site(place: Path, role: str) -> str:
    """A party key of mode 600, a site file, and the folder that the role writes to. Returns the key's public line."""
    for folder in (place / "site" / "runs", place / "kept" / "runs", place / "kept" / "state"):
        folder.mkdir(parents=True)
    shown = json.loads(command("hekat", "keys", "party", place / "site" / f"{role}.key", "--json"))
    (place / "site" / "site.toml").write_text(SITE.format(role=role))
    return str(shown["in_party_keys"])


def prepare(folder: Path, rounds: int) -> None:
    """Fill `folder`, which is empty, with a folder for each place."""
    os.umask(0o077)
    places = {role: folder / role for role in HOSPITALS} | {AGGREGATOR: folder / SERVER}
    keys = "\n".join([make_site(place, role) for role, place in places.items()])
    text = JOB.format(parties=json.dumps(HOSPITALS), rounds=rounds, keys=keys)
    (places[AGGREGATOR] / "site" / "job.toml").write_text(text)
    root = make_certificates(places[AGGREGATOR] / "tls")
    operator = folder / "operator"
    operator.mkdir()
    (operator / "ca.crt").write_bytes(root)
    (operator / "rounds").write_text(str(rounds))
    for role in HOSPITALS:
        for name in ("job", "socket", "tls"):
            (places[role] / name).mkdir()
        (places[role] / "tls" / "ca.crt").write_bytes(root)
        (places[role] / "job" / "job.toml").write_text(text)
        (operator / f"{role}.pub").write_bytes(make_node_key(places[role] / "node") + b"\n")
        approve(places[role], role)


def approve(place: Path, role: str) -> None:
    """What a hospital says to the job that it has read; the site file names folders of the containers."""
    here = place / "site" / "here.toml"
    here.write_text(SITE.format(role=role).replace("/srv/hekat/kept/state", str(place / "kept" / "state")))
    command("hekat", "job", "approve", place / "job" / "job.toml", "--site", here)
    here.unlink()


def submit(operator: Path) -> None:
    """Tell the SuperLink the nodes' keys, and run the app to its end; each role's own word lies in its folder."""
    home = Path(os.environ["FLWR_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    command("flwr", "config", "list")  # makes the file
    with (home / "config.toml").open("a") as file:
        file.write(CONNECTION.format(server=SERVER, port=PORT))
    for role in HOSPITALS:
        command("flwr", "supernode", "register", operator / f"{role}.pub", "hospitals")
    app = Path("/tmp/app")  # noqa: S108 of this container alone
    shutil.copytree(APP, app)
    words = ["run", app, "hospitals", "--stream", "--run-config", f"rounds={(operator / 'rounds').read_text()}"]
    done = subprocess.run([Path(sys.executable).with_name("flwr"), *words])  # noqa: S603 the words are this script's
    raise SystemExit(done.returncode)


def main() -> None:
    parser = argparse.ArgumentParser(description="Prepare a demo of three hospitals in containers, or run its app.")
    actions = parser.add_subparsers(dest="action", required=True)
    making = actions.add_parser("prepare", help="keys, site files and certificates")
    making.add_argument("folder", type=Path)
    making.add_argument("--rounds", type=int, default=3)
    running = actions.add_parser("submit", help="register the nodes and run the app")
    running.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.action == "prepare":
        prepare(options.folder, options.rounds)
    else:
        submit(options.folder)


if __name__ == "__main__":
    main()
