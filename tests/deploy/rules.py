"""What every image, service and pod of deploy/ must keep to; each rule names what breaks it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.deploy.deployed import HEALTH, PROJECT, instructions_of, last_stage

SECRET = re.compile(r"(?i)secret|passw|token|private|\bkey\b")


def break_of_dockerfile(text: str) -> set[str]:
    """The rules that a Dockerfile breaks."""
    instructions = instructions_of(text)
    last = last_stage(instructions)
    base = dict(part.split("=", 1) for word, part in instructions if word == "ARG" and "=" in part)["BASE"]
    users = [rest for word, rest in last if word == "USER"]
    environment = " ".join(rest for word, rest in instructions if word in ("ENV", "ARG"))
    extras = re.findall(r"EXTRAS=(\S+)", environment)[0].split(",")
    checks = [rest for word, rest in last if word == "HEALTHCHECK"]
    broken = {
        "the base has a tag or a digest that stays": ":" not in base or base.endswith(":latest"),
        "the user is no root": not users or re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1]) is None,
        "nothing is installed after USER": _installs_after_user(last),
        "health is asked": not any(HEALTH in check for check in checks),
        "no secret stands in the environment": SECRET.search(environment) is not None,
        "the extras are the project's": not set(extras) <= set(PROJECT["optional-dependencies"]),
        "the release is the project's": f'image.version="{PROJECT["version"]}"' not in text,
        "the licence is the project's": f'image.licenses="{PROJECT["license"]}"' not in text,
        "no compiler is in the image": "g++" in " ".join(rest for _, rest in last),
        "the image takes from the build what is installed": ("COPY", "--from=install /opt/hekat /opt/hekat")
        not in last,
        "nothing is fetched by hand": re.search(r"curl|wget|\bADD\b", text) is not None,
    }
    return {rule for rule, is_broken in broken.items() if is_broken}


def _installs_after_user(stage: list[tuple[str, str]]) -> bool:
    words = [word for word, _ in stage]
    return "USER" in words and bool({"RUN", "COPY"} & set(words[words.index("USER") :]))


def break_of_service(service: Mapping[str, Any]) -> set[str]:
    """The rules that a service of a compose file breaks."""
    mounts = [str(volume) for volume in service.get("volumes", ())]
    broken = {
        "the root is read-only": service.get("read_only") is not True,
        "no capability is left": service.get("cap_drop") != ["ALL"] or "cap_add" in service,
        "privileges stay as they are": service.get("security_opt") != ["no-new-privileges:true"],
        "it is not privileged": bool(service.get("privileged")),
        "the user is named": re.fullmatch(
            r"\$\{HEKAT_UID:-[1-9]\d*\}:\$\{HEKAT_GID:-[1-9]\d*\}", service.get("user", "")
        )
        is None,
        "memory, processors and processes are limited": not {"mem_limit", "cpus", "pids_limit"} <= set(service),
        "scratch is memory": not service.get("tmpfs"),
        "the image has the project's release": not service.get("image", "").endswith(f":{PROJECT['version']}"),
        "no port of the host is open": "ports" in service or service.get("network_mode") == "host",
        "the engine's socket stays outside": any("docker.sock" in mount for mount in mounts),
        "what is mounted is read-only but for what the role keeps": any(
            not mount.endswith(":ro") for mount in mounts if not _is_kept(mount)
        ),
        "no secret stands in the environment": SECRET.search(str(service.get("environment", ""))) is not None,
    }
    return {rule for rule, is_broken in broken.items() if is_broken}


def _is_kept(mount: str) -> bool:
    return mount.endswith((":/srv/hekat/kept", ":/srv/hekat/aggregator/runs", ":/run/hekat"))


def break_of_pod(pod: Mapping[str, Any]) -> set[str]:
    """The rules that a pod of Kubernetes breaks."""
    told = pod.get("securityContext", {})
    containers = [*pod.get("initContainers", ()), *pod["containers"]]
    confined = [container.get("securityContext", {}) for container in containers]
    broken = {
        "the user is no root": told.get("runAsNonRoot") is not True or not told.get("runAsUser"),
        "system calls are filtered": told.get("seccompProfile") != {"type": "RuntimeDefault"},
        "the pod has no account at the cluster": pod.get("automountServiceAccountToken") is not False,
        "the host stays outside": any(pod.get(name) for name in ("hostNetwork", "hostPID", "hostIPC"))
        or any("hostPath" in volume for volume in pod.get("volumes", ())),
        "the root is read-only": any(one.get("readOnlyRootFilesystem") is not True for one in confined),
        "no capability is left": any(one.get("capabilities") != {"drop": ["ALL"]} for one in confined),
        "privileges stay as they are": any(one.get("allowPrivilegeEscalation") is not False for one in confined),
        "memory and processors are limited": any(
            set(container.get("resources", {}).get("limits", ())) != {"cpu", "memory"} for container in containers
        ),
        "health is asked": any(
            HEALTH not in container.get("readinessProbe", {}).get("exec", {}).get("command", ())
            for container in pod["containers"]
        ),
        "no secret stands in the environment": any(
            "env" in container or "envFrom" in container for container in containers
        )
        and SECRET.search(str([(one.get("env"), one.get("envFrom")) for one in containers])) is not None,
        "images have the project's release": any(
            not container["image"].endswith(f":{PROJECT['version']}") for container in containers
        ),
    }
    return {rule for rule, is_broken in broken.items() if is_broken}
