"""The commands as a user calls them: help, exit codes, JSON, keys, a run with its report, audits and resumption."""

from __future__ import annotations

import json
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from hekat.channel import PartyPublicKey
from hekat.engine import select
from hekat.engine.cuda import availability
from hekat.engine.select import _instance
from hekat.errors import StateError
from hekat.state.array_file import decode_arrays

HOSPITALS = Path(__file__).parents[2] / "examples" / "hospitals"
COMMANDS = ["run", "doctor", "report", "audit", "keys", "keys generate", "keys party", "keys show"]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_says_what_the_command_does(command, workplace) -> None:
    answer = workplace.call(*command.split(), "--help")
    assert answer.code == 0
    assert answer.out.startswith(f"usage: hekat {command}".rstrip())
    assert len(answer.out.split()) > 25


def test_version(workplace) -> None:
    assert re.fullmatch(r"hekat \d+\.\d+\.\d+\S*\n", workplace.call("--version").out)


def test_doctor(workplace, monkeypatch) -> None:
    answer = workplace.call("doctor", "--json")
    assert answer.code == 0
    findings = json.loads(answer.out)
    assert findings["engines"]["cpu"] == "ready"
    assert "the default" in findings["active engine"]["name"]
    assert "engines" in workplace.call("doctor").out
    monkeypatch.setenv("HEKAT_ENGINE", "reference")
    assert "HEKAT_ENGINE=reference" in json.loads(workplace.call("doctor", "--json").out)["active engine"]["name"]
    monkeypatch.setenv("HEKAT_ENGINE", "abacus")
    answer = workplace.call("doctor")
    assert answer.code == 2
    assert "abacus" in answer.out
    assert "cpu" in answer.out


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("HEKAT_CPU", "nonsense", "HEKAT_CPU names no path"),
        ("HEKAT_THREADS", "9" * 5000, "HEKAT_THREADS is no thread count"),
        ("HEKAT_TABLE_MIB", "9" * 5000, "HEKAT_TABLE_MIB is no size"),
        ("HEKAT_SINGLE_TENANT", "yes", "HEKAT_SINGLE_TENANT is neither yes nor no"),
    ],
)
def test_doctor_tells_a_problem_as_run_does(workplace, monkeypatch, variable, value, problem) -> None:
    monkeypatch.setenv(variable, value)
    _instance.cache_clear()
    answer = workplace.call("doctor", "--json")
    assert answer.code == 2
    findings = json.loads(answer.out)
    told = findings["active engine"]
    assert told["problem"] == problem
    assert list(told) == ["name", "problem", "expected", "got", "cure"]
    assert value[:30] in told["got"]
    assert variable in told["cure"] or "portable" in told["expected"]
    assert findings["engines"]["cpu"].startswith(f"{problem}; expected {told['expected']}; got ")
    text = workplace.call("doctor")
    assert text.code == 2
    positions = [text.out.index(f"  {name} ") for name in ("problem", "expected", "got", "cure")]
    assert positions == sorted(positions)
    said = workplace.run("--json")
    assert said.code == 2
    assert json.loads(said.out) == {"error": told.pop("problem"), **{k: v for k, v in told.items() if k != "name"}}


def test_doctor_says_why_no_gpu_is_used_and_how_to_get_one(workplace, monkeypatch) -> None:
    def missing(library):
        raise OSError(f"{library}: cannot open shared object file")

    monkeypatch.setattr(availability.find_driver, "__defaults__", (missing,))
    monkeypatch.setattr(availability.check_device, "__defaults__", (missing,))
    _instance.cache_clear()
    findings = json.loads(workplace.call("doctor", "--json").out)
    told = findings["gpu"]
    assert list(told) == ["cuda:0"]
    assert told["cuda:0"].startswith("not used: no NVIDIA driver is on this machine; expected libcuda.so.1; got ")
    assert "cure: install NVIDIA's driver" in told["cuda:0"]
    assert findings["engines"]["cuda:0"] in told["cuda:0"]
    for extra, package in (("cuda13", "cupy-cuda13x"), ("cuda12", "cupy-cuda12x")):
        assert package in findings["extras"][extra] or f"pip install 'hekat[{extra}]'" in findings["extras"][extra]


def test_doctor_describes_each_gpu(workplace, monkeypatch) -> None:
    class Engine:
        def __init__(self, name: str) -> None:
            self.name = name

        def describe(self) -> dict[str, str]:
            return {"device": f"model of {self.name}", "resident": "1.5 MiB in use", "temperature": "41 °C"}

    monkeypatch.setattr(select, "_gpu_names", lambda: ["cuda:0", "cuda:1"])
    monkeypatch.setattr(select, "_make_cuda", lambda name, single_tenant: Engine(name))
    _instance.cache_clear()
    findings = json.loads(workplace.call("doctor", "--json").out)
    _instance.cache_clear()
    assert findings["engines"]["cuda:1"] == "ready"
    assert findings["gpu"] == {
        f"{name}{fact}": value
        for name in ("cuda:0", "cuda:1")
        for fact, value in (
            ("", f"ready; HEKAT_ENGINE={name}, or x.to('{name}')"),
            (" device", f"model of {name}"),
            (" resident", "1.5 MiB in use"),
            (" temperature", "41 °C"),
        )
    }


def test_doctor_says_of_tables_what_the_site_file_does(workplace, monkeypatch) -> None:
    def active(*arguments: object) -> dict[str, str]:
        return json.loads(workplace.call("doctor", "--json", *arguments).out)["active engine"]

    site = workplace.folder / "site.toml"
    whole, plain = "read whole, in constant time", "plain look-ups (single tenant)"
    alone = active()
    assert alone["randomiser tables"] == whole
    assert alone["site file"].startswith("none read: a run's own may say single_tenant")
    assert active("--site", site)["randomiser tables"] == whole
    site.write_text(site.read_text() + "\n[machine]\nsingle_tenant = true\n")
    told = active("--site", site)
    assert (told["randomiser tables"], told["site file"]) == (plain, str(site))
    monkeypatch.setenv("HEKAT_SINGLE_TENANT", "0")
    assert active("--site", site)["randomiser tables"] == whole
    monkeypatch.delenv("HEKAT_SINGLE_TENANT")
    assert active()["randomiser tables"] == whole
    site.write_text("format = 1\n[machine]\nsingle_tenant = 7\n")
    answer = workplace.call("doctor", "--site", site)
    assert answer.code == 2
    assert "single_tenant" in answer.err


@pytest.mark.long
def test_make_and_show_keys(workplace) -> None:
    file, passphrase = workplace.folder / "new.key", workplace.folder / "passphrase"
    passphrase.write_text("correct horse\n")
    passphrase.chmod(0o600)
    answer = workplace.call("keys", "generate", file, "--bits", 2048, "--passphrase-file", passphrase, "--json")
    assert answer.code == 0
    made = json.loads(answer.out)
    assert made["bits"] == 2048
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    shown = json.loads(workplace.call("keys", "show", file, "--json").out)
    assert shown == {
        "kind": "private key",
        "bits": 2048,
        "fingerprint": made["fingerprint"],
        "protection": "passphrase",
        "readable_by_others": False,
    }
    public = json.loads(workplace.call("keys", "show", made["public"], "--json").out)
    assert (public["kind"], public["fingerprint"]) == ("public key", made["fingerprint"])
    assert made["fingerprint"] in workplace.call("keys", "show", file).out
    again = workplace.call("keys", "generate", file)
    assert again.code == 2
    assert "exists" in again.err
    # A job under such a key takes the protected one with its passphrase, and only so.
    workplace.use_paillier()
    workplace.edit("site.toml", "leader.key", "new.key")
    without = workplace.run()
    assert without.code == 2
    assert "--passphrase-file" in without.err
    passphrase.write_text("wrong\n")
    wrong = workplace.run("--passphrase-file", passphrase)
    assert wrong.code == 2
    assert "passphrase" in wrong.err
    assert workplace.folders() == []
    passphrase.write_text("correct horse\n")
    assert workplace.run("--passphrase-file", passphrase).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["generate", "x.key", "--bits", "1024"], "too small"),
        (["generate", "x.key", "--bits", "2047"], "even number"),
        (["generate", "x.key", "--passphrase-file", "none"], "cannot be read"),
        (["generate", "none/x.key"], "is not there"),
        (["party", "none/x.key"], "cure"),
        (["show", "none"], "No such file"),
    ],
)
def test_keys_refused(arguments, words, workplace, monkeypatch) -> None:
    monkeypatch.chdir(workplace.folder)
    answer = workplace.call("keys", *arguments)
    assert answer.code == 2
    assert words in answer.err
    assert not (workplace.folder / "x.key").exists()


@pytest.mark.long
def test_a_party_key_is_pinned_in_the_run(workplace) -> None:
    key_file = workplace.folder / "east.key"
    made = json.loads(workplace.call("keys", "party", key_file, "--json").out)
    assert json.loads(workplace.call("keys", "show", key_file, "--json").out) == made
    workplace.edit("site.toml", r"\[party\.east\.data", '[party.east]\nparty_key = "east.key"\n[party.east.data')
    assert workplace.run().code == 0
    (folder,) = workplace.folders()
    pinned = PartyPublicKey.from_pin(made["pin"])
    assert json.loads((folder / "parties.json").read_text())["east"] == pinned.text
    assert pinned.fingerprint == made["fingerprint"]
    assert workplace.call("audit", folder).code == 0


@pytest.fixture
def hospitals_job(workplace):
    """The example's own job."""
    for name in ("job.toml", "site.toml", "hospitals.py"):
        shutil.copy(HOSPITALS / name, workplace.folder / name)
    return workplace


@pytest.fixture
def hospitals(hospitals_job):
    """The example's own job with two rounds."""
    hospitals_job.edit("job.toml", r"^\[training\]", "[training]\nrounds = 2")
    return hospitals_job


@pytest.mark.long
def test_the_hospitals_train_until_the_loss_settles(hospitals_job) -> None:
    hospitals_job.edit("job.toml", '^kind = "lattice"', 'kind = "none"')
    hospitals_job.edit("job.toml", '^opening = "committee"', "")
    hospitals_job.edit("job.toml", r"^\[compare\](.*\n)+", "")
    answer = hospitals_job.run()
    assert answer.code == 0, answer.err
    assert re.search(r"Converged\s+after\s+\d+\s+rounds", answer.out)
    assert "NOT CONVERGED" not in answer.out


def rows_on_a_screen(text: str, columns: int, folder: Path) -> int:
    """How many rows of a terminal `text` takes, the run being in a folder of the usual length."""
    lines = text.replace(str(folder), f"runs/{folder.name}").splitlines()
    return sum(max(1, -(-len(line) // columns)) for line in lines)


@pytest.mark.long
@pytest.mark.drawn
def test_the_hospitals_run_report_and_audit(hospitals, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    answer = hospitals.run()
    assert answer.code == 0, answer.err
    (folder,) = hospitals.folders()
    # A run is told on one screen, progress and all.
    assert rows_on_a_screen(answer.out, 80, folder) <= 40
    for label in ("result", "protected", "time", "bytes", "checked", "run folder", "summary", "ledgers", "report"):
        assert re.search(rf"^{label} ", answer.out, re.MULTILINE), label
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    parties = tomllib.loads((hospitals.folder / "job.toml").read_text())["parties"]
    ledgers = {f"ledger/{name}.jsonl" for name in (*parties, "aggregator")}
    kept = ("uploads.counter", "uploads.counter.lock", "releases.record", "releases.record.lock", "rows.key")
    states = {f"state/{name}/{file}" for name in parties for file in kept}
    rows = {"rows/northside.json"}
    assert files == ledgers | states | rows | {
        *(
            "events.jsonl",
            "checkpoint.npz",
            "checkpoint.before.npz",
            "model.npz",
            "summary.json",
            "parties.json",
            "report.html",
        )
    }
    assert str(folder) in answer.out
    assert "northside" in answer.out
    summary = json.loads((folder / "summary.json").read_text())
    assert {row["name"] for row in summary["results"]} >= {"plain federated", "encrypted federated"}
    assert all(check["largest_error"] <= check["bound"] for check in summary["exactness"])
    assert not any("UNENCRYPTED" in line for line in summary["aggregator_saw"])
    assert summary["packing"]["lane_count"] == 39
    # The documents quote such a run: what depends on no key, machine or number of rounds must be what it prints.
    root = HOSPITALS.parents[1]
    documents = [path.read_text() for path in (root / "README.md", *(root / "docs").rglob("*.md"))]
    verdict = re.compile(r"Five parties trained one model with every update encrypted: it is\s+right\s+for")
    rows = re.compile(r"right\s+for\s+[\d.]+%\s+of\s+(\d+)\s+test\s+rows")
    quotes = [text for text in documents if verdict.search(text)]
    assert quotes
    assert verdict.search(answer.out)
    assert {found for text in quotes for found in rows.findall(text)} == set(rows.findall(answer.out)) == {"143"}
    masked = re.compile(r"numbers masked \(values, weight, counters\)\s+(\d+)")
    assert {found for text in documents for found in masked.findall(text)} <= {str(summary["packing"]["lane_count"])}
    (folder / "report.html").unlink()
    redrawn = hospitals.call("report", folder, "--json")
    assert redrawn.code == 0
    assert json.loads(redrawn.out)["run_id"] == summary["run_id"]
    assert (folder / "report.html").stat().st_size > 1000
    audited = hospitals.call("audit", folder)
    assert audited.code == 0
    assert "What aggregator learned" in audited.out
    one = hospitals.call("audit", folder, "--party", "county", "--json")
    assert [ledger["party"] for ledger in json.loads(one.out)["ledgers"]] == ["county"]
    metadata, _ = decode_arrays((folder / "model.npz").read_bytes(), "model", "model")
    assert metadata["classes"] == ["malignant", "benign"]
    assert len(metadata["columns"]) == 30


@pytest.mark.long
def test_no_key_and_no_value_of_the_data_in_what_a_run_leaves(workplace, paillier_keys) -> None:
    assert workplace.run().code == 0
    (folder,) = workplace.folders()
    private = paillier_keys[2048][0].private
    key_texts = {form for prime in (private.p, private.q) for form in (str(int(prime)), f"{int(prime):x}")}
    cells = {
        cell
        for party in ("north", "east", "south")
        for line in (workplace.folder / f"{party}.csv").read_text().splitlines()[1:]
        for cell in line.split(",")[:3]
    }
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(text.encode() in content.lower() for text in key_texts), path.name
            for prime in (private.p, private.q):
                size = (int(prime).bit_length() + 7) // 8
                assert int(prime).to_bytes(size, "big") not in content, path.name
                assert int(prime).to_bytes(size, "little") not in content, path.name
            if path.suffix in (".json", ".jsonl"):
                # Whole numbers in the texts, so that 0.1234 is not found inside 10.12345.
                numbers = set(re.findall(r"-?\d+\.\d+", content.decode()))
                assert not numbers & cells, path.name


@pytest.mark.long
def test_ledgers_that_agree_that_were_tampered_with_and_of_other_runs(workplace) -> None:
    assert workplace.run().code == 0
    assert workplace.run().code == 0
    first, second = workplace.folders()
    a, b = first / "ledger" / "east.jsonl", first / "ledger" / "hub.jsonl"
    agreeing = workplace.call("audit", a, b, "--json")
    assert agreeing.code == 0
    assert [found["agrees"] for found in json.loads(agreeing.out)["reconciled"]] == [True]
    other = workplace.call("audit", a, second / "ledger" / "hub.jsonl")
    assert other.code == 2
    assert "two sessions" in other.err
    lines = a.read_text().splitlines(keepends=True)
    a.write_text("".join(lines[:-6]))
    shortened = workplace.call("audit", a, b)
    assert shortened.code == 1
    assert "NOT SIGNED" in shortened.out
    lines[4] = lines[4].replace('"index":4', '"index":4 ', 1)
    a.write_text("".join(lines))
    tampered = workplace.call("audit", a, b)
    assert tampered.code == 2
    assert "line 5" in tampered.err
    assert "cure" in tampered.err


@pytest.mark.parametrize("what", ["nothing", "job.toml", "."])
def test_audit_of_what_is_no_ledger(what, workplace) -> None:
    answer = workplace.call("audit", workplace.folder / what)
    assert answer.code == 2
    assert answer.err.startswith("error: ")
    assert "cure: " in answer.err


@pytest.mark.parametrize("what", ["nothing", "job.toml", "."])
def test_report_of_what_is_no_run(what, workplace) -> None:
    answer = workplace.call("report", workplace.folder / what)
    assert answer.code == 2
    assert answer.err.startswith("error: ")


def test_unprotected_runs_say_so_loudly(workplace) -> None:
    workplace.edit("job.toml", 'kind = "lattice"', 'kind = "none"')
    workplace.edit("site.toml", r"\[policy\]", '[policy]\nprotections = ["none"]')
    answer = workplace.run()
    assert answer.code == 0
    assert "Protection is NONE" in answer.out
    assert "UNENCRYPTED" in workplace.call("audit", workplace.folders()[0], "--party", "hub").out


@pytest.mark.long
def test_a_stopped_party_a_checkpoint_and_resumption(workplace) -> None:
    """One party fails in round 2: the run ends with its name, and goes on once that is mended."""
    workplace.use_paillier()
    from hekat.protocol.horizontal.training import loop as training

    original = training.local_update
    rounds: list[int] = []

    def fail(*arguments, **named):
        rounds.append(1)
        # Three parties a round. The sixth update is the last of round 2: by then the leader has saved round 1.
        if len(rounds) == 6:
            raise StateError("the disk of this site is full", cure="free some space on the disk, then try again")
        return original(*arguments, **named)

    training.local_update = fail
    try:
        answer = workplace.run()
    finally:
        training.local_update = original
    assert answer.code == 2
    assert re.search(r"error: party '(north|east|south)' stopped in step 'round-[12]/", answer.err)
    assert re.search(r"because: the disk of this site is full", answer.err)
    assert "saved: checkpoint of round 1" in answer.err
    (folder,) = workplace.folders()
    assert f"--resume {folder}" in answer.err
    last = json.loads((folder / "events.jsonl").read_text().splitlines()[-1])
    assert (last["event"], last["saved"]) == ("stopped", "checkpoint of round 1")
    resumed = workplace.run("--resume", folder, "--json")
    assert resumed.code == 0
    summary = json.loads(resumed.out)
    assert [entry["round"] for entry in summary["rounds"]["encrypted"]] == [2]
    assert any(note.startswith("resumed after round 1: ") for note in summary["notes"])


@pytest.mark.long
def test_ctrl_c_ends_a_run_with_a_checkpoint(workplace) -> None:
    workplace.edit("job.toml", "rounds = 2", "rounds = 1000")
    process = workplace.start("run", workplace.folder / "job.toml", "--runs", workplace.runs)
    while not list(workplace.runs.glob("*/checkpoint.npz")):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err
    (folder,) = workplace.folders()
    assert f"--resume {folder}" in err
    last = json.loads((folder / "events.jsonl").read_text().splitlines()[-1])
    assert (last["event"], last["error"]) == ("stopped", "KeyboardInterrupt")
    metadata, _ = decode_arrays((folder / "checkpoint.npz").read_bytes(), "checkpoint", "checkpoint")
    assert metadata["rounds_done"] >= 1


@pytest.mark.long
def test_ctrl_c_ends_the_search_for_a_key(workplace) -> None:
    """8192 bits take many minutes: the answer to Ctrl-C must not wait for them."""
    workplace.use_paillier()
    workplace.edit("job.toml", "key_bits = 2048", "key_bits = 8192")
    workplace.edit("site.toml", 'paillier_key = "leader.key"\n', "")
    process = workplace.start(
        *("run", workplace.folder / "job.toml", "--runs", workplace.runs),
        prelude=(
            "import sys\nfrom hekat.cli.run.progress import RunProgress\n"
            "RunProgress.search_key = lambda *found: print('searching', file=sys.stderr, flush=True)"
        ),
    )
    assert "searching" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err
    (folder,) = workplace.folders()
    assert f"the run lies in {folder}" in err
    assert "--resume" not in err


@pytest.mark.long
def test_a_reader_that_leaves_early_is_no_error(workplace) -> None:
    assert workplace.run().code == 0
    program = "import sys; from hekat.cli.main import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "audit", str(workplace.folders()[0])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=120) == 0
    assert err == b""
