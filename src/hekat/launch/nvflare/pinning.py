"""`pin = "kit"` of hekat.toml: this site plays only with roles whose party keys their start-up kits signed for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hekat.channel import PartyPublicKey
from hekat.disk_errors import read_file
from hekat.errors import KeyRefusedError
from hekat.job.site_file import Site
from hekat.launch.nvflare.kit_binding import KitBinding, check_binding, load_root
from hekat.launch.nvflare.order import SERVER
from hekat.launch.nvflare.site_link import PIN_KIT, SiteLink

BINDING_SUFFIX = ".kit"
_CLIENT_FILE = "fed_client.json"


def binding_path(party_key: Path) -> Path:
    """Where the binding of the party key in the file `party_key` lies."""
    return party_key.with_name(party_key.name + BINDING_SUFFIX)


def own_binding(site: Site, role: str) -> str:
    """The binding beside the role's party key; "" where there is none. Raises StateError."""
    held = site.parties.get(role)
    if held is None or held.party_key is None or not binding_path(held.party_key).is_file():
        return ""
    return read_file(binding_path(held.party_key)).decode("utf-8", "replace")


@dataclass(frozen=True)
class KitPins:
    """What a site that pins by kits holds others to: `keys` of the job, `sites` of the order."""

    link: SiteLink
    sites: Mapping[str, str]
    keys: Mapping[str, PartyPublicKey]

    def check(self, role: str, binding: str) -> None:
        """Raise KeyRefusedError unless the kit of the role's site signed for the role's key, or this site pins by keys
        alone: then the approved job says who is who."""
        if self.link.pin != PIN_KIT:
            return
        if not binding:
            raise KeyRefusedError(
                f"{role!r} shows no binding of its party key to a start-up kit",
                expected='a binding: this site has pin = "kit"',
                got="none",
                cure="have that site run: hekat keys bind KEY --kit STARTUP",
            )
        site = self.sites[role]
        name = self._server_name() if site == SERVER else site
        check_binding(KitBinding.decode(binding), load_root(self.link.startup), name, self.keys[role])

    def _server_name(self) -> str:
        """The server's name in its certificate, by this site's own kit."""
        try:
            name = json.loads(read_file(self.link.startup / _CLIENT_FILE))["servers"][0]["identity"]
        except (ValueError, RecursionError, KeyError, IndexError, TypeError):
            name = None
        if not isinstance(name, str) or not name:
            raise KeyRefusedError(
                "this site's kit does not name the server",
                expected=f"servers[0].identity in {_CLIENT_FILE}",
                got="none",
                cure='name the folder startup of this site\'s kit by kit = "..." in hekat.toml',
            )
        return name
