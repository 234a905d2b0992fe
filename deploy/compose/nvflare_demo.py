"""Keys, site files, rows and start-up kits of a demo with three hospitals, and the job that is sent to them.

Both parts run inside of Hekat's image for a site of NVIDIA FLARE, which has the tools: deploy/compose/prepare calls
the first, the service `operator` of nvflare.yml the second. In earnest each organisation makes its own key and site
file, and asks for its kit by distributed provisioning: docs/how_to/nvflare.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOSPITALS = ("northside", "lakeview", "county")
AGGREGATOR, SERVER, OPERATOR = "aggregator", "server", "operator@example.org"
PORT = 8002
ENDS_WITHIN_S = 600
TEST_ROWS = 119
SITE_FOLDER = "/srv/hekat"

PROJECT = {
    "api_version": 3,
    "name": "hospitals",
    "description": "three hospitals on one machine",
    "participants": [
        {"name": SERVER, "type": "server", "org": "hekat", "fed_learn_port": PORT, "admin_port": PORT},
        *({"name": name, "type": "client", "org": name} for name in HOSPITALS),
        {"name": OPERATOR, "type": "admin", "org": "hekat", "role": "lead"},
    ],
    "builders": [
        {
            "path": "nvflare.lighter.impl.workspace.WorkspaceBuilder",
            "args": {"template_file": ["master_template.yml"]},
        },
        {"path": "nvflare.lighter.impl.static_file.StaticFileBuilder", "args": {"config_folder": "config"}},
        {"path": "nvflare.lighter.impl.cert.CertBuilder"},
        {"path": "nvflare.lighter.impl.signature.SignatureBuilder"},
    ],
}

JOB = """
format = 2
name = "hospitals"
protocol = "horizontal"
parties = {parties}
aggregator = "{aggregator}"
data = "tumours"
test_data = "tumours-test"
classes = ["malignant", "benign"]
weight_max = 256

[model]
name = "logistic"
l2 = 0.01
seed = 1

[training]
rounds = {rounds}
local_epochs = 2
batch_rows = 16
learning_rate = 0.1
standardise = true

[protection]
kind = "lattice"
opening = "committee"

[party_keys]
{keys}
"""

# Paths are as the containers see them: keys and this file read-only, rows read-only, the rest in `kept`.
SITE = """
format = 1

[policy]
require_approval = true
min_parties = 3
max_rounds = 100

[party.{role}]
party_key = "{role}.key"
state = "../kept/state"
"""

ROWS = """
[party.{role}.data.tumours]
source = "csv"
path = "../rows/own.csv"
label = "finding"

[common_data.tumours-test]
source = "csv"
path = "../rows/test.csv"
label = "finding"
"""


def command(*words: str | Path) -> str:
    """What a program of this image prints; its error, and the end of this script, where it fails."""
    done = subprocess.run(  # noqa: S603 the words are this script's
        [Path(sys.executable).with_name(str(words[0])), *words[1:]], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def write_rows(folder: Path, part: int) -> None:
    """Hospital number `part` gets a third of scikit-learn's breast-cancer rows, and everybody the same test rows."""
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer()
    rows = list(zip(table.data.tolist(), table.target.tolist(), strict=True))
    own = rows[TEST_ROWS:][part :: len(HOSPITALS)]
    folder.mkdir(parents=True)
    for name, chosen in (("own.csv", own), ("test.csv", rows[:TEST_ROWS])):
        with (folder / name).open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow([*table.feature_names, "finding"])
            lines.writerows([*features, table.target_names[label]] for features, label in chosen)


def make_site(place: Path, role: str) -> str:
    """A party key of mode 600, a site file, and the folder that the role writes to. Returns the key's public line."""
    for folder in (place / "site", place / "kept" / "runs"):
        folder.mkdir(parents=True)
    (place / "kept").chmod(0o700)
    shown = json.loads(command("hekat", "keys", "party", place / "site" / f"{role}.key", "--json"))
    text = SITE.format(role=role)
    if role in HOSPITALS:
        text += ROWS.format(role=role)
        write_rows(place / "rows", HOSPITALS.index(role))
    (place / "site" / "site.toml").write_text(text)
    return str(shown["in_party_keys"])


def make_kits(folder: Path) -> Path:
    """The engine's start-up kits, with certificates of one project. Returns the folder that has one for each name."""
    project = folder / "project.yml"
    project.write_text(json.dumps(PROJECT))  # which is YAML too
    command("nvflare", "provision", "-p", project, "-w", folder / "made")
    return folder / "made" / str(PROJECT["name"]) / "prod_00"


def connect(kit: Path, place: Path, role: str) -> None:
    """Put the kit into place; tell it where Hekat's files lie, and that jobs may have Hekat's classes and no logs."""
    from hekat.nvflare import allow_hekat

    shutil.move(kit, place / "kit")
    local = place / "kit" / "local"
    command("hekat", "keys", "bind", place / "site" / f"{role}.key", "--kit", place / "kit" / "startup")
    lines = ["format = 1", f'site = "{SITE_FOLDER}/site/site.toml"', f'runs = "{SITE_FOLDER}/kept/runs"', 'pin = "kit"']
    (local / "hekat.toml").write_text("\n".join([*lines, ""]))
    allow_hekat(local)
    resources = json.loads((local / "resources.json").read_text())
    (local / "resources.json").write_text(json.dumps(resources | {"allow_log_streaming": False}, indent=2))


def prepare(folder: Path, rounds: int) -> None:
    """Fill `folder`, which is empty, with a folder for each container."""
    os.umask(0o077)
    places = {role: folder / role for role in HOSPITALS} | {AGGREGATOR: folder / "server"}
    lines = [make_site(place, role) for role, place in places.items()]
    operator = folder / "operator"
    operator.mkdir()
    job = operator / "job.toml"
    keys = "\n".join(lines)
    job.write_text(JOB.format(parties=json.dumps(HOSPITALS), aggregator=AGGREGATOR, rounds=rounds, keys=keys))
    for role in HOSPITALS:
        command("hekat", "job", "approve", job, "--site", places[role] / "site" / "site.toml")
    with tempfile.TemporaryDirectory() as made:
        kits = make_kits(Path(made))
        for role, place in places.items():
            connect(kits / (SERVER if role == AGGREGATOR else role), place, role)
        shutil.move(kits / OPERATOR, operator / "kit")


def submit(operator: Path) -> None:
    """Send the job, wait for its end, and say how the engine saw it; each role's own word lies in its folder."""
    from nvflare.recipe.prod_env import ProdEnv

    from hekat.nvflare import HekatRecipe

    # The engine's login writes beside the kit.
    kit = Path(tempfile.mkdtemp()) / OPERATOR
    shutil.copytree(operator / "kit", kit)
    recipe = HekatRecipe(operator / "job.toml")
    run = recipe.run(ProdEnv(str(kit), login_timeout=60, username=OPERATOR))
    print(f"run {recipe.run_id}", flush=True)
    deadline = time.monotonic() + ENDS_WITHIN_S
    while not (status := str(run.get_status())).startswith("FINISHED"):
        if time.monotonic() > deadline:
            raise SystemExit(f"not finished within {ENDS_WITHIN_S} s: {status}")
        time.sleep(2)
    print(f"the engine says {status}; each role's own word: kept/runs/{recipe.run_id}.outcome.json")


def main() -> None:
    parser = argparse.ArgumentParser(description="Prepare a demo of three hospitals in containers, or send it the job.")
    actions = parser.add_subparsers(dest="action", required=True)
    making = actions.add_parser("prepare", help="keys, site files, rows and start-up kits")
    making.add_argument("folder", type=Path)
    making.add_argument("--rounds", type=int, default=10)
    sending = actions.add_parser("submit", help="send the job to the server")
    sending.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.action == "prepare":
        prepare(options.folder, options.rounds)
    else:
        submit(options.folder)


if __name__ == "__main__":
    main()
