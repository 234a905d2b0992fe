"""The manifests for Kubernetes: valid, every pod confined, every network policy narrow, names and ports that fit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.deployed import (
    DOCKERFILES,
    KUSTOMIZATIONS,
    containers_of,
    image_name,
    load_script,
    objects_of,
    pods_of,
)
from tests.deploy.rules import break_of_pod

KUBERNETES = "1.31"  # the oldest release that the schemas of the lowest kubernetes-validate here know
FOLDERS = {"nvflare-server": 8002, "nvflare-site": 8002, "flower-superlink": 8000, "flower-hospital": 8000}
SERVERS = {"nvflare-server", "flower-superlink"}
NAMED = [pytest.param(path, id=path.parent.name) for path in KUSTOMIZATIONS]

Change = Callable[[dict[str, Any]], Any]
BROKEN: list[tuple[Change, str]] = [
    (lambda pod: pod["securityContext"].update(runAsNonRoot=False), "the user is no root"),
    (lambda pod: pod["securityContext"].update(runAsUser=0), "the user is no root"),
    (lambda pod: pod["securityContext"].pop("seccompProfile"), "system calls are filtered"),
    (lambda pod: pod.pop("automountServiceAccountToken"), "the pod has no account at the cluster"),
    (lambda pod: pod.update(hostNetwork=True), "the host stays outside"),
    (lambda pod: pod["volumes"].append({"name": "h", "hostPath": {"path": "/"}}), "the host stays outside"),
    (lambda pod: pod["containers"][0]["securityContext"].pop("readOnlyRootFilesystem"), "the root is read-only"),
    (lambda pod: pod["initContainers"][0]["securityContext"].pop("capabilities"), "no capability is left"),
    (
        lambda pod: pod["containers"][0]["securityContext"].update(allowPrivilegeEscalation=True),
        "privileges stay as they are",
    ),
    (lambda pod: pod["initContainers"][0].pop("resources"), "memory and processors are limited"),
    (lambda pod: pod["containers"][0].pop("readinessProbe"), "health is asked"),
    (
        lambda pod: pod["containers"][0].update(env=[{"name": "PASSWORD", "value": "1"}]),
        "no secret stands in the environment",
    ),
    (lambda pod: pod["containers"][0].update(image="hekat/party:latest"), "images have the project's release"),
]


def pods(path: Path) -> list[dict[str, Any]]:
    return list(pods_of(objects_of(path)))


def only(path: Path, kind: str) -> dict[str, Any]:
    [found] = [one for one in objects_of(path) if one["kind"] == kind]
    return found


def test_each_role_has_a_folder() -> None:
    assert {path.parent.name for path in KUSTOMIZATIONS} == set(FOLDERS)


@pytest.mark.parametrize("path", NAMED)
def test_a_kustomization_lists_all_files_of_its_folder(path: Path) -> None:
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert sorted(told["resources"]) == sorted(one.name for one in path.parent.glob("*.yaml") if one != path)


@pytest.mark.parametrize("path", NAMED)
def test_every_object_is_valid(path: Path) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="needs hekat[dev]")
    for found in objects_of(path):
        kubernetes_validate.validate(found, KUBERNETES, strict=True)


def test_an_object_that_is_not_valid_is_found() -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="needs hekat[dev]")
    [workload] = [one for one in objects_of(KUSTOMIZATIONS[0]) if one["kind"] == "StatefulSet"]
    workload["spec"]["template"]["spec"]["containers"][0]["readOnly"] = True
    with pytest.raises(kubernetes_validate.ValidationError, match="readOnly"):
        kubernetes_validate.validate(workload, KUBERNETES, strict=True)


@pytest.mark.parametrize("path", NAMED)
def test_a_pod_keeps_every_rule(path: Path) -> None:
    [pod] = pods(path)
    assert break_of_pod(pod) == set()


@pytest.mark.parametrize(
    ("change", "rule"), BROKEN, ids=[f"{number} {rule}" for number, (_, rule) in enumerate(BROKEN)]
)
@pytest.mark.parametrize("path", NAMED[:1])
def test_a_pod_that_breaks_a_rule_is_found(path: Path, change: Change, rule: str) -> None:
    [pod] = copy.deepcopy(pods(path))
    change(pod)
    assert break_of_pod(pod) == {rule}


@pytest.mark.parametrize("path", NAMED)
def test_the_cluster_refuses_pods_that_are_not_confined(path: Path) -> None:
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    namespace = only(path, "Namespace")["metadata"]
    assert namespace["name"] == told["namespace"]
    assert namespace["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.parametrize("path", NAMED)
def test_a_network_policy_lets_through_one_port_and_no_more(path: Path) -> None:
    workload, policy = only(path, "StatefulSet"), only(path, "NetworkPolicy")["spec"]
    port = {"protocol": "TCP", "port": FOLDERS[path.parent.name]}
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert policy["podSelector"] == workload["spec"]["selector"]
    if path.parent.name in SERVERS:
        assert [one["ports"] for one in policy["ingress"]] == [[port]]
        assert policy["egress"] == []
        return
    server, names = policy["egress"]
    assert policy["ingress"] == []
    assert server["ports"] == [port]
    assert [set(one) for one in server["to"]] == [{"ipBlock"}]
    assert server["to"][0]["ipBlock"]["cidr"].endswith("/32")
    assert {one["port"] for one in names["ports"]} == {53}


@pytest.mark.parametrize("path", NAMED)
def test_ports_services_and_volumes_fit(path: Path) -> None:
    workload, service = only(path, "StatefulSet"), only(path, "Service")
    spec = workload["spec"]
    assert spec["serviceName"] == service["metadata"]["name"] == workload["metadata"]["name"]
    assert service["spec"]["selector"] == spec["template"]["metadata"]["labels"]
    pod = spec["template"]["spec"]
    there = {one["name"] for one in pod["volumes"]} | {one["metadata"]["name"] for one in spec["volumeClaimTemplates"]}
    used = {mount["name"] for container in containers_of(pod) for mount in container["volumeMounts"]}
    assert there == used
    opened = {one["name"]: one["containerPort"] for box in containers_of(pod) for one in box.get("ports", ())}
    assert {one["targetPort"]: one["port"] for one in service["spec"].get("ports", ())} == opened
    assert set(opened.values()) == ({FOLDERS[path.parent.name]} if path.parent.name in SERVERS else set())


@pytest.mark.parametrize("path", NAMED)
def test_images_and_their_checks_are_those_of_the_tree(path: Path) -> None:
    health = load_script("images/health.py")
    told = {one["name"]: one["newTag"] for one in yaml.safe_load(path.read_text(encoding="utf-8"))["images"]}
    names = {one.name.removesuffix(".Dockerfile") for one in DOCKERFILES}
    for pod in pods(path):
        for container in containers_of(pod):
            image, _, tag = container["image"].partition(":")
            assert image_name(container["image"]) in names
            assert told[image] == tag
        for container in pod["containers"]:
            for probe in ("readinessProbe", "livenessProbe"):
                if probe in container:
                    health.build_parser().parse_args(container[probe]["exec"]["command"][3:])


def test_the_socket_lies_in_a_folder_that_the_partys_user_made() -> None:
    """Everybody may write to the volume itself (mode 777), so neither end would use a socket there."""
    [path] = [one for one in KUSTOMIZATIONS if one.parent.name == "flower-hospital"]
    [pod] = pods(path)
    [volume] = [one for one in pod["volumes"] if one["name"] == "socket"]
    assert set(volume) == {"name", "emptyDir"}
    [first] = pod["initContainers"]
    [whole] = [one["mountPath"] for one in first["volumeMounts"] if one["name"] == "socket"]
    script = first["command"][-1]
    assert script.startswith("umask 077 && ")
    assert "runAsUser" not in first["securityContext"]
    mounts = [mount for box in pod["containers"] for mount in box["volumeMounts"] if mount["name"] == "socket"]
    assert [(one["mountPath"], f"{whole}/{one['subPath']}") for one in mounts] == [("/run/hekat", f"{whole}/party")] * 2
    assert f"{whole}/party" in script.partition("mkdir -p ")[2].split()


@pytest.mark.parametrize("path", NAMED)
def test_only_the_one_that_plays_the_party_has_its_key(path: Path) -> None:
    [pod] = pods(path)
    holders = [
        container["name"]
        for container in pod["containers"]
        if {"site", "keys"} & {mount["name"] for mount in container["volumeMounts"]}
    ]
    assert holders == [
        {"flower-hospital": "party"}.get(path.parent.name, only(path, "StatefulSet")["metadata"]["name"])
    ]
    writable = {
        mount["mountPath"]
        for container in pod["containers"]
        for mount in container["volumeMounts"]
        if not mount.get("readOnly")
    }
    assert writable <= {"/tmp", "/srv/hekat/kept", "/srv/hekat/aggregator/runs", "/run/hekat"}
