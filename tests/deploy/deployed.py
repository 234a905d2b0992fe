"""Reads what deploy/ holds: instructions of Dockerfiles, services of compose files, objects of Kubernetes."""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from hekat.cli.main import build_parser

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILES = sorted((DEPLOY / "images").glob("*.Dockerfile"))
COMPOSE_FILES = sorted((DEPLOY / "compose").glob("*.yml"))
KUSTOMIZATIONS = sorted((DEPLOY / "kubernetes").glob("*/kustomization.yaml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEALTH = "/opt/hekat/health.py"

Instruction = tuple[str, str]


def instructions_of(text: str) -> list[Instruction]:
    """(word in capitals, the rest on one line) of a Dockerfile, without comments."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found = (line.strip().partition(" ") for line in joined.splitlines() if line.strip())
    return [(word.upper(), rest.strip()) for word, _, rest in found]


def last_stage(instructions: list[Instruction]) -> list[Instruction]:
    """What the image itself is made by: from the last FROM on."""
    start = max(number for number, (word, _) in enumerate(instructions) if word == "FROM")
    return instructions[start:]


def words_of(instructions: list[Instruction], wanted: str) -> list[str]:
    """The last HEALTHCHECK's or CMD's words, which stand in the form of a list."""
    rest = [rest for word, rest in instructions if word == wanted][-1]
    return [str(word) for word in json.loads(rest[rest.index("[") :])]


def services_of(path: Path) -> dict[str, dict[str, Any]]:
    """The services by name, with anchors and merges resolved."""
    read: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))["services"]
    return read


def objects_of(kustomization: Path) -> list[dict[str, Any]]:
    """Every object that the folder deploys."""
    listed = yaml.safe_load(kustomization.read_text(encoding="utf-8"))["resources"]
    texts = (kustomization.with_name(name).read_text(encoding="utf-8") for name in listed)
    return [found for text in texts for found in yaml.safe_load_all(text)]


def pods_of(objects: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What each workload makes pods by."""
    for found in objects:
        if "template" in found.get("spec", {}):
            yield found["spec"]["template"]["spec"]


def containers_of(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod.get("initContainers", ()), *pod["containers"]]


def image_name(image: str) -> str:
    """The Dockerfile's name for an image such as hekat/party:0.2.0."""
    return image.partition("/")[2].partition(":")[0]


def subcommands() -> set[str]:
    """The commands that `hekat` has."""
    actions = build_parser()._actions
    return {name for action in actions if isinstance(action, argparse._SubParsersAction) for name in action.choices}


def load_script(name: str) -> ModuleType:
    """A script of deploy/ as a module."""
    spec = importlib.util.spec_from_file_location(Path(name).stem, DEPLOY / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
