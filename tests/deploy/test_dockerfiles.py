"""The Dockerfiles of the roles: confined, of this release, with a check of health that this tree has."""

from __future__ import annotations

import fnmatch
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.deploy.deployed import (
    DEPLOY,
    DOCKERFILES,
    HEALTH,
    PROJECT,
    ROOT,
    instructions_of,
    last_stage,
    load_script,
    subcommands,
    words_of,
)
from tests.deploy.rules import break_of_dockerfile

ROLES = {"nvflare-server", "nvflare-site", "flower-superlink", "flower-supernode", "party"}
# A line that keeps to a rule, what stands in its place, and the rule that is then broken.
BROKEN = [
    ("USER 10001:10001", "USER 0:0", "the user is no root"),
    ("USER 10001:10001", "USER root", "the user is no root"),
    ("USER 10001:10001", "", "the user is no root"),
    ("USER 10001:10001", "USER 10001:10001\nRUN pip install hekat", "nothing is installed after USER"),
    ("HEALTHCHECK", "# HEALTHCHECK", "health is asked"),
    ("python:3.11-slim-bookworm", "python:latest", "the base has a tag or a digest that stays"),
    ("python:3.11-slim-bookworm", "python", "the base has a tag or a digest that stays"),
    ("ARG EXTRAS=", "ARG EXTRAS=no-such-extra,", "the extras are the project's"),
    ("HOME=/tmp", "HOME=/tmp API_TOKEN=1", "no secret stands in the environment"),
    (f'version="{PROJECT["version"]}"', 'version="0.0.1"', "the release is the project's"),
    ("RUN groupadd", "RUN apt-get install g++ && groupadd", "no compiler is in the image"),
    ("RUN groupadd", "RUN curl http://example.org && groupadd", "nothing is fetched by hand"),
]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def waits_for_flower(text: str) -> bool:
    return "EXTRAS=flower" in text and "flower" not in PROJECT["optional-dependencies"]


def test_each_role_has_a_dockerfile() -> None:
    assert {path.name.removesuffix(".Dockerfile") for path in DOCKERFILES} == ROLES


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_an_image_keeps_every_rule(path: Path) -> None:
    text = text_of(path)
    if waits_for_flower(text):
        pytest.skip("this tree has no extra flower")
    assert break_of_dockerfile(text) == set()


@pytest.mark.parametrize(("good", "bad", "rule"), BROKEN, ids=[f"{rule}: {bad}" for _, bad, rule in BROKEN])
def test_a_dockerfile_that_breaks_a_rule_is_found(good: str, bad: str, rule: str) -> None:
    text = text_of(DEPLOY / "images" / "nvflare-site.Dockerfile")
    assert good in text
    assert break_of_dockerfile(text.replace(good, bad, 1)) == {rule}


def test_hadolint_has_nothing_to_say() -> None:
    if importlib.util.find_spec("hadolint") is None and not Path(sys.executable).with_name("hadolint").is_file():
        pytest.skip("needs hekat[dev] on Linux")
    words = [Path(sys.executable).with_name("hadolint"), *DOCKERFILES]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_all_images_compile_the_same_wheel_once() -> None:
    stages = {text_of(path).partition("\n")[2].partition("FROM wheel AS install")[0] for path in DOCKERFILES}
    assert len(stages) == 1


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_what_a_dockerfile_copies_is_in_its_context(path: Path) -> None:
    copied = [
        name
        for word, rest in instructions_of(text_of(path))
        if word == "COPY" and "--from" not in rest
        for name in rest.split()[:-1]
    ]
    let_in = [line[1:] for line in text_of(ROOT / ".dockerignore").splitlines() if line.startswith("!")]
    assert all((ROOT / name).exists() for name in copied)
    assert [name for name in copied if not any(fnmatch.fnmatch(name, pattern) for pattern in let_in)] == []


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_the_commands_of_an_image_are_there(path: Path) -> None:
    command = words_of(last_stage(instructions_of(text_of(path))), "CMD")
    if command[0] == "hekat" and command[1] == "party" and "party" not in subcommands():
        pytest.skip("this tree has no hekat party")
    assert command[0] in ("bash", "hekat", "flower-superlink", "flower-supernode")
    if command[0] == "hekat":
        from hekat.cli.main import build_parser

        build_parser().parse_args(command[1:])


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_the_check_of_health_is_one_that_health_py_takes(path: Path) -> None:
    words = words_of(last_stage(instructions_of(text_of(path))), "HEALTHCHECK")
    assert words[:3] == ["python3", "-I", HEALTH]
    load_script("images/health.py").build_parser().parse_args(words[3:])


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_pins_keep_to_the_ranges_of_what_an_image_installs(path: Path) -> None:
    text = text_of(path)
    if waits_for_flower(text):
        pytest.skip("this tree has no extra flower")
    [extras] = re.findall(r"^ARG EXTRAS=(\S+)$", text, re.MULTILINE)
    pins = dict(line.split("==") for line in text_of(ROOT / "constraints.txt").splitlines() if "==" in line)
    told = PROJECT["optional-dependencies"]
    needed = [
        Requirement(one)
        for part in (PROJECT["dependencies"], *(told[name] for name in extras.split(",")))
        for one in part
    ]
    assert "COPY constraints.txt /pins.txt\n" in text
    assert [one.name for one in needed if not one.specifier.contains(pins[one.name])] == []
