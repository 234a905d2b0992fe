"""Everything a newcomer can get wrong, from the command line: a short answer with the cure, code 2, nothing written."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hekat.engine import select
from hekat.protocol.secure_sum.masked.altered_record import AlteredRecord
from hekat.protocol.secure_sum.masked.upload_state import open_upload_state
from hekat.state import Counter
from hekat.state.array_file import decode_arrays, encode_arrays

CELL = r"^([^,\n]+),([^,\n]+),([^,\n]+),(yes|no)$"


def replace_cell(text: str) -> Callable:
    """Puts `text` in the dose of the first row at east."""
    return lambda place: place.edit("east.csv", CELL, rf"\1,{text},\3,\4")


def job(pattern: str, replacement: str) -> Callable:
    return lambda place: place.edit("job.toml", pattern, replacement)


def paillier(change: Callable) -> Callable:
    """The change in a job under a Paillier key."""

    def apply(place) -> None:
        place.use_paillier()
        change(place)

    return apply


def site(pattern: str, replacement: str) -> Callable:
    return lambda place: place.edit("site.toml", pattern, replacement)


def keep_rows(count: int) -> Callable:
    def change(place) -> None:
        path = place.folder / "east.csv"
        path.write_text("\n".join(path.read_text().splitlines()[: count + 1]) + "\n")

    return change


def write(file: str, content: bytes) -> Callable:
    return lambda place: (place.folder / file).write_bytes(content)


def remove(file: str) -> Callable:
    return lambda place: (place.folder / file).unlink()


def make_folder(file: str) -> Callable:
    def change(place) -> None:
        (place.folder / file).unlink()
        (place.folder / file).mkdir()

    return change


def one_class_only(place) -> None:
    for party in ("north", "east", "south"):
        path = place.folder / f"{party}.csv"
        path.write_text(re.sub("yes$", "no", path.read_text(), flags=re.MULTILINE))


def public_key_as_private(place) -> None:
    assert place.call("keys", "show", place.folder / "leader.key").code == 0
    from hekat.wire.keyfile import load_private_key, save_public_key

    save_public_key(place.folder / "public.key", load_private_key(place.folder / "leader.key").public)
    place.edit("site.toml", "leader.key", "public.key")


def state_folder_of_east(place) -> Path:
    place.edit("site.toml", r"\[party.east.data", '[party.east]\nstate = "east.state"\n[party.east.data')
    folder = place.folder / "east.state"
    open_upload_state(folder, b"another job").uploads.close()
    return folder


def half_a_state(place) -> None:
    folder = state_folder_of_east(place)
    with Counter.open(folder / "uploads.counter") as uploads:
        uploads.next()
    (folder / "releases.record").unlink()


def damaged_state(place) -> None:
    (state_folder_of_east(place) / "uploads.counter").write_text("hekat counter 1\n0\n")


def altered_sum_noted(place) -> None:
    """As a run leaves it that was ended by an altered sum."""
    folder = state_folder_of_east(place)
    digest = hashlib.sha256((place.folder / "job.toml").read_bytes()).digest()
    AlteredRecord(folder, digest).note("round-3")


def state_that_is_a_file(place) -> None:
    shutil.rmtree(state_folder_of_east(place))
    (place.folder / "east.state").write_text("")


def unlabelled_test_data(place) -> None:
    """East's rows again, their labels left out: nothing could be told of a model by them."""
    place.edit("job.toml", 'data = "visits"', 'data = "visits"\ntest_data = "later"')
    site = place.folder / "site.toml"
    site.write_text(site.read_text() + '\n[common_data.later]\nsource = "csv"\npath = "east.csv"\nignore = ["ill"]\n')


# Cases of columns that the job has to describe: the answer goes on with what to write.
OF_COLUMNS = ("a text among numbers", "NaN", "infinite", "an empty cell", "no label column named")
# name: (what is changed, words that the answer must hold: what was wrong, and its cure)
CASES: dict[str, tuple[Callable, list[str]]] = {
    "a text among numbers": (replace_cell("high"), ["line 2", "'dose'", "a text", "cure"]),
    "NaN": (replace_cell("nan"), ["line 2", "'dose'", "has empty cells", "cure"]),
    "infinite": (replace_cell("inf"), ["line 2", "'dose'", "infinite", "cure"]),
    "an empty cell": (replace_cell(""), ["line 2", "'dose'", "has empty cells", "cure"]),
    "a label is missing": (
        lambda place: place.edit("east.csv", CELL, r"\1,\2,\3,"),
        ["line 2", "no label", "fill it in"],
    ),
    "no label column named": (site('label = "ill"\n', ""), ["no", "label", "cure"]),
    "test data without labels": (unlabelled_test_data, ["the test data has no labels", "name the label column"]),
    "label column misspelt": (site('label = "ill"', 'label = "il"'), ["no column 'il'", "did you mean 'ill'"]),
    "a label of no class": (
        lambda place: place.edit("east.csv", CELL, r"\1,\2,\3,maybe"),
        ["none of the classes", "no, yes", "row 1"],
    ),
    "one class only": (one_class_only, ["all parties", "one class only", "the job's classes"]),
    "one row": (keep_rows(1), ["east", "one row", "at least 2"]),
    "no rows": (keep_rows(0), ["east", "no rows"]),
    "columns differ": (
        lambda place: place.edit("east.csv", "dose", "dosis"),
        ["north and east", "'dosis'", "'dose'", "cure"],
    ),
    "zero parties": (job(r"parties = .*", "parties = []"), ["too few parties", "at least 3", "got: 0"]),
    "one party": (job(r"parties = .*", 'parties = ["north"]'), ["too few parties", "got: 1"]),
    "two parties": (
        job(r"parties = .*", 'parties = ["north", "east"]'),
        ["each other's update", "allow_two_parties = true"],
    ),
    "a party twice": (
        job(r"parties = .*", 'parties = ["north", "east", "north"]'),
        ["named twice", "north", "rename"],
    ),
    "a party that is a path": (job('"east"', '"../east"'), ["name cannot be used", "'../east'", "rename"]),
    "a party the site does not know": (job('"east"', '"west"'), ["no party 'west'", "east", "cure"]),
    "the aggregator is a party": (job('"hub"', '"east"'), ["aggregator is also a party", "name of its own"]),
    "key too small": (paillier(job("key_bits = 2048", "key_bits = 1024")), ["too small", "2048", "1024", "cure"]),
    "key of an odd size": (paillier(job("key_bits = 2048", "key_bits = 3001")), ["key_bits", "even", "3001"]),
    "key file of another size": (
        paillier(job("key_bits = 2048", "key_bits = 3072")),
        ["3072 bits", "2048 bits", "cure"],
    ),
    "key_bits in a job that has no such key": (
        job('kind = "lattice"', 'kind = "lattice"\nkey_bits = 3072'),
        ["key_bits belongs to another protection", "remove protection.key_bits", "'paillier'"],
    ),
    "key_bits and nothing else, as before lattice": (
        job('kind = "lattice"', "key_bits = 3072"),
        ["key_bits belongs to another protection", "protection.kind = 'lattice'", "say kind = 'paillier'"],
    ),
    "a protection misspelt": (job('kind = "lattice"', 'kind = "latice"'), ["no protection", "'lattice'", "'latice'"]),
    "an opening misspelt": (
        job('kind = "lattice"', 'opening = "comittee"'),
        ["protection.opening", "'committee'", "'comittee'"],
    ),
    "an opening the site does not allow": (
        job('kind = "lattice"', 'opening = "shared"'),
        ["does not allow opening 'shared'", "'committee'", "policy.openings"],
    ),
    "an authority the site does not allow": (
        job('kind = "lattice"', 'opening = "authority"\nauthority = "notary"'),
        ["does not allow opening 'authority'", "policy.openings"],
    ),
    "an authority without a name": (
        job('kind = "lattice"', 'opening = "authority"'),
        ["protection.authority", "the name of the role that opens", "cure"],
    ),
    "an authority that is a party": (
        job('kind = "lattice"', 'opening = "authority"\nauthority = "east"'),
        ["key authority has another role", "name of its own"],
    ),
    "an authority of a committee": (
        job('kind = "lattice"', 'authority = "notary"'),
        ["protection.authority", "'committee'", "cure"],
    ),
    "a layout that lattice does not have": (
        job(r"\[training\]", '[codec]\nlayout = "two_sign_bits"\n[training]'),
        ["codec.layout", "'balanced'", "'two_sign_bits'"],
    ),
    "more parties than lattice holds": (
        job(r"parties = .*", f"parties = {[f'p{number}' for number in range(257)]}"),
        ["1 to 256", "257", "'paillier'"],
    ),
    "a state folder of two parties": (
        lambda place: (place.folder / "site.toml").write_text(
            (place.folder / "site.toml").read_text() + "\n[party.x]\nstate = 's'\n[party.y]\nstate = 's'\n"
        ),
        ["x and y keep their state in one folder", "party.y.state"],
    ),
    "half a state": (half_a_state, ["the state of east is not whole", "no releases.record", "put the folder back"]),
    "a state that is damaged": (damaged_state, ["uploads.counter is damaged", "cure"]),
    "a job of which a sum was altered": (altered_sum_noted, ["was altered in an earlier run, in round-3", "cure"]),
    "a state that is a file": (state_that_is_a_file, ["state", "cure"]),
    "a job key misspelt": (job("weight_max", "wieght_max"), ["weight_max", "wieght_max", "misspelt"]),
    "a training key misspelt": (job("rounds = 2", "round = 2"), ["training.round", "did you mean rounds"]),
    "a section misspelt": (job(r"\[training\]", "[trainig]"), ["trainig", "did you mean training"]),
    "a site key misspelt": (site("paillier_key", "pailier_key"), ["pailier_key", "did you mean paillier_key"]),
    "a wrong type": (job("rounds = 2", 'rounds = "2"'), ["training.rounds", "a whole number", "a text", "cure"]),
    "a choice misspelt": (job(r"\[training\]", '[codec]\nlayout = "balancd"\n[training]'), ["codec.layout", "balancd"]),
    "not TOML": (job("rounds = 2", "rounds = = 2"), ["not TOML", "line 11", "cure"]),
    "another format": (job("format = 1", "format = 7"), ["another format", "format 7", "pip install --upgrade"]),
    "no format": (job("format = 1", ""), ["does not say its format", "format = 2"]),
    "another protocol": (job("horizontal", "vertical"), ["no such protocol", "'horizontal'", "'vertical'"]),
    "no time to answer": (job("weight_max", "timeout_s = 0\nweight_max"), ["timeout_s", "above 0", "cure"]),
    "weight_max too small": (job("weight_max = 100", "weight_max = 19"), ["more rows", "19", "20", "weight_max"]),
    "the job file is not there": (remove("job.toml"), ["job file not found", "job.toml", "check the path"]),
    "the job file is a folder": (make_folder("job.toml"), ["job file", "directory", "cure"]),
    "the job file is binary": (write("job.toml", b"\x93NUMPY\xff\x00" * 9), ["job file is not text", "UTF-8", "cure"]),
    "the job file is empty": (write("job.toml", b""), ["job file is empty", "format = 1", "examples/hospitals"]),
    "the site file is not there": (remove("site.toml"), ["site file not found", "--site"]),
    "a data file is not there": (remove("east.csv"), ["east.csv", "not there", "check the path"]),
    "a data file is empty": (write("east.csv", b""), ["east.csv", "empty", "cure"]),
    "a data file is a folder": (make_folder("east.csv"), ["east.csv", "folder", "cure"]),
    "a data file is binary": (write("east.csv", b"\xff\xfe\x00" * 9), ["east.csv", "UTF-8", "cure"]),
    "the job's data is not at a site": (job('"visits"', '"visit"'), ["no data called 'visit'", "visits", "cure"]),
    "an aggregator with a private key": (
        lambda place: (place.folder / "site.toml").write_text(
            (place.folder / "site.toml").read_text() + '\n[party.hub]\npaillier_key = "leader.key"\n'
        ),
        ["aggregator is given a private key", "open none", "remove the key"],
    ),
    "an aggregator with data": (
        lambda place: (place.folder / "site.toml").write_text(
            (place.folder / "site.toml").read_text() + '\n[party.hub.data.visits]\nsource = "csv"\npath = "east.csv"\n'
        ),
        ["aggregator is given data", "cure"],
    ),
    "a key at a party that does not lead": (
        lambda place: place.edit("site.toml", r"\[party.north\]", "[party.south]"),
        ["south", "does not lead", "cure"],
    ),
    "the key file is not there": (paillier(remove("leader.key")), ["leader.key", "No such file", "cure"]),
    "the key file is readable by others": (
        paillier(lambda place: (place.folder / "leader.key").chmod(0o644)),
        ["leader.key", "others", "chmod 600"],
    ),
    "the key file is a public key": (paillier(public_key_as_private), ["public.key", "no private key", "cure"]),
    "the party key is not there": (
        site("paillier_key =", 'party_key = "none.key"\npaillier_key ='),
        ["none.key", "hekat keys"],
    ),
    "protection the site does not allow": (
        job('kind = "lattice"', 'kind = "none"'),
        ["does not allow protection 'none'", "policy.protections", "protection.kind"],
    ),
    "a comparison the site does not allow": (
        lambda place: place.edit("job.toml", r"\[protection\]", "[compare]\nplain = true\n\n[protection]"),
        ["does not allow protection 'none'", "compare.plain = false"],
    ),
    "an exactness check the site does not allow": (
        lambda place: place.edit("job.toml", r"\[protection\]", "[checks]\nexactness = true\n\n[protection]"),
        ["exactness check", "checks.exactness = false"],
    ),
    "no such optimiser": (job("rounds = 2", 'rounds = 2\noptimiser = "adm"'), ["no such optimiser", "'adam'"]),
    "no such model": (job(r"\[training\]", '[model]\nname = "logreg"\n[training]'), ["no such model", "logistic"]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_short_answer_and_nothing_written(case, workplace) -> None:
    change, words = CASES[case]
    change(workplace)
    before = sorted(workplace.folder.rglob("*"))
    answer = workplace.run()
    print(answer.err)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert "Traceback" not in answer.err
    lines = answer.err.strip().splitlines()
    if case in OF_COLUMNS:
        assert any(line.startswith(("[columns.dose]", "[columns.ill]")) for line in lines)
        lines = lines[:4]  # then what the column holds, and lines for the job
    assert len(lines) <= 5
    if lines[-1].startswith("the refusal is in NO ledger of"):
        lines.pop()  # this site names no state folder
    assert [line.split(":")[0].strip() for line in lines] in (
        ["error", "expected", "got", "cure"],
        ["error", "expected", "cure"],
        ["error", "got", "cure"],
        ["error", "expected", "got"],
    )
    missing = [word for word in words if word not in answer.err]
    assert missing == []
    assert sorted(workplace.folder.rglob("*")) == before


@pytest.mark.parametrize("case", ["NaN", "zero parties", "a training key misspelt"])
def test_the_answer_as_json(case, workplace) -> None:
    CASES[case][0](workplace)
    answer = workplace.run("--json")
    assert answer.code == 2
    assert set(json.loads(answer.out)) == {"error", "expected", "got", "cure"} | (
        {"notes"} if case in OF_COLUMNS else set()
    )


@pytest.mark.parametrize("arguments", [[], ["trian"], ["run"], ["run", "a", "b"], ["keys"], ["audit"], ["run", "--x"]])
def test_wrong_arguments(arguments, workplace) -> None:
    answer = workplace.call(*arguments)
    assert answer.code == 2
    assert answer.err.startswith("error: ")
    assert "--help" in answer.err


@pytest.mark.parametrize(
    ("runs", "words"),
    [("job.toml", "no run folder can be made"), ("job.toml/runs", "no run folder"), ("/proc/none", "no run folder")],
)
def test_a_place_for_runs_that_takes_none(runs, words, workplace) -> None:
    answer = workplace.call("run", workplace.folder / "job.toml", "--runs", workplace.folder / runs)
    assert answer.code == 2
    assert words in answer.err
    assert "cure: " in answer.err


@pytest.mark.long
def test_values_beyond_the_clip_are_counted_honestly(workplace) -> None:
    workplace.edit("job.toml", r"\[training\]", '[codec]\nclipping = "fixed"\nalpha = 1e-6\n[training]')
    answer = workplace.run("--json")
    assert answer.code == 0
    summary = json.loads(answer.out)
    # 3 weights and a bias at 3 parties in 2 rounds; a bound of a millionth clips every one that moved.
    assert summary["clipped"]["of"] == 4 * 3 * 2
    assert summary["clipped"]["count"] > 20
    events = [json.loads(line) for line in (Path(summary["folder"]) / "events.jsonl").read_text().splitlines()]
    assert sum(event.get("clipped", 0) for event in events) == summary["clipped"]["count"]


def test_an_engine_that_is_not_there(workplace, monkeypatch) -> None:
    monkeypatch.setenv("HEKAT_ENGINE", "abacus")
    answer = workplace.run()
    assert answer.code == 2
    assert "'abacus'" in answer.err
    assert workplace.folders() == []


def test_a_path_of_arithmetic_that_is_not_there(workplace, monkeypatch, fresh_engines) -> None:
    monkeypatch.setenv("HEKAT_CPU", "abacus")
    monkeypatch.delenv("HEKAT_ENGINE", raising=False)
    for answer in (workplace.run(), workplace.call("doctor")):
        assert answer.code == 2
        assert "HEKAT_CPU names no path" in answer.err + answer.out
    assert workplace.folders() == []


@pytest.fixture
def fresh_engines():
    """Engines are made anew within the test, and again after it."""
    select._instance.cache_clear()
    yield
    select._instance.cache_clear()


def whole_files(folder: Path) -> None:
    """Every file of a run folder reads as what it is; none is a leftover of writing."""
    from hekat.state.array_file import decode_arrays

    for path in folder.rglob("*"):
        assert not path.name.startswith("."), path
        if path.suffix == ".jsonl":
            text = path.read_text()
            assert text.endswith("\n") or not text
            [json.loads(line) for line in text.splitlines()]
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".npz":
            decode_arrays(path.read_bytes(), "checkpoint" if "checkpoint" in path.name else "model", path.name)


@pytest.mark.long
@pytest.mark.parametrize(
    "limit", [0, 700, *(pytest.param(limit, marks=pytest.mark.long) for limit in (150, 5000, 9000))]
)
def test_a_disk_that_fills_up(limit, workplace) -> None:
    """A limit on the size of files stands for the disk: first nothing fits, then less and less is missing."""
    # Python would keep bytecode that is cut off, too, and fail on it from then on.
    prelude = "import resource, sys; sys.dont_write_bytecode = True; "
    prelude += f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    process = workplace.start("run", workplace.folder / "job.toml", "--runs", workplace.runs, prelude=prelude)
    _, err = process.communicate(timeout=120)
    print(err)
    assert process.returncode == 2
    assert "Traceback" not in err
    assert "error: " in err
    assert "File too large" in err
    assert "cure: " in err
    for folder in workplace.folders():
        assert limit >= 150
        whole_files(folder)


@pytest.mark.long
def test_a_full_disk(workplace) -> None:
    """/dev/full is a disk without room; events.jsonl is the first file a run writes."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    process = workplace.start(
        *("run", workplace.folder / "job.toml", "--runs", workplace.runs),
        prelude=(
            "import os\nopen_file = os.open\n"
            "os.open = lambda path, flags, *rest, **kw: "
            "open_file('/dev/full', os.O_WRONLY) if str(path).endswith('events.jsonl') "
            "else open_file(path, flags, *rest, **kw)"
        ),
    )
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "No space left on device" in err
    assert "free some space" in err
    assert workplace.folders() == []


@pytest.mark.long
def test_resume_of_what_cannot_be_resumed(workplace) -> None:
    assert "no such folder" in workplace.run("--resume", workplace.folder / "nothing").err
    answer = workplace.run("--json")
    finished = Path(json.loads(answer.out)["folder"])
    answer = workplace.run("--resume", finished)
    assert answer.code == 2
    assert "is finished" in answer.err
    workplace.edit("job.toml", "rounds = 2", "rounds = 3")
    answer = workplace.run("--resume", finished)
    assert answer.code == 2
    assert "belongs to another job" in answer.err
    (finished / "checkpoint.npz").write_bytes(b"PK\x03\x04 half a file")
    assert "is damaged" in workplace.run("--resume", finished).err
    shutil.rmtree(finished / "ledger")
    assert len(workplace.folders()) == 1


@pytest.mark.long
def test_a_forged_checkpoint_leaves_no_run_folder(workplace) -> None:
    assert workplace.run().code == 0
    (first,) = workplace.folders()
    path = first / "checkpoint.npz"
    metadata, arrays = decode_arrays(path.read_bytes(), "checkpoint", "it")
    metadata.update(rounds_done=1, metrics_history=metadata["metrics_history"][:1])
    arrays["codec_state/standardiser/spread"] = np.zeros(3)
    path.write_bytes(encode_arrays("checkpoint", metadata, arrays))
    answer = workplace.run("--resume", first)
    assert answer.code == 2
    assert "cannot be resumed" in answer.err
    assert "cure: " in answer.err
    assert workplace.folders() == [first]
    assert workplace.run("--resume", "x" * 5000).code == 2


def test_a_time_out_tells_which_key_to_raise(workplace) -> None:
    workplace.edit("job.toml", "weight_max", "timeout_s = 1e-9\nweight_max")
    answer = workplace.run()
    assert answer.code == 2
    assert "raise timeout_s in the job (now 1e-09 s)" in answer.err
