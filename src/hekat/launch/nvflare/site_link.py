"""hekat.toml of a site's own NVIDIA FLARE installation: where Hekat's files of this site lie.

It lies in the folder `local` of the site's start-up kit, beside resources.json and privacy.json, or where the
environment variable HEKAT_NVFLARE says. A job never names it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from hekat.errors import JobError, KeyRefusedError, PolicyError
from hekat.job.section import check_format, read_toml
from hekat.launch.passphrase_file import read_passphrase_file
from hekat.state.file_format import FileFormat
from hekat.toml_text import toml_key, toml_text

LINK_FILE = "hekat.toml"
LINK_VARIABLE = "HEKAT_NVFLARE"
PIN_KEYS, PIN_KIT = "keys", "kit"
_STARTUP = "../startup"
LINK_FORMAT = FileFormat("NVIDIA FLARE link", ("0.3.0",))


@dataclass(frozen=True)
class SiteLink:
    """`site` is the site file, `runs` the folder of this site's runs. `keys` holds a key made for one run, where a
    launcher on this machine plays every site. `passphrase_file` opens a protected key file. `pin` "kit" asks every role
    for its kit's signature, by the root CA in `startup`; "keys" takes the keys of the approved job."""

    site: Path
    runs: Path
    keys: Path | None = None
    passphrase_file: Path | None = None
    pin: str = PIN_KEYS
    startup: Path = Path(_STARTUP)

    def read_passphrase(self) -> bytes:
        """The passphrase, without the line break at its end. Raises KeyRefusedError."""
        if self.passphrase_file is None:
            raise KeyRefusedError(
                "this site's key file is protected by a passphrase",
                expected=f"passphrase_file in {LINK_FILE}",
                got="none",
                cure=f"add passphrase_file = FILE (mode 600) to {LINK_FILE}",
            )
        return read_passphrase_file(self.passphrase_file)

    def to_text(self) -> str:
        """The file that `read_site_link` reads."""
        entries: dict[str, Path | None] = {
            "site": self.site,
            "runs": self.runs,
            "keys": self.keys,
            "passphrase_file": self.passphrase_file,
            "kit": self.startup,
        }
        lines = [f"{toml_key(name)} = {toml_text(str(path))}" for name, path in entries.items() if path is not None]
        lines.append(f"pin = {toml_text(self.pin)}")
        return "\n".join([f"format = {LINK_FORMAT.newest}", *lines, ""])


def find_site_link(local: Path, site: str) -> SiteLink:
    """The link of this installation: at HEKAT_NVFLARE, else in the kit's folder `local`.

    Where HEKAT_NVFLARE names a folder, several sites share this machine, and `site`.toml in it is this one's. Raises
    PolicyError where there is none, without a path of the site: engines pass on what a site logs.
    """
    named = os.environ.get(LINK_VARIABLE)
    path = local / LINK_FILE if not named else Path(named)
    if path.is_dir():
        path = path / f"{Path(site).name}.toml"
    if not path.is_file():
        raise PolicyError(
            "this site does not say where its site file lies",
            expected=f"{LINK_FILE} in the folder 'local' of the site's start-up kit, or at {LINK_VARIABLE}",
            got="no such file",
            cure=f'write {LINK_FILE}: format = 1, site = "/path/to/site.toml", runs = "/path/to/runs"',
        )
    return read_site_link(path)


def read_site_link(path: Path) -> SiteLink:
    """The link at `path`; paths in it are as seen from its folder. Raises JobError.

    It is the folder in which the file is named: where the file itself is a link, as in Kubernetes' config maps, too.
    """
    top = read_toml(path, LINK_FORMAT.kind)
    check_format(top, LINK_FORMAT)
    folder = path.absolute().parent
    site, runs = folder / top.take("site", str), folder / top.take("runs", str)
    keys, passphrase_file = top.take_optional("keys", str), top.take_optional("passphrase_file", str)
    pin, startup = top.take("pin", str, PIN_KEYS), folder / top.take("kit", str, _STARTUP)
    top.finish()
    if pin not in (PIN_KEYS, PIN_KIT):
        raise JobError(
            f"{LINK_FILE} pins by what there is not",
            expected=f'pin = "{PIN_KEYS}" or "{PIN_KIT}"',
            got=repr(pin),
            cure="correct it",
        )
    return SiteLink(site, runs, _within(folder, keys), _within(folder, passphrase_file), pin, startup)


def _within(folder: Path, name: str | None) -> Path | None:
    return None if name is None else folder / name
