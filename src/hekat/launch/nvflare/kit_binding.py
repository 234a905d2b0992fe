"""A party key tied to a site's start-up kit: signed by the kit's private key, checked by certificate up to the root CA.

Whoever holds the project's root CA can make a certificate for any name: a binding says what that CA vouches for.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import NameOID

from hekat.channel import PartyPublicKey
from hekat.channel.canonical import encode_fields
from hekat.disk_errors import read_file
from hekat.errors import KeyRefusedError

ROOT_FILE = "rootCA.pem"
MIN_RSA_BITS = 2048
_PURPOSE = b"hekat/party-key-of-site/1"
_FORMAT = 1
_KITS = (("client.crt", "client.key"), ("server.crt", "server.key"))
_PSS = padding.PSS(padding.MGF1(SHA256()), SHA256.digest_size)


@dataclass(frozen=True)
class KitBinding:
    """`certificate` is the site's, in PEM; `signature` is the certified key's, in base64."""

    party_key: str
    certificate: str
    signature: str

    def encode(self) -> str:
        """One JSON text."""
        return json.dumps({"format": _FORMAT, **asdict(self)}, indent=1)

    @classmethod
    def decode(cls, text: str | bytes) -> KitBinding:
        """What `encode` gave. Raises KeyRefusedError for anything else."""
        try:
            content = json.loads(text)
            if content.pop("format") != _FORMAT or not all(isinstance(value, str) for value in content.values()):
                raise ValueError
            return cls(**content)
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            raise _refusal("no binding of a party key", "what `hekat keys bind` writes") from None


def bind_to_kit(startup: Path, party_key: PartyPublicKey) -> tuple[str, KitBinding]:
    """The site's name by its certificate, and a binding of `party_key` by the kit's private key.

    `startup` is the kit's folder with certificate, key and rootCA.pem. Raises KeyRefusedError, StateError.
    """
    names = next(((crt, key) for crt, key in _KITS if (startup / crt).is_file()), None)
    if names is None:
        raise KeyRefusedError(
            "this is no start-up folder of a kit",
            expected=f"{_KITS[0][0]}, {_KITS[0][1]} and {ROOT_FILE}",
            got="no certificate of a site",
            cure="give the folder 'startup' of the site's own kit",
        )
    certificate = _load_certificate(read_file(startup / names[0]))
    root = load_root(startup)
    site = _site_of(certificate)
    try:
        private = load_pem_private_key(read_file(startup / names[1]), None)
    except (ValueError, TypeError):
        private = None
    if not isinstance(private, rsa.RSAPrivateKey):
        raise _refusal(f"no RSA key in {names[1]}", "the kit's private key, without a passphrase")
    signature = private.sign(_signed_bytes(_name_of(root), site, party_key), _PSS, SHA256())
    pem = certificate.public_bytes(Encoding.PEM).decode()
    binding = KitBinding(party_key.text, pem, base64.b64encode(signature).decode())
    check_binding(binding, root, site, party_key)
    return site, binding


def load_root(startup: Path) -> x509.Certificate:
    """The root CA of this site's kit. Raises KeyRefusedError, StateError."""
    return _load_certificate(read_file(startup / ROOT_FILE))


def check_binding(
    binding: KitBinding, root: x509.Certificate, site: str, party_key: PartyPublicKey, now: datetime | None = None
) -> None:
    """Raise KeyRefusedError unless the kit of `site`, certified by `root`, signed for `party_key`; `now` is UTC."""
    moment = now or datetime.now(UTC)
    certificate = _load_certificate(binding.certificate.encode())
    try:
        certificate.verify_directly_issued_by(root)
    except (ValueError, TypeError, InvalidSignature):
        raise _refusal("a certificate of another project", "one that the own kit's root CA issued") from None
    for one in (certificate, root):
        if not one.not_valid_before_utc <= moment <= one.not_valid_after_utc:
            raise _refusal("a certificate out of its time", "one that is valid today", "renew the kit, and bind again")
    if _site_of(certificate) != site:
        raise _refusal(f"the certificate of {_site_of(certificate)[:64]!r}", f"the certificate of {site!r}")
    if binding.party_key != party_key.text:
        raise _refusal("a binding of another party key", f"key {party_key.fingerprint}, which the job names")
    public = certificate.public_key()
    if not isinstance(public, rsa.RSAPublicKey) or public.key_size < MIN_RSA_BITS:
        raise _refusal("a certificate of another kind of key", f"RSA of at least {MIN_RSA_BITS} bits")
    try:
        signature = base64.b64decode(binding.signature, validate=True)
        public.verify(signature, _signed_bytes(_name_of(root), site, party_key), _PSS, SHA256())
    except (ValueError, InvalidSignature):
        raise _refusal("a signature that does not hold", "the kit's signature of the party key") from None


def _signed_bytes(project: str, site: str, party_key: PartyPublicKey) -> bytes:
    return encode_fields(_PURPOSE, project.encode(), site.encode(), party_key.raw)


def _load_certificate(data: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(data)
    except ValueError:
        raise _refusal("no certificate", "an X.509 certificate in PEM") from None


def _site_of(certificate: x509.Certificate) -> str:
    """The site's name. Raises KeyRefusedError for the certificate of a CA: a CA is no site."""
    try:
        is_authority = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        is_authority = False
    if is_authority:
        raise _refusal("the certificate of a CA", "the certificate of a site")
    return _name_of(certificate)


def _name_of(certificate: x509.Certificate) -> str:
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if len(names) != 1 or not isinstance(names[0].value, str):
        raise _refusal("a certificate without one common name", "a common name, the site's")
    return names[0].value


def _refusal(got: str, expected: str, cure: str = "") -> KeyRefusedError:
    return KeyRefusedError(
        "a party key is not tied to the site's start-up kit",
        expected=expected,
        got=got,
        cure=cure or "ask that site to run `hekat keys bind` anew, with the kit of this project",
    )
