"""The compose files: every service confined, hospitals that reach only their server, ports and images that fit."""

from __future__ import annotations

import copy
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.deployed import (
    COMPOSE_FILES,
    DEPLOY,
    DOCKERFILES,
    HEALTH,
    ROOT,
    image_name,
    instructions_of,
    last_stage,
    load_script,
    services_of,
    subcommands,
    words_of,
)
from tests.deploy.rules import break_of_service

HOSPITALS = {"northside", "lakeview", "county"}
SERVER = {"nvflare.yml": "server", "flower.yml": "superlink"}
SERVICES = [pytest.param(path, name, id=f"{path.name} {name}") for path in COMPOSE_FILES for name in services_of(path)]
# What is changed in a good service, and the rule that is then broken.
BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"read_only": False}, "the root is read-only"),
    ({"cap_drop": ["NET_RAW"]}, "no capability is left"),
    ({"cap_add": ["SYS_ADMIN"]}, "no capability is left"),
    ({"security_opt": []}, "privileges stay as they are"),
    ({"privileged": True}, "it is not privileged"),
    ({"user": "root"}, "the user is named"),
    ({"user": "${HEKAT_UID:-0}:${HEKAT_GID:-0}"}, "the user is named"),
    ({"tmpfs": []}, "scratch is memory"),
    ({"image": "hekat/nvflare-site:latest"}, "the image has the project's release"),
    ({"ports": ["8002:8002"]}, "no port of the host is open"),
    ({"volumes": ["/var/run/docker.sock:/d:ro", "/var/run/docker.sock:/e:ro"]}, "the engine's socket stays outside"),
    ({"volumes": ["./north:/kit"]}, "what is mounted is read-only but for what the role keeps"),
    ({"environment": {"HEKAT_PASSWORD": "1"}}, "no secret stands in the environment"),
]


def test_each_engine_has_a_compose_file() -> None:
    assert {path.name for path in COMPOSE_FILES} == set(SERVER)


@pytest.mark.long
def test_compose_files_keep_to_the_specification() -> None:
    program = Path(sys.executable).with_name("check-jsonschema")
    words = [program, "--builtin-schema", "vendor.compose-spec", *COMPOSE_FILES]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("path", "name"), SERVICES)
def test_a_service_keeps_every_rule(path: Path, name: str) -> None:
    assert break_of_service(services_of(path)[name]) == set()


@pytest.mark.parametrize(("changed", "rule"), BROKEN, ids=[rule for _, rule in BROKEN])
def test_a_service_that_breaks_a_rule_is_found(changed: dict[str, Any], rule: str) -> None:
    good = services_of(DEPLOY / "compose" / "nvflare.yml")["northside"]
    assert break_of_service(copy.deepcopy(good) | changed) == {rule}


def test_a_service_without_limits_is_found() -> None:
    good = services_of(DEPLOY / "compose" / "nvflare.yml")["northside"]
    assert break_of_service({name: value for name, value in good.items() if name != "mem_limit"}) != set()


@pytest.mark.parametrize("path", COMPOSE_FILES, ids=lambda path: path.name)
def test_a_hospital_reaches_its_server_and_nobody_else(path: Path) -> None:
    services = services_of(path)
    networks = yaml.safe_load(path.read_text(encoding="utf-8"))["networks"]
    assert all(network == {"internal": True} for network in networks.values())
    members: dict[str, set[str]] = {name: set() for name in networks}
    for name, service in services.items():
        for network in service.get("networks", ()):
            members[network].add(name)
        assert "networks" in service or service["network_mode"] == "none"
    server = SERVER[path.name]
    assert members == {name: {name, server} for name in (*HOSPITALS, "operator")}


@pytest.mark.parametrize("path", COMPOSE_FILES, ids=lambda path: path.name)
def test_no_two_hospitals_share_a_folder(path: Path) -> None:
    owners: dict[str, set[str]] = {}
    for name, service in services_of(path).items():
        for mount in service.get("volumes", ()):
            folder = re.match(r"\$\{HEKAT_DEMO[^}]*\}/(\w+)", str(mount))
            if folder:
                owners.setdefault(folder[1], set()).add(name.removesuffix("-party"))
    assert set(owners) == HOSPITALS | {"operator", SERVER[path.name]}
    assert all(names == {folder} for folder, names in owners.items())


def test_keys_of_hekat_are_where_no_code_of_the_superlink_runs() -> None:
    services = services_of(DEPLOY / "compose" / "flower.yml")
    for hospital in HOSPITALS:
        supernode, party = services[hospital], services[f"{hospital}-party"]
        assert not [mount for mount in supernode["volumes"] if "/site:" in mount or "/kept:" in mount]
        assert party["network_mode"] == "none"
        shared = set(supernode["volumes"]) & set(party["volumes"])
        assert shared == {f"${{HEKAT_DEMO}}/{hospital}/socket:/run/hekat"}


@pytest.mark.parametrize(("path", "name"), SERVICES)
def test_the_image_of_a_service_is_one_of_the_tree(path: Path, name: str) -> None:
    service = services_of(path)[name]
    dockerfile = f"{image_name(service['image'])}.Dockerfile"
    assert dockerfile in {one.name for one in DOCKERFILES}
    if "build" in service:
        assert service["build"]["dockerfile"] == f"deploy/images/{dockerfile}"
        assert (path.parent / service["build"]["context"]).resolve() == ROOT


@pytest.mark.parametrize(("path", "name"), SERVICES)
def test_whoever_is_waited_for_says_whether_it_is_healthy(path: Path, name: str) -> None:
    services = services_of(path)
    for other, told in services[name].get("depends_on", {}).items():
        assert told == {"condition": "service_healthy"}
        dockerfile = DEPLOY / "images" / f"{image_name(services[other]['image'])}.Dockerfile"
        assert HEALTH in words_of(last_stage(instructions_of(dockerfile.read_text(encoding="utf-8"))), "HEALTHCHECK")


def test_ports_and_names_agree_between_files() -> None:
    images = {path.name.removesuffix(".Dockerfile"): path.read_text(encoding="utf-8") for path in DOCKERFILES}
    nvflare = load_script("compose/nvflare_demo.py")
    assert f"EXPOSE {nvflare.PORT}\n" in images["nvflare-server"]
    assert {*nvflare.HOSPITALS, nvflare.SERVER, "operator"} == set(services_of(DEPLOY / "compose" / "nvflare.yml"))
    flower = services_of(DEPLOY / "compose" / "flower.yml")
    health = words_of(last_stage(instructions_of(images["flower-superlink"])), "HEALTHCHECK")
    assert "EXPOSE 8000\n" in images["flower-superlink"]
    assert health[-2:] == ["--https", "8000"]
    for number, hospital in enumerate(("northside", "lakeview", "county")):
        words = flower[hospital]["command"]
        assert "--superlink=superlink:8000" in words
        assert f'--node-config=party="{hospital}" hekat-socket="/run/hekat/party.sock" hospital={number}' in words
        port = next(word for word in words if word.startswith("--port=")).partition("=")[2]
        assert words_of(last_stage(instructions_of(images["flower-supernode"])), "HEALTHCHECK")[-2:] == ["--http", port]
    assert "/run/hekat/party.sock" in words_of(last_stage(instructions_of(images["party"])), "CMD")


def test_documents_say_that_a_party_process_comes_up_again_after_its_run() -> None:
    """A server can then begin run after run of the approved job: not each start is the operator's."""
    services = services_of(DEPLOY / "compose" / "flower.yml")
    restarts = {one["restart"] for name, one in services.items() if name.endswith("-party")}
    [workload] = [
        one
        for one in yaml.safe_load_all((DEPLOY / "kubernetes/flower-hospital/statefulset.yaml").read_text("utf-8"))
        if one["kind"] == "StatefulSet"  # whose pods the cluster restarts always
    ]
    assert "party" in {box["name"] for box in workload["spec"]["template"]["spec"]["containers"]}
    assert restarts == {"unless-stopped"}
    checklist = (ROOT / "docs/how_to/containers.md").read_text("utf-8").partition("## What a security officer")[2]
    for words in ("`restart: unless-stopped`", "StatefulSet", "hekat job revoke", "records of releases"):
        assert words in checklist
    table = (ROOT / "docs/explanation/security.md").read_text("utf-8").partition("## Engines")[2]
    [line] = [line for line in table.splitlines() if line.startswith("| begins runs of the approved job again")]
    assert "containers.md" in line
    assert "only as often" not in line


def test_the_demo_of_flower_keeps_to_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("flwr", reason="needs hekat[flower]")
    if "party" not in subcommands():
        pytest.skip("this tree has no hekat party")
    monkeypatch.setenv("HEKAT_EXAMPLES", str(ROOT / "examples"))
    flower = load_script("compose/flower_demo.py")
    assert {name.removesuffix("-party") for name in services_of(DEPLOY / "compose" / "flower.yml")} == {
        *flower.HOSPITALS,
        flower.SERVER,
        "operator",
    }
    assert flower.APP.is_dir()


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell")
def test_prepare_runs_the_image_confined_and_says_how_to_go_on(tmp_path: Path) -> None:
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >"$(dirname "$0")/asked"\n')
    docker.chmod(0o755)
    words = [DEPLOY / "compose" / "prepare", "nvflare", tmp_path / "demo", "--rounds", "3"]
    environment = {**os.environ, "DOCKER": str(docker)}
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True, env=environment)
    asked = (tmp_path / "asked").read_text().splitlines()
    for word in ("--read-only", "ALL", "no-new-privileges", "none", "hekat/nvflare-site:0.2.0"):
        assert word in asked
    assert asked[-2:] == ["--rounds", "3"]
    user = asked[asked.index("--user") + 1]
    assert not user.startswith("0:")
    env = dict(line.split("=") for line in (tmp_path / "demo" / "env").read_text().splitlines())
    assert env == {
        "HEKAT_DEMO": str(tmp_path / "demo"),
        "HEKAT_UID": user.split(":")[0],
        "HEKAT_GID": user.split(":")[1],
    }
    assert f"--env-file {tmp_path}/demo/env" in done.stdout


def test_prepare_fills_no_folder_that_is_there_and_knows_two_engines(tmp_path: Path) -> None:
    for words in (["nvflare", str(tmp_path)], ["fedml", str(tmp_path / "new")]):
        done = subprocess.run(
            [DEPLOY / "compose" / "prepare", *words],
            capture_output=True,
            timeout=30,
            check=False,
            env={**os.environ, "DOCKER": "false"},
        )
        assert done.returncode != 0
    assert not (tmp_path / "new").exists()
