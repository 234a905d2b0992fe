"""Models of the sites' own code: encrypted as in the clear, the same at all parties or refused, open without Hekat."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from hekat.channel import PartyKey
from hekat.cli.main import main
from hekat.errors import InputError, JobError, PartyStoppedError
from hekat.launch.horizontal.phase import Phase
from hekat.run.horizontal.load_inputs import load_inputs
from hekat.run.horizontal.trained_model import load_trained_model
from hekat.run.progress import Silence
from hekat.state import EventLog, load_model

torch = pytest.importorskip("torch", reason="needs hekat[torch]")
pytest.importorskip("safetensors", reason="needs hekat[torch]")

JOB = """format = 1
name = "images"
protocol = "horizontal"
parties = ["a", "b", "c"]
aggregator = "hub"
data = "digits"
test_data = "later"
classes = ["0", "1", "2", "3"]
weight_max = 300
[model]
name = "digit-net"
seed = 3
[training]
algorithm = "fedavg"
rounds = 3
local_epochs = 4
batch_rows = 16
learning_rate = 0.4
standardise = false
[compare]
plain = true
alone = false
"""
POLICY = """format = 1
[policy]
protections = ["lattice", "none"]
"""
NET = '''"""Images of digits."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, column_count, output_count, hidden):
        super().__init__()
        self.image = nn.Unflatten(1, (1, 8, column_count // 8))
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.fixed = nn.Linear(4 * column_count, hidden)
        self.fixed.requires_grad_(False)
        self.drop = nn.Dropout(0.1)
        self.last = nn.Linear(hidden, output_count)

    def forward(self, rows):
        maps = torch.relu(self.norm(self.conv(self.image(rows))))
        return self.last(self.drop(torch.relu(self.fixed(maps.flatten(1)))))


def build(column_count, output_count, hidden=12):
    return Net(column_count, output_count, hidden)
'''


def write(folder: Path, *, job: str = JOB, net: str = NET, models: str = "") -> Path:
    """A job with a site file, tables and code; all parties share the code unless `models` says otherwise."""
    digits = load_digits(n_class=4)
    order = np.random.default_rng(4).permutation(len(digits.target))
    site = POLICY + (models or '[common_models.digit-net]\nfunction = "net:build"\n')
    ends = {"a": 120, "b": 300, "c": 380, "later": 480}
    start = 0
    for name, end in ends.items():
        rows = order[start:end]
        np.savez(folder / f"{name}.npz", features=digits.data[rows] / 16, labels=digits.target[rows])
        where = "common_data.later" if name == "later" else f"party.{name}.data.digits"
        site += f'[{where}]\nsource = "npz"\npath = "{name}.npz"\n'
        start = end
    (folder / "net.py").write_text(net)
    (folder / "site.toml").write_text(site)
    (folder / "job.toml").write_text(job)
    return folder / "job.toml"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished encrypted run."""
    folder = tmp_path_factory.mktemp("own")
    assert main(["run", str(write(folder)), "--runs", str(folder / "runs"), "--json"]) == 0
    (run,) = (folder / "runs").iterdir()
    return run


def test_encrypted_training_is_that_of_the_clear(trained: Path) -> None:
    summary = json.loads((trained / "summary.json").read_text())
    encrypted, plain = (summary["rounds"][kind][-1] for kind in ("encrypted", "plain"))
    assert encrypted["loss"] == pytest.approx(plain["loss"], rel=0.02)
    assert encrypted["metrics"]["accuracy"] > 0.9
    assert abs(summary["difference"]["accuracy"]) <= 0.02
    # conv 40, norm 4 x 4, last 4 x 13; the frozen layer and the count of batches are not sent.
    assert summary["bytes"]["update_values"] == 40 + 16 + 52
    notes = " ".join(summary["notes"])
    assert "SHA-256" in notes
    assert "norm.num_batches_tracked" in notes


def test_statistics_and_frozen_weights_are_in_the_model(trained: Path) -> None:
    parameters = load_trained_model(trained).parameters
    assert np.abs(parameters["norm.running_mean"]).max() > 0.01
    made = load_inputs(trained.parents[1] / "job.toml").make_model("a")
    first = made.model.init(3)
    np.testing.assert_array_equal(parameters["fixed.weight"], first["fixed.weight"])
    assert not np.array_equal(parameters["last.weight"], first["last.weight"])


PLAIN_TORCH = """
import json, sys
import numpy as np, torch
from safetensors import safe_open
from safetensors.torch import load_file
sys.path.insert(0, sys.argv[2])
from net import build
net = build(64, 4)
net.load_state_dict(load_file(sys.argv[1] + "/model.safetensors"), strict=True)
net.eval()
with safe_open(sys.argv[1] + "/model.safetensors", "pt") as file:
    about = json.loads(file.metadata()["hekat"])
rows = np.load(sys.argv[2] + "/later.npz")
x = (rows["features"] - np.array(about["standardiser/mean"])) / np.array(about["standardiser/spread"])
with torch.no_grad():
    found = net(torch.from_numpy(x.astype(np.float32))).argmax(1).numpy()
assert not any(name.split(".")[0] == "hekat" for name in sys.modules)
print(json.dumps({"accuracy": float((found == rows["labels"]).mean()), "classes": about["classes"]}))
"""
PLAIN_NUMPY = """
import json, sys
import numpy as np
file = np.load(sys.argv[1] + "/model.npz")
about = json.loads(json.loads(str(file["hekat"]))["metadata"])
assert not any(name.split(".")[0] in ("hekat", "torch") for name in sys.modules)
print(json.dumps({"shape": file["last.weight"].shape, "code": about["code"]}))
"""


def run_alone(code: str, run: Path) -> dict:
    """What the script prints in an interpreter of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code, str(run), str(run.parents[1])], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.long
def test_the_model_opens_in_plain_torch_and_predicts_the_same(trained: Path) -> None:
    summary = json.loads((trained / "summary.json").read_text())
    found = run_alone(PLAIN_TORCH, trained)
    assert found == {
        "accuracy": pytest.approx(summary["rounds"]["encrypted"][-1]["metrics"]["accuracy"]),
        "classes": ["0", "1", "2", "3"],
    }


def test_the_model_opens_in_plain_numpy(trained: Path) -> None:
    found = run_alone(PLAIN_NUMPY, trained)
    assert found["shape"] == [4, 12]
    assert len(found["code"]) == 64


def test_rows_beyond_the_reach_of_the_module_get_no_answer(trained: Path, tmp_path: Path, capsys) -> None:
    """Infinite in float32: every logit is NaN, and the first class would be the answer."""
    rows = np.load(trained.parents[1] / "later.npz")["features"][:3].copy()
    rows[1] = 1e60
    np.savez(tmp_path / "new.npz", features=rows)
    site, out = trained.parents[1] / "site.toml", tmp_path / "out.csv"
    call = ["predict", str(trained), "--site", str(site), "--data", str(tmp_path / "new.npz"), "--out", str(out)]
    capsys.readouterr()
    assert main(call) == 2
    assert "others for 1 rows, row 2 first" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.long
def test_a_run_that_is_resumed_ends_with_the_same_model(trained: Path, tmp_path: Path) -> None:
    job = write(tmp_path, job=JOB.replace("plain = true", "plain = false"))
    runs = tmp_path / "runs"
    lost = [part for party in "abc" for part in ("--lose", f"{party}:3")]
    assert main(["run", str(job), "--runs", str(runs), *lost]) == 2
    (stopped,) = runs.iterdir()
    assert main(["run", str(job), "--runs", str(tmp_path / "again"), "--resume", str(stopped), "--json"]) == 0
    (resumed,) = (tmp_path / "again").iterdir()
    expected, found = (load_model(folder / "model.npz")[0] for folder in (trained, resumed))
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-6, atol=1e-7)


PER_PARTY = """[party.a.model.digit-net]
function = "net:build"
[party.b.model.digit-net]
function = "other:build"
[party.c.model.digit-net]
function = "net:build"
arguments = { hidden = %s }
"""


def test_other_code_at_a_party_is_told_before_anything_is_written(tmp_path: Path) -> None:
    job = write(tmp_path, models=PER_PARTY % 12)
    (tmp_path / "other.py").write_text(NET + "\n")
    with pytest.raises(InputError, match="parties a and b have different code for model digit-net"):
        load_inputs(job)
    assert main(["run", str(job), "--runs", str(tmp_path / "runs")]) == 2
    assert not (tmp_path / "runs").exists()


def test_other_tensors_at_a_party_are_told_by_name(tmp_path: Path) -> None:
    job = write(tmp_path, models=PER_PARTY % 9)
    (tmp_path / "other.py").write_text(NET)
    says = r"parties a and c have different tensors in model digit-net.*no fixed\.weight \(12, 256\).*but fixed\.weight"
    with pytest.raises(InputError, match=says):
        load_inputs(job)


def test_code_that_changes_after_the_checks_is_found_by_the_parties(tmp_path: Path) -> None:
    """What each party announces is of the file that its own process read."""
    job = write(tmp_path, models=PER_PARTY % 12)
    (tmp_path / "other.py").write_text(NET)
    inputs = load_inputs(job)
    settings = inputs.job.settings
    (tmp_path / "other.py").write_text(NET.replace("Dropout(0.1)", "Dropout(0.2)"))
    keys = {name: PartyKey.generate() for name in settings.everyone}
    events = EventLog(tmp_path / "events.jsonl")
    run = Phase(inputs, replace(settings, protection="none"), "plain", "run", keys, events, Silence())
    with pytest.raises(PartyStoppedError, match="parties a and b have different code") as caught:
        run.play()
    assert (caught.value.party, caught.value.step) == ("hub", "ready")


@pytest.mark.long
def test_parties_that_make_their_models_at_once_begin_alike(tmp_path: Path) -> None:
    inputs = load_inputs(write(tmp_path))
    torch.manual_seed(5)
    before = torch.get_rng_state()
    with ThreadPoolExecutor(6) as pool:
        starts = list(pool.map(lambda _: inputs.make_model("b").model.init(3)["fixed.weight"], range(120)))
    assert all(np.array_equal(start, starts[0]) for start in starts)
    assert torch.equal(torch.get_rng_state(), before)


def named(name: str) -> str:
    """Code of a model with a tensor of that name beside its weights."""
    return (
        "import torch\nfrom torch import nn\ndef build():\n    net = nn.Linear(64, 4)\n"
        f"    net.register_parameter({name!r}, nn.Parameter(torch.ones(2)))\n    return net\n"
    )


@pytest.mark.parametrize(
    ("net", "says"),
    [
        ("def build():\n    raise ValueError('secret')\n", r"net:build raised.*ValueError at line 2"),
        ("import missing_library\n", r"ModuleNotFoundError at line 1; cure: pip install missing_library"),
        ("def build():\n    return 'secret'\n", r"model digit-net returns no model.*got str"),
        (
            "from torch import nn\ndef build(column_count):\n    return nn.Linear(column_count, 7)\n",
            r"model digit-net returns outputs of another form.*\(2, 4\).*got shape \(2, 7\)",
        ),
        (
            "from torch import nn\nclass Net(nn.Linear):\n    def forward(self, rows):\n"
            "        raise KeyError('secret')\ndef build():\n    return Net(64, 4)\n",
            r"model digit-net raised.*KeyError at line 4",
        ),
        (
            "from torch import nn\ndef build():\n    net = nn.Linear(64, 4)\n    net.bias.data[0] = float('nan')\n"
            "    return net\n",
            r"begins with NaN or infinity.*bias",
        ),
        ("import sys\ndef build():\n    sys.exit(0)\n", r"net:build raised.*SystemExit at line 3"),
        (named("file"), r"has a name that cannot be saved.*'file'"),
        (named("hekat"), r"has a name that cannot be saved.*'hekat'"),
        (named("standardiser/mean"), r"a reserved name.*'standardiser/mean'"),
        (named("control/weight"), r"a reserved name.*'control/weight'"),
        ("def build(width):\n    return width\n", r"does not take the site file's arguments.*build\(width\)"),
        ("def other():\n    return 1\n", r"has no function 'build'"),
    ],
    ids=[
        "raises",
        "import",
        "no-model",
        "shape",
        "forward",
        "nan",
        "leaves",
        "file",
        "header",
        "standardiser",
        "control",
        "arguments",
        "name",
    ],
)
def test_code_that_makes_no_model_is_refused(net: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=says) as caught:
        load_inputs(write(tmp_path, net=net))
    assert "secret" not in str(caught.value)


def test_a_model_that_no_site_has_is_refused_with_its_cure(tmp_path: Path) -> None:
    job = write(tmp_path, job=JOB.replace('"digit-net"', '"digitnet"'))
    with pytest.raises(JobError, match=r"no such model.*digit-net.*did you mean 'digit-net'.*common_models\.digitnet"):
        load_inputs(job)


def test_hidden_sizes_and_names_of_hekat_are_refused(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="hidden is for model 'mlp'"):
        load_inputs(write(tmp_path, job=JOB.replace("seed = 3", "seed = 3\nhidden = [4]")))
    with pytest.raises(JobError, match="has the name of one of Hekat's own models"):
        load_inputs(write(tmp_path, models='[common_models.mlp]\nfunction = "net:build"\n'))


NUMPY_MODEL = """from hekat.model import LogisticRegression


def build(column_count, output_count, l2=0.0):
    return LogisticRegression(column_count, output_count, l2=l2)
"""


def test_a_model_in_numpy_is_taken_as_it_is(tmp_path: Path) -> None:
    job = write(tmp_path, net=NUMPY_MODEL)
    made = load_inputs(job).make_model("b")
    assert made.model.parameter_shapes == {"weight": (64, 4), "bias": (4,)}
    models = '[common_models.digit-net]\nfunction = "net:build"\narguments = { l2 = 0.5 }\n'
    with pytest.raises(InputError, match=r"made for another job.*l2 0, as in the job.*l2 0\.5"):
        load_inputs(write(tmp_path, net=NUMPY_MODEL, models=models))
