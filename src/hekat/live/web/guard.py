"""Lets in only requests that a browser on this machine makes for the page itself, and those with the token.

Source of the headers' meaning: RFC 9110, RFC 6750, Fetch Metadata Request Headers (W3C), CSP Level 3 (W3C).
"""

from __future__ import annotations

from collections.abc import Mapping

from hekat.live.web.token import is_token

# A name that somebody else's server was given, to be turned to 127.0.0.1 later, is none of these (DNS rebinding).
# Ports are free: the page may be reached through a tunnel.
_HOSTS = frozenset(("127.0.0.1", "localhost"))
_SITES = frozenset(("same-origin", "none"))
_BEARER = "bearer "

ALWAYS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # One request a connection: none stays open that asks for nothing.
    "Connection": "close",
}
"""Headers of every answer."""


def refusal_of(method: str, headers: Mapping[str, str]) -> tuple[int, str] | None:
    """The status and the words with which a request is refused, whatever it asks for; None where it may go on.

    `headers` by lower-case name.
    """
    host = headers.get("host", "")
    if _name_of(host) not in _HOSTS:
        return 403, "ask for 127.0.0.1 or localhost"
    if headers.get("origin", f"http://{host}") != f"http://{host}":
        return 403, "another site's page may not ask"
    if headers.get("sec-fetch-site", "none") not in _SITES:
        return 403, "another site's page may not ask"
    if method not in ("GET", "HEAD"):
        return 405, "nothing can be changed here"
    return None


def has_token(headers: Mapping[str, str], token: str) -> bool:
    """Whether the request shows the token, as `Authorization: Bearer TOKEN`: a cookie would go to every port."""
    shown = headers.get("authorization", "")
    return shown[: len(_BEARER)].lower() == _BEARER and is_token(token, shown[len(_BEARER) :].strip())


def _name_of(host: str) -> str:
    name, colon, port = host.partition(":")
    return name.lower() if not colon or (port.isascii() and port.isdigit()) else ""
