"""Three hospitals as SuperNodes of Flower on this machine, each with a party process of its own beside it.

Each site has a party key, a site file and folders of its own, as in production. The app in examples/flower_hospitals
is an ordinary one with Hekat's mod and strategy. All is removed at the end: make demo-flower
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

HOSPITALS = ("northside", "lakeview", "county")
ROUNDS = int(os.environ.get("ROUNDS", "3"))
COMES_UP_WITHIN_S, ENDS_WITHIN_S = 240, 1800
COLOURS = re.compile("\x1b\\[[0-9]*m")
APP = Path(__file__).parent / "flower_hospitals" / "app"

JOB = """
format = 2
name = "wards"
protocol = "averaging"
parties = {parties}
aggregator = "aggregator"
weight_max = 256
rounds = {rounds}

[codec]
clipping = "fixed"
alpha = 4.0

[party_keys]
{keys}
"""

SITE = """
format = 1

[party.{role}]
party_key = "{role}.key"
state = "state"

[policy]
protocols = ["averaging"]
"""


def program(name):
    return str(Path(sys.executable).with_name(name))


def command(*words):
    """What a program of this environment prints; its error, and the end of this script, where it fails."""
    done = subprocess.run([program(words[0]), *map(str, words[1:])], capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_site(sites, role):
    """What an operator makes at home: a party key, a site file, a folder of state. Returns the public line."""
    folder = sites / role
    folder.mkdir(parents=True)
    shown = json.loads(command("hekat", "keys", "party", folder / f"{role}.key", "--json"))
    (folder / "site.toml").write_text(SITE.format(role=role))
    return shown["in_party_keys"]


def free_ports(count):
    """Ports of this machine that nobody listens at now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def running(place, name, *words, **variables):
    """A program that runs while the block does, its output in a file; ended with all that it started."""
    with (place / f"{name}.log").open("w") as log:
        process = subprocess.Popen(  # noqa: S603 the words are this script's
            [program(words[0]), *map(str, words[1:])],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
            start_new_session=True,
        )
        try:
            yield process
        finally:
            end(process)


def end(process):
    """SIGTERM to the process, and the end of what it started and leaves behind."""
    started = descendants_of(process.pid)
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        started += descendants_of(process.pid)
        process.kill()
        process.wait()
    for one in started:
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


def descendants_of(process):
    """The processes that this one started, and theirs, by number."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def wait_for(port):
    deadline = time.monotonic() + COMES_UP_WITHIN_S
    while time.monotonic() < deadline:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise SystemExit(f"nothing listens at port {port} within {COMES_UP_WITHIN_S} s")


def main(place):
    sites = place / "sites"
    os.environ |= {
        "FLWR_HOME": str(place / "flwr"),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        # Flower looks for work once a second else, at every node and message.
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
        "OMP_NUM_THREADS": "1",
        # Flower starts programs of its own by name.
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    print("1. each site makes its key; the public halves go into the job", flush=True)
    lines = [make_site(sites, role) for role in (*HOSPITALS, "aggregator")]
    job = sites / "aggregator" / "job.toml"
    job.write_text(JOB.format(parties=json.dumps(HOSPITALS), rounds=ROUNDS, keys="\n".join(lines)))
    print("2. each hospital reads the job and approves exactly this file", flush=True)
    for role in HOSPITALS:
        shutil.copy(job, sites / role)
        command("hekat", "job", "approve", sites / role / "job.toml")
    link, *ports = free_ports(1 + len(HOSPITALS))
    with ExitStack() as stack:
        print("3. a SuperLink, and at each hospital a party process and a SuperNode", flush=True)
        words = ("flower-superlink", "--insecure", "--disable-runtime-dependency-installation")
        options = ("--host", "127.0.0.1", "--port", link, "--database", place / "superlink.db")
        stack.enter_context(running(place, "superlink", *words, *options, HEKAT_FLOWER=str(sites / "aggregator")))
        wait_for(link)
        for number, (role, port) in enumerate(zip(HOSPITALS, ports, strict=True)):
            folder = sites / role
            options = ("--socket", folder / "party.sock", "--runs", folder / "runs")
            words = ("hekat", "party", folder / "job.toml", *options)
            stack.enter_context(running(place, f"party-{role}", *words))
            seat = f'party="{role}" hekat-socket="{folder}/party.sock" hospital={number}'
            words = ("flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{link}", "--port", port)
            stack.enter_context(running(place, f"supernode-{role}", *words, "--node-config", seat))
        print("4. the app runs: the hospitals' own rows, every update encrypted", flush=True)
        configured = place / "flwr" / "config.toml"
        configured.parent.mkdir(exist_ok=True)
        with configured.open("a") as file:
            file.write(f'\n[superlink.here]\naddress = "127.0.0.1:{link}"\ninsecure = true\n')
        words = ("flwr", "run", APP, "here", "--stream", "--run-config", f"rounds={ROUNDS}")
        with running(place, "app", *words) as app:
            outcomes = wait_for_outcomes(sites, place, app)
            with suppress(subprocess.TimeoutExpired):
                app.wait(30)
        for role, outcome in outcomes.items():
            print(f"   {role:<11} {outcome['outcome']} {outcome['kind']} {outcome['error']}".rstrip())
    if any(outcome["outcome"] != "finished" for outcome in outcomes.values()):
        show_logs(place)
        raise SystemExit("the run did not end well")
    show(place, sites, next(iter(outcomes.values()))["run_id"])


def show(place, sites, run_id):
    """What each hospital has, and what the server saw."""
    print("5. every hospital has the model, and measured it on its own machine:")
    for role in HOSPITALS:
        folder = sites / role / "runs" / run_id
        events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        measured = [event["metrics"] for event in events if event["event"] == "evaluate"]
        shown = ", ".join(f"{one['accuracy']:.1%}" for one in measured)
        print(f"   {role:<11} right after each round: {shown}; {(folder / 'model.npz').name}")
    print("6. the server saw:")
    log = (place / "app.log").read_text(errors="replace")
    for line in log.splitlines():
        if "server's result" in line or "legs" in line:
            print(f"   {COLOURS.sub('', line).removeprefix('INFO').lstrip(' :')}")
    ledger = sites / HOSPITALS[0] / "runs" / run_id / "ledger" / f"{HOSPITALS[0]}.jsonl"
    print(f"   {len(ledger.read_text().splitlines())} entries in {HOSPITALS[0]}'s ledger: hekat audit shows them")


def show_logs(place):
    for log in sorted(place.glob("*.log")):
        print(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}")


def wait_for_outcomes(sites, place, app):
    """Each role's own word on how the run went, which lies at its site."""
    roles = (*HOSPITALS, "aggregator")
    deadline = time.monotonic() + ENDS_WITHIN_S
    while True:
        paths = {role: next((sites / role / "runs").glob("*.outcome.json"), None) for role in roles}
        if all(paths.values()):
            return {role: json.loads(path.read_text()) for role, path in paths.items()}
        if time.monotonic() > deadline or app.poll():
            show_logs(place)
            missing = ", ".join(role for role, path in paths.items() if path is None)
            raise SystemExit(f"no outcome of {missing} within {ENDS_WITHIN_S} s")
        time.sleep(0.5)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if os.environ.get("KEEP"):
        main(Path(os.environ["KEEP"]))
    else:
        with tempfile.TemporaryDirectory(prefix="hekat-demo-") as folder:
            main(Path(folder))
