"""`hekat doctor`: which engines are there, which is active and why, and what is missing with its cure."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
from contextlib import nullcontext
from pathlib import Path

from hekat.cli.exit_codes import ExitCode
from hekat.engine.cuda.kernel_cache import CACHE_VARIABLE
from hekat.engine.select import (
    DEFAULT_ENGINE,
    ENGINE_VARIABLE,
    GPU_PREFIX,
    READY,
    available_engines,
    get_engine,
)
from hekat.engine.table_memory import MEMORY_VARIABLE
from hekat.engine.tenancy import TENANCY_VARIABLE, declare_tenancy
from hekat.engine.workload import SCHEDULE_VARIABLE
from hekat.errors import EngineError
from hekat.job.approvals import approved_names
from hekat.job.site_file import Site, load_site
from hekat.launch.nvflare.kit_findings import describe_kit
from hekat.launch.nvflare.site_link import LINK_VARIABLE
from hekat.printable import printable
from hekat.run.file_formats import FORMATS

_PACKAGES = ("hekat", "numpy", "gmpy2", "cryptography", "msgpack", "scikit-learn", "rich")
_EXTRAS = {
    "report": ("matplotlib", "report.html with plots"),
    "nvflare": ("nvflare", "runs between sites of NVIDIA FLARE"),
}
_GPU_EXTRAS = {"cuda13": "cupy-cuda13x", "cuda12": "cupy-cuda12x"}
_VARIABLES = (
    ENGINE_VARIABLE,
    "HEKAT_THREADS",
    "HEKAT_CPU",
    MEMORY_VARIABLE,
    TENANCY_VARIABLE,
    SCHEDULE_VARIABLE,
    "HEKAT_CUDA_MIB",
    "HEKAT_CUDA_TABLE_MIB",
    CACHE_VARIABLE,
    LINK_VARIABLE,
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "doctor",
        help="what works on this machine, what is active and why",
        description="Engines, processor features, threads, GPU, packages, extras, formats of files. "
        "Exit code 2 where nothing can run.",
    )
    parser.add_argument("--site", type=Path, metavar="FILE", help="as a run under this site file would have it")
    parser.add_argument(
        "--kit", type=Path, metavar="FOLDER", help="start-up kit of NVIDIA FLARE at this site: what it lets jobs do"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(handle=run)


def run(options: argparse.Namespace) -> int:
    site = None if options.site is None else load_site(options.site)
    with nullcontext() if site is None else declare_tenancy(site.machine.single_tenant):
        findings = examine(options.site)
    if site is not None:
        findings["approved jobs"] = _describe_approvals(site)
    if options.kit is not None:
        findings["NVIDIA FLARE kit"] = describe_kit(options.kit)
    if options.json:
        sys.stdout.write(json.dumps(findings, indent=1) + "\n")
    else:
        for title, facts in findings.items():
            sys.stdout.write(f"{title}\n")
            for name, value in facts.items():
                sys.stdout.write(f"  {name:<20} {printable(value)}\n")
    works = findings["engines"][DEFAULT_ENGINE] == READY and "problem" not in findings["active engine"]
    return ExitCode.DONE if works else ExitCode.REFUSED


def examine(site: Path | None = None) -> dict[str, dict[str, str]]:
    """All findings by section; `site` is the file that has said whose machine this is."""
    engines = _describe_engines()
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    return {
        "machine": {"platform": platform.platform(), "cores": str(cores), "python": platform.python_version()},
        "engines": engines,
        "active engine": _describe_active_engine(site),
        "gpu": _describe_gpus(engines),
        "packages": {name: _version_of(name) for name in _PACKAGES},
        "extras": {name: _describe_extra(name) for name in _EXTRAS}
        | {name: _describe_gpu_extra(name) for name in _GPU_EXTRAS},
        "files": {form.kind: form.describe() for form in FORMATS},
        "variables": {name: os.environ.get(name, "not set") for name in _VARIABLES},
    }


def _describe_approvals(site: Site) -> dict[str, str]:
    """What each party of the site has approved, by its state folder."""
    return {
        name: "no state folder" if party.state is None else ", ".join(approved_names(party.state)) or "none"
        for name, party in site.parties.items()
    }


def _describe_engines() -> dict[str, str]:
    """Every engine's name, with `ready` or all there is to say of why it is not."""
    found = available_engines()
    for name in [name for name, state in found.items() if state != READY]:
        try:
            get_engine(name)
        except EngineError as error:
            found[name] = str(error)
    return found


def _describe_gpus(engines: dict[str, str]) -> dict[str, str]:
    """Whether each GPU can be used, or why not and how to get it; then what it is, what is resident, its load."""
    gpus = [name for name in engines if name.startswith(GPU_PREFIX)]
    found = {}
    for name in gpus:
        if engines[name] != READY:
            found[name] = f"not used: {engines[name]}"
            continue
        found[name] = f"ready; {ENGINE_VARIABLE}={name}, or x.to({name!r})"
        found |= {f"{name} {fact}": value for fact, value in get_engine(name).describe().items()}
    return found


def _describe_active_engine(site: Path | None) -> dict[str, str]:
    """The engine that runs would use; where there is none, the problem as `hekat run` tells it."""
    asked = os.environ.get(ENGINE_VARIABLE)
    why = f"{ENGINE_VARIABLE}={asked}" if asked else "the default"
    try:
        engine = get_engine()
    except EngineError as error:
        told = {"problem": error.what, "expected": error.expected, "got": error.got, "cure": error.cure}
        return {"name": f"none ({why})", **{name: text for name, text in told.items() if text}}
    decides = "none read: a run's own may say single_tenant, which changes randomiser tables (--site FILE)"
    return {"name": f"{engine.name} ({why})", **engine.describe(), "site file": str(site or decides)}


def _version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed; cure: pip install hekat"


def _describe_extra(name: str) -> str:
    module, purpose = _EXTRAS[name]
    if importlib.util.find_spec(module) is not None:
        return f"installed ({module} {importlib.metadata.version(module)}): {purpose}"
    return f"not installed: no {purpose}; cure: pip install 'hekat[{name}]'"


def _describe_gpu_extra(name: str) -> str:
    """What a run on a GPU needs besides the driver, by the CUDA that the driver runs."""
    package, purpose = _GPU_EXTRAS[name], f"GPUs, for a driver of CUDA {name.removeprefix('cuda')}"
    try:
        return f"installed ({package} {importlib.metadata.version(package)}): {purpose}"
    except importlib.metadata.PackageNotFoundError:
        return f"not installed: {purpose}; cure: pip install 'hekat[{name}]'"
