"""Which keys the readers of job and site files ask for, with type and default: recorded while they read small files."""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hekat.channel import PartyKey
from hekat.job.averaging.job_file import load_averaging_job
from hekat.job.encrypted_model.job_file import load_encrypted_model_job
from hekat.job.horizontal.job_file import load_job
from hekat.job.horizontal_trees.job_file import load_row_trees_job
from hekat.job.policy.site_lines import SitePolicy
from hekat.job.psi.job_file import load_intersection_job
from hekat.job.section import Section
from hekat.job.site_file import load_site
from hekat.job.vertical_linear.job_file import load_vertical_job
from hekat.job.vertical_network.job_file import load_network_job
from hekat.job.vertical_trees.job_file import load_trees_job
from hekat.protocol.secure_sum.masked.opening.release_record import OTHER_SUMS_ACCEPTED
from hekat.protocol.vertical_network.settings import ROTATION_ACCEPTED

REQUIRED = "required"
_KINDS = {str: "text", int: "whole number", float: "number", bool: "true or false", list: "list", dict: "table"}
_KINDS_OF_METHODS = {
    "take_texts": "list of texts",
    "take_optional_texts": "list of texts",
    "take_optional_text_or_texts": "text or list of texts",
    "take_optional_text_or_number": "text or number",
    "take_whole_numbers": "list of whole numbers",
    "take_choice": "text",
}
_METHODS = ("take", "take_optional", *_KINDS_OF_METHODS)
# Names that a small file gives, and what stands for them in the reference. Common data and models are read as a
# party's own are.
_GIVEN = (
    (r"^columns\.town", "columns.NAME"),
    (r"^network\.(host_widths|bottoms)\.south", r"network.\1.NAME"),
    (r"^party_keys\.\w+", "party_keys.ROLE"),
    (r"optimiser_settings\.rho", "optimiser_settings.SETTING"),
    (r"^common_data\.(\w+)", r"data.\1"),
    (r"^party\.north\.data\.(\w+)", r"data.\1"),
    (r"^(party\.north\.model|common_models)\.net", "model"),
    (r"^privacy\.(moments|bounds)\.\w+", r"privacy.\1.COLUMN"),
    (r"^party\.north\.other_sums\.\w+", "party.NAME.other_sums.DIGEST"),
    (r"^party\.north", "party.NAME"),
)


@dataclass(frozen=True)
class Key:
    """One key: `place` is its path with dots, `default` a TOML value, "" where it has none, or REQUIRED."""

    place: str
    kind: str
    default: str


def recorded_keys() -> dict[str, dict[str, Key]]:
    """By file, such as vertical_trees or site, and by place, in the order of reading."""
    with tempfile.TemporaryDirectory() as folder:
        found = {name: _record(Path(folder) / f"{name}.toml", *file) for name, file in _files().items()}
        # Much of what the small job says is refused beside this section.
        private = _record(Path(folder) / "private.toml", _PRIVATE_JOB, load_job)
        found["horizontal"] |= {place: key for place, key in private.items() if place.startswith("privacy.")}
    policy = SitePolicy()
    for place, key in found["site"].items():
        name = place.removeprefix("policy.")
        if name != place and not key.default and getattr(policy, name) is not None:
            found["site"][place] = Key(place, key.kind, _toml(getattr(policy, name)))
    return found


def _record(path: Path, text: str, load: Callable[[Path], Any]) -> dict[str, Key]:
    path.write_text(text, encoding="utf-8")
    found: dict[str, Key] = {}
    with _recording(found):
        load(path)
    return found


@contextmanager
def _recording(found: dict[str, Key]) -> Iterator[None]:
    """Every key that a Section is asked for while this lasts; a method that calls another one counts once."""
    kept = {name: getattr(Section, name) for name in _METHODS}
    depth = 0

    def recorder(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def recording(self: Section, key: str, *arguments: Any, **named: Any) -> Any:
            nonlocal depth
            kind = arguments[0] if arguments else named.get("kind", str)
            if depth == 0 and not (name == "take" and kind is dict and arguments[1:] == ({},) and key != "arguments"):
                place = _named(f"{self.place}.{key}" if self.place else key)
                found.setdefault(place, Key(place, _kind(name, kind), _default(name, arguments)))
            depth += 1
            try:
                return method(self, key, *arguments, **named)
            finally:
                depth -= 1

        return recording

    for name, method in kept.items():
        setattr(Section, name, recorder(name, method))
    try:
        yield
    finally:
        for name, method in kept.items():
            setattr(Section, name, method)


def _named(place: str) -> str:
    for given, name in _GIVEN:
        place = re.sub(given, name, place)
    return place


def _kind(method: str, kind: Any) -> str:
    return _KINDS_OF_METHODS.get(method) or _KINDS[kind]


def _default(method: str, arguments: tuple[Any, ...]) -> str:
    if method == "take_choice":
        return _toml(arguments[0][0])
    if method == "take_texts":
        return REQUIRED
    if method == "take_whole_numbers":
        return "[]"
    if method != "take":
        return ""
    return REQUIRED if len(arguments) < 2 or arguments[1] is None else _toml(arguments[1])


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\t", "\\t") + '"'
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_toml, value))}]"
    return "{}" if value == {} else f"{value:g}" if isinstance(value, float) else str(value)


def _files() -> dict[str, tuple[str, Callable[[Path], Any]]]:
    """A small file of each kind, with what has to be said before a key is asked for."""
    head = 'format = 2\nname = "small"\nprotocol = "{protocol}"\n'
    columns = '[columns.town]\ncategories = ["Bonn"]\n'
    guest = 'guest = "north"\nhosts = ["south"]\ndata = "visits"\n'
    keys = {name: f"[party_keys]\n{_pins(roles)}" for name, roles in _ROLES.items()}
    sources = "".join(
        f'[party.north.data.{kind}]\nsource = "{kind}"\n{options}\n' for kind, options in _SOURCES.items()
    )
    budget = '[party.north.privacy]\ndata_set = "patients"\ndelta = 1e-6\nepsilon = 8.0\n'
    said = f'[party.north.other_sums]\n"{"0" * 64}" = "{OTHER_SUMS_ACCEPTED}"\n'
    model = '[{place}]\nfunction = "net:build"\n'
    return {
        "horizontal": (
            head.format(protocol="horizontal")
            + 'parties = ["north", "south", "east"]\naggregator = "hub"\ndata = "visits"\nclasses = ["no", "yes"]\n'
            + 'weight_max = 10\n[protection]\nmasked = 0.5\n[training]\nalgorithm = "fedprox"\noptimiser = "rmsprop"\n'
            + f"[training.optimiser_settings]\nrho = 0.9\n[validation]\nhold_out = 0.2\n{columns}{keys['horizontal']}",
            load_job,
        ),
        "horizontal_trees": (
            head.format(protocol="horizontal_trees")
            + 'parties = ["north", "south", "east"]\naggregator = "hub"\ndata = "visits"\nclasses = ["no", "yes"]\n'
            + f"weight_max = 10\n{columns}[privacy]\ndelta = 1e-6\nnoise = 1.0\n[privacy.bounds]\nage = [18, 100]\n"
            + keys["horizontal_trees"],
            load_row_trees_job,
        ),
        "encrypted_model": (
            head.format(protocol="encrypted_model")
            + 'hosts = ["north", "south"]\nowner = "lab"\naggregator = "hub"\narbiter = "judge"\ndata = "visits"\n'
            + 'classes = ["no", "yes"]\nallow_two_parties = true\n[protection]\nkind = "paillier"\n'
            + f"{columns}{keys['encrypted_model']}",
            load_encrypted_model_job,
        ),
        "vertical_linear": (
            head.format(protocol="vertical_linear")
            + f'{guest}arbiter = "judge"\nclasses = ["no", "yes"]\n'
            + '[training]\noptimiser = "rmsprop"\n[training.optimiser_settings]\nrho = 0.9\n'
            + f"{columns}{keys['vertical_linear']}",
            load_vertical_job,
        ),
        "vertical_trees": (
            head.format(protocol="vertical_trees")
            + f'{guest}classes = ["no", "yes"]\n[protection]\nkind = "paillier"\n{columns}{keys["vertical_trees"]}',
            load_trees_job,
        ),
        "vertical_network": (
            head.format(protocol="vertical_network")
            + f'{guest}classes = ["no", "yes"]\n[column_leak]\naccepted = "{ROTATION_ACCEPTED}"\n'
            + '[network.host_widths]\nsouth = 16\n[network.bottoms]\nsouth = "net"\n'
            + f"{columns}{keys['vertical_network']}",
            load_network_job,
        ),
        "averaging": (
            head.format(protocol="averaging")
            + f'parties = ["north", "south", "east"]\nrounds = 2\n{keys["averaging"]}',
            load_averaging_job,
        ),
        "psi": (head.format(protocol="psi") + guest + keys["psi"], load_intersection_job),
        "site": (
            f'format = 1\n{sources}{said}{budget}[common_data.csv]\nsource = "csv"\npath = "t.csv"\n'
            + model.format(place="party.north.model.net")
            + model.format(place="common_models.net"),
            load_site,
        ),
    }


_PRIVATE_JOB = (
    'format = 2\nname = "small"\nprotocol = "horizontal"\nparties = ["north", "south", "east"]\naggregator = "hub"\n'
    'data = "visits"\nclasses = ["no", "yes"]\nweight_max = 10\n[privacy]\nunit = "row"\nclip = 1.0\ndelta = 1e-6\n'
    "noise = 1.0\ndivisor = 30\n[privacy.moments]\nage = [50.0, 20.0]\n"
)
_SOURCES = {
    "csv": 'path = "a.csv"',
    "parquet": 'path = "a.parquet"',
    "sql": 'url = "sqlite:///a.db"',
    "excel": 'path = "a.xlsx"',
    "libsvm": 'path = "a.libsvm"\ncolumns = 3',
    "npz": 'path = "a.npz"',
    "npy": 'features = "a.npy"',
    "python": 'function = "a:rows"',
}
_ROLES = {
    "horizontal": ("north", "south", "east", "hub"),
    "horizontal_trees": ("north", "south", "east", "hub"),
    "encrypted_model": ("north", "south", "lab", "hub", "judge"),
    "vertical_linear": ("north", "south", "judge"),
    "vertical_trees": ("north", "south"),
    "vertical_network": ("north", "south"),
    "psi": ("north", "south"),
    "averaging": ("north", "south", "east", "aggregator"),
}


def _pins(roles: tuple[str, ...]) -> str:
    return "".join(f'{role} = "{PartyKey.generate().pin}"\n' for role in roles)
