"""Three hospitals and an aggregator as sites of NVIDIA FLARE on this machine, each pair of them over mutual TLS.

Each site has a start-up kit, a party key, a site file and a folder of its own, as in production; the job is sent as to
production (ProdEnv). Everything lies in a temporary folder that is removed at the end: make demo-nvflare
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

HOSPITALS = ("northside", "lakeview", "county")
ROUNDS = int(os.environ.get("ROUNDS", "10"))
COMES_UP_WITHIN_S, ENDS_WITHIN_S, ASKED_EVERY_S = 90, 240, 30

JOB = """
format = 2
name = "hospitals"
protocol = "horizontal"
parties = {parties}
aggregator = "aggregator"
data = "breast-cancer"
test_data = "breast-cancer-test"
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

SITE = """
format = 1

[party.{role}]
party_key = "{role}.key"
state = "state"
"""

DATA = """
[party.{role}.data.breast-cancer]
source = "python"
function = "hospitals:load"
arguments = {{ hospital = {number} }}

[common_data.breast-cancer-test]
source = "python"
function = "hospitals:load_test"
"""


def command(*words):
    """What a program of this environment prints; its error, and the end of this script, where it fails."""
    done = subprocess.run(  # noqa: S603 the words are this script's
        [Path(sys.executable).with_name(words[0]), *words[1:]], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_site(sites, role, number=None):
    """What an operator makes at home: a party key, a site file, a folder of state. Returns the public line."""
    folder = sites / role
    folder.mkdir(parents=True)
    shown = json.loads(command("hekat", "keys", "party", folder / f"{role}.key", "--json"))
    text = SITE.format(role=role)
    if number is not None:
        text += DATA.format(role=role, number=number)
        shutil.copy(Path(__file__).parent / "hospitals" / "hospitals.py", folder)
    (folder / "site.toml").write_text(text)
    return shown["in_party_keys"]


def connect(kit, site):
    """What an operator adds to the site's start-up kit: where Hekat's files lie, and that jobs may have its classes.

    The kit signs for the party key, and with pin = "kit" this site asks the same of all others.
    """
    from hekat.nvflare import allow_hekat

    command("hekat", "keys", "bind", site / f"{site.name}.key", "--kit", kit / "startup")
    lines = ["format = 1", f'site = "{site}/site.toml"', f'runs = "{site}/runs"', 'pin = "kit"', ""]
    (kit / "local" / "hekat.toml").write_text("\n".join(lines))
    allow_hekat(kit / "local")


def check_ports():
    """A POC takes these and no others; one that is taken would let its sites wait."""
    for port in (8002, 8003):
        with socket.socket() as taken:
            if taken.connect_ex(("127.0.0.1", port)) == 0:
                raise SystemExit(f"port {port} is taken; end what listens there, perhaps: nvflare poc stop")


def main(place):
    check_ports()
    sites, poc = place / "sites", place / "poc"
    os.environ |= {"HOME": str(place), "TMPDIR": str(place), "NVFLARE_POC_WORKSPACE": str(poc)}
    tempfile.tempdir = None
    print("1. each site makes its key; the public halves go into the job", flush=True)
    lines = [make_site(sites, role, number) for number, role in enumerate(HOSPITALS)] + [make_site(sites, "aggregator")]
    job = place / "job.toml"
    job.write_text(JOB.format(parties=json.dumps(HOSPITALS), rounds=ROUNDS, keys="\n".join(lines)))
    print("2. each hospital reads the job and approves exactly this file", flush=True)
    for role in HOSPITALS:
        command("hekat", "job", "approve", job, "--site", sites / role / "site.toml")
    print("3. start-up kits with certificates of one project; each operator connects the own one", flush=True)
    command("nvflare", "poc", "prepare", "-c", *HOSPITALS, "--force")
    kits = next(poc.glob("*/prod_00"))
    for role, kit in {**{role: role for role in HOSPITALS}, "aggregator": "server"}.items():
        connect(kits / kit, sites / role)
    try:
        print("4. the server and three sites come up, over mutual TLS", flush=True)
        command("nvflare", "poc", "start", "-ex", "admin@nvidia.com")
        run_id = submit(job, kits / "admin@nvidia.com")
        print("5. the job runs: the sites' own code, their own data, every update encrypted", flush=True)
        outcomes = wait_for_outcomes(sites, run_id)
    finally:
        stop(kits)
    for role, outcome in outcomes.items():
        print(f"   {role:<11} {outcome['outcome']} {outcome['kind']} {outcome['error']}".rstrip())
    if any(outcome["outcome"] != "finished" for outcome in outcomes.values()):
        raise SystemExit("the run did not end well")
    folder = sites / HOSPITALS[0] / "runs" / run_id
    summary = json.loads((folder / "summary.json").read_text())
    print(f"6. {HOSPITALS[0]} has the model, and a ledger of all that it sent and learned:")
    show(summary, folder)


def show(summary, folder):
    """What one hospital can say of the run by itself."""
    for result in summary["results"]:
        print(f"   {result['name']}: right for {result['metrics']['accuracy']:.1%} of {summary['test_rows']} test rows")
    entries = (folder / "ledger" / f"{HOSPITALS[0]}.jsonl").read_text().splitlines()
    print(f"   {len(entries)} entries in the ledger: hekat audit shows them")


def submit(job, admin):
    """Send the job once every site is there; returns the run's name."""
    from nvflare.recipe.prod_env import ProdEnv

    from hekat.nvflare import HekatRecipe

    env = ProdEnv(str(admin), login_timeout=COMES_UP_WITHIN_S)
    recipe = HekatRecipe(job)
    recipe.run(env)
    return recipe.run_id


def wait_for_outcomes(sites, run_id):
    """Each role's own word on how the run went, which lies at its site."""
    roles = (*HOSPITALS, "aggregator")
    paths = {role: sites / role / "runs" / f"{run_id}.outcome.json" for role in roles}
    deadline = time.monotonic() + ENDS_WITHIN_S
    while not all(path.exists() for path in paths.values()):
        if time.monotonic() > deadline:
            missing = ", ".join(role for role, path in paths.items() if not path.exists())
            raise SystemExit(f"no outcome of {missing} within {ENDS_WITHIN_S} s")
        time.sleep(0.5)
    return {role: json.loads(path.read_text()) for role, path in paths.items()}


def stop(kits):
    """Ask the server and the sites to end, and wait until they have: on a busy machine that takes its time."""
    deadline = time.monotonic() + ENDS_WITHIN_S
    while are_running(kits):
        # A server that does not answer at once counts as stopped there, so it is asked again.
        command("nvflare", "poc", "stop", "--no-wait")
        asked = time.monotonic()
        while are_running(kits) and time.monotonic() < asked + ASKED_EVERY_S:
            time.sleep(0.2)
        if time.monotonic() > deadline:
            raise SystemExit(f"the server and the sites still run after {ENDS_WITHIN_S} s")


def are_running(kits):
    """Whether there are processes whose commands name one of these start-up kits."""
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(kits).encode() in words.read_bytes():
                return True
    return False


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="hekat-demo-") as folder:
        main(Path(folder))
