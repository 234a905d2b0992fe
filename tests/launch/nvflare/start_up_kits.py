"""Start-up folders as NVIDIA FLARE provisions them: a root CA, and a certificate with the site's name."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

NOW = datetime.now(UTC)


@cache
def rsa_key(name: str, bits: int = 2048) -> RSAPrivateKey:
    """A key for each name, made once."""
    return generate_private_key(65537, bits)


def certify(
    name: str, key: RSAPrivateKey, issuer: str, issuer_key: RSAPrivateKey, *, days: int = 30, is_authority: bool = False
) -> x509.Certificate:
    """A certificate from yesterday until in `days` days."""
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=abs(days) + 2))
        .not_valid_after(NOW + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .sign(issuer_key, SHA256())
    )


def root_of(project: str, key_name: str = "", *, days: int = 30) -> x509.Certificate:
    key = rsa_key(key_name or project)
    return certify(project, key, project, key, days=days, is_authority=True)


def write_kit(
    folder: Path, site: str, project: str = "clinics", *, root_key: str = "", days: int = 30, bits: int = 2048
) -> Path:
    """The folder startup of `site`'s kit."""
    startup = folder / "startup"
    startup.mkdir(parents=True)
    key = rsa_key(site, bits)
    kind = "server" if site == "server" else "client"
    certificate = certify(site, key, project, rsa_key(root_key or project), days=days)
    (startup / f"{kind}.crt").write_bytes(certificate.public_bytes(Encoding.PEM))
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    (startup / f"{kind}.key").write_bytes(pem)
    (startup / "rootCA.pem").write_bytes(root_of(project, root_key).public_bytes(Encoding.PEM))
    (startup / "fed_client.json").write_text(json.dumps({"servers": [{"identity": "server"}]}))
    return startup
