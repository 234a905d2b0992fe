"""Joint predictions whose roles play at sites of their own: the scores of one machine, and limits where rows are asked
for."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.launch.encrypted_model.conftest import HOSTS, Clinics, clinics_in
from tests.launch.encrypted_model.test_encrypted_model_apart import allow_owner, apart_from
from tests.launch.jobs_apart import credit, patients
from tests.launch.roles_apart import Ended, RolesApart

from hekat.channel import Channel, PartyKey
from hekat.cli.main import main
from hekat.errors import InputError, JobError, KeyRefusedError, PartyStoppedError, PolicyError, SealError
from hekat.job.site_file import load_site
from hekat.launch.encrypted_model.predict_apart import load_scoring
from hekat.launch.encrypted_model.run import run_encrypted_model_job
from hekat.launch.prediction_role import LoadedPrediction, TrainedRole
from hekat.launch.vertical.predict import PREDICTIONS_FOLDER, JointPredictions
from hekat.launch.vertical.predict_apart import load_prediction
from hekat.launch.vertical_network.predict import network_way
from hekat.launch.vertical_network.run import run_network_job
from hekat.protocol.encrypted_model.prediction.settings import usual_rows
from hekat.protocol.in_process import play_in_process
from hekat.report.summary import load_summary
from hekat.run.encrypted_model.load_inputs import load_encrypted_model_inputs
from hekat.run.predictions import KEPT_FOLDER, PARTS_FOLDER
from hekat.run.progress import Silence
from hekat.run.role_folder import Place
from hekat.run.vertical_network.load_inputs import load_network_inputs
from hekat.run.vertical_network.part_file import NETWORK_PARTS
from hekat.state import new_run_id

PARTIES = ("clinic", "laboratory")
NEW = ("--source", "new")


def trained(apart: RolesApart, fork) -> RolesApart:
    assert {role: (one.code, one.told.get("error")) for role, one in apart.play(fork).items()} == dict.fromkeys(
        apart.roles, (0, None)
    )
    return apart


def scored(path: Path) -> dict[str, float]:
    """The probability of the second class by row."""
    with path.open() as file:
        return {row["id"]: float(row["probability_yes"]) for row in csv.DictReader(file)}


def codes(ended: dict[str, Ended]) -> dict[str, int]:
    return {role: one.code for role, one in ended.items()}


def errors(ended: dict[str, Ended]) -> str:
    return "\n".join(str(one.told) for one in ended.values())


def on_one_machine(apart: RolesApart, place: Path, source: str = "new") -> dict[str, float]:
    """The same prediction with both parts on one machine."""
    first, second = (apart.run_of(party) for party in ("clinic", "laboratory"))
    shutil.copytree(first, place / "run")
    shutil.copy(second / PARTS_FOLDER / "laboratory.npz", place / "run" / PARTS_FOLDER)
    shutil.rmtree(place / "run" / "predictions")
    out = place / "whole.csv"
    words = ["predict", str(place / "run"), "--site", str(apart.together / "site.toml"), "--source", source]
    assert main([*words, "--out", str(out), "--json"]) == 0
    return scored(out)


@pytest.mark.long
@pytest.mark.parametrize(
    ("protocol", "protection", "form"),
    [
        ("vertical_network", "none", "shared"),
        ("vertical_network", "lattice", "shared"),
        ("vertical_network", "none", "sealed"),
        ("vertical_network", "lattice", "sealed"),
        ("vertical_trees", "none", ""),
    ],
)
def test_parties_at_sites_of_their_own_give_the_scores_of_one_machine(
    fork, tmp_path, protocol, protection, form
) -> None:
    apart = trained(patients(tmp_path, protocol, protection=protection, form=form), fork)
    out = tmp_path / "scores.csv"
    ended = apart.predict(fork, PARTIES, *NEW, by_role={"clinic": ["--out", str(out)]})
    assert codes(ended) == dict.fromkeys(PARTIES, 0), errors(ended)
    assert out.stat().st_mode & 0o777 == 0o600
    found, whole = scored(out), on_one_machine(apart, tmp_path)
    assert set(found) == {f"p{number}" for number in range(100, 112)}
    # Pads of truncation are a session's own, so sealed scores differ by units of 2^-12, a quarter of it in probability.
    assert found == pytest.approx(whole, abs=2.0**-12 if form == "sealed" else 1e-4)
    # Each has what it learned, and a ledger that the others' keys audit.
    assert [list(one.told["receivers"]) for one in ended.values()] == [["clinic"], []]
    assert [one.told["common"] for one in ended.values()] == [12, 12]
    for party in PARTIES:
        folder = apart.run_of(party) / "predictions" / apart.prediction_id
        assert sorted(path.name for path in folder.iterdir()) == ["events.jsonl", "ledger", "parties.json"]
        assert [path.name for path in (folder / "ledger").iterdir()] == [f"{party}.jsonl"]
    ledgers = [apart.run_of(party) / "predictions" / apart.prediction_id / "ledger" for party in PARTIES]
    words = [str(folder / f"{party}.jsonl") for party, folder in zip(PARTIES, ledgers, strict=True)]
    assert main(["audit", *words, "--job", str(apart.together / "job.toml")]) == 0


@pytest.mark.long
def test_the_guests_site_alone_has_its_top(fork, tmp_path, capsys) -> None:
    pytest.importorskip("torch", reason="needs hekat[torch]")
    code = "import torch\ndef build(unit_count, output_count):\n    return torch.nn.Linear(unit_count, output_count)\n"
    apart = trained(patients(tmp_path, "vertical_network", top=code), fork)
    tops = {party: load_summary(apart.run_of(party)) for party in PARTIES}
    assert {party: told["top"] for party, told in tops.items()} == {"clinic": "module", "laboratory": None}
    assert not (apart.folder_of("laboratory") / "net.py").exists()
    ended = apart.predict(fork, PARTIES, *NEW, by_role={"clinic": ["--out", str(tmp_path / "scores.csv")]})
    assert codes(ended) == dict.fromkeys(PARTIES, 0), errors(ended)
    assert scored(tmp_path / "scores.csv") == pytest.approx(on_one_machine(apart, tmp_path), abs=1e-4)
    (apart.folder_of("clinic") / "net.py").write_text(code.replace("Linear(", "Linear( "))
    words = ["predict", str(apart.run_of("clinic")), "--role", "clinic", "--job", str(apart.together / "job.toml")]
    words += ["--site", str(apart.folder_of("clinic") / "site.toml"), *NEW, "--relay", str(tmp_path / "nobody")]
    capsys.readouterr()
    assert main(words) == 2
    assert "the top of clinic is not the code it was trained with" in " ".join(capsys.readouterr().err.split())


@pytest.mark.long
@pytest.mark.parametrize("form", ["arbiter", "shared_weights"])
def test_parties_of_a_regression_score_without_the_arbiter(fork, tmp_path, paillier_keys, form) -> None:
    apart = trained(credit(tmp_path, paillier_keys, form), fork)
    parties = ("bank", "insurer")
    ended = apart.predict(fork, parties, "--source", "clients", "--receivers", "insurer", "--score-bits", "10")
    assert codes(ended) == dict.fromkeys(parties, 0), errors(ended)
    assert [list(one.told["receivers"]) for one in ended.values()] == [[], ["insurer"]]


# --- in one process, from parts that one machine trained: each role loads as at its site ---------------------------


def placed(apart: RolesApart, whole: Path, parts: str) -> RolesApart:
    """What a run of all roles left in `whole`, each role's part in the folder of its own."""
    for path in (whole / parts).iterdir():
        own = apart.run_of(path.stem)
        (own / parts).mkdir(parents=True)
        shutil.copy(path, own / parts)
        shutil.copy(whole / "summary.json", own)
    return apart


def trained_role(apart: RolesApart, role: str) -> TrainedRole:
    folder, run = apart.folder_of(role), apart.run_of(role)
    digest = load_summary(run)["job_digest"]
    return TrainedRole.load(run, folder / "job.toml", load_site(folder / "site.toml"), role, job_digest=digest)


def meet(loaded: Sequence[LoadedPrediction]) -> dict[str, JointPredictions]:
    """The roles' predictions; raises what the first role raised."""
    run_id = new_run_id()

    def play(one: LoadedPrediction) -> Callable[[Channel], JointPredictions]:
        root = one.trained.run_folder / PREDICTIONS_FOLDER
        return lambda channel: one.play(Place(one.trained.role, channel, run_id, root, one.keys, Silence()))

    return play_in_process({one.trained.role: play(one) for one in loaded})


def network_of(form: str, place: Path) -> RolesApart:
    """A split network that one machine trained, each party's part in the folder of its own."""
    apart = patients(place, "vertical_network", form=form, limit=20)
    whole = run_network_job(load_network_inputs(apart.together / "job.toml"), apart.together / "runs")
    return placed(apart, whole.folder, PARTS_FOLDER)


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> RolesApart:
    return network_of("shared", tmp_path_factory.mktemp("patients"))


@pytest.fixture(scope="module")
def sealed_network(tmp_path_factory) -> RolesApart:
    return network_of("sealed", tmp_path_factory.mktemp("patients"))


def new_rows(apart: RolesApart, role: str, receivers: tuple[str, ...] = (), source: str = "new") -> LoadedPrediction:
    one = trained_role(apart, role)
    own = {role: NETWORK_PARTS.load_own(one.run_folder, role)}
    return load_prediction(network_way(own, one.site, receivers), one, source)


@pytest.mark.parametrize("made", ["network", "sealed_network"])
def test_the_party_that_is_asked_counts_rows_and_refuses_more(made, request) -> None:
    """Whatever the guest's own site and command say: the laboratory's site holds its limit over all predictions."""
    network = request.getfixturevalue(made)
    first = meet([new_rows(network, role) for role in PARTIES])
    assert {role: list(one.by_receiver) for role, one in first.items()} == {"clinic": ["clinic"], "laboratory": []}
    assert len(first["clinic"].by_receiver["clinic"]) == 12
    assert list((network.folder_of("laboratory") / "state" / "laboratory").glob("predictions-*"))
    with pytest.raises(PartyStoppedError) as stopped:
        meet([new_rows(network, role) for role in PARTIES])
    cause = stopped.value.__cause__
    assert isinstance(cause, PolicyError)
    assert stopped.value.party == "laboratory"
    assert (cause.expected, cause.got) == ("at most 20 rows in all: policy.max_predictions", "12 rows after 12")
    # It said nothing of its features before.
    ledgers = sorted((network.run_of("laboratory") / PREDICTIONS_FOLDER).glob("*/ledger/laboratory.jsonl"))
    told = [b"vertical-network/" in path.read_bytes() for path in ledgers]
    assert sorted(told) == [False, True]


@pytest.mark.parametrize(
    ("mine", "its"),
    [(((), "new"), ((), "known")), ((PARTIES, "new"), (("clinic",), "new"))],
    ids=["other rows", "another receiver"],
)
def test_roles_that_say_other_things_of_a_prediction_open_no_session(network, mine, its) -> None:
    with pytest.raises(PartyStoppedError) as stopped:
        meet([new_rows(network, "clinic", *mine), new_rows(network, "laboratory", *its)])
    cause = stopped.value.__cause__
    assert isinstance(cause, SealError)
    assert "different jobs" in str(cause)
    assert any("the same --source, receivers" in note for note in cause.__notes__)


def test_a_host_is_no_receiver_of_a_sealed_network_without_the_words(sealed_network) -> None:
    """Each party refuses for itself, whichever asks."""
    for role in PARTIES:
        with pytest.raises(JobError, match="scores tell a host such as laboratory the labels"):
            new_rows(sealed_network, role, PARTIES)


def test_another_key_than_the_jobs_opens_no_session(network) -> None:
    """Whoever holds a part, and not the key that the job gives its party, is nobody here."""
    stranger = new_rows(network, "laboratory")
    keys = replace(stranger.trained.keys, own=PartyKey.generate())
    forged = replace(stranger, trained=replace(stranger.trained, keys=keys))
    with pytest.raises(PartyStoppedError) as stopped:
        meet([new_rows(network, "clinic"), forged])
    assert isinstance(stopped.value.__cause__, KeyRefusedError | SealError)


def test_what_cannot_be_predicted_apart_is_refused_before_anything_is_written(network, tmp_path, capsys) -> None:
    folder, run = network.folder_of("clinic"), network.run_of("clinic")
    before = set(folder.rglob("*"))

    def refusal(*options: str, party: str = "clinic", role: str = "clinic") -> str:
        words = [*network.prediction(party), *NEW, *options]
        words[2] = f"--role={role}"
        assert main(words) == 2
        return capsys.readouterr().out

    assert "there is no relay" in refusal()
    assert "the job has no role 'nobody'" in refusal(role="nobody")
    assert "the site file knows no party 'laboratory'" in refusal(role="laboratory")
    out = ("--out", str(tmp_path / "x"))
    assert "laboratory learns no score to write" in refusal(*out, party="laboratory", role="laboratory")
    assert "no use" in refusal("--score-bits", "9")
    other = tmp_path / "job.toml"
    other.write_text((folder / "job.toml").read_text().replace("epochs = 2", "epochs = 3"))
    assert "was not trained by" in refusal("--job", str(other))
    site, text = tmp_path / "site.toml", (folder / "site.toml").read_text()
    for line, told in (
        (f'"{tmp_path}/other.party"', "the party key of clinic is not the key in the job"),
        (f'"{folder}/clinic.party"', "the job is not approved"),
    ):
        shutil.copy(network.folder_of("laboratory") / "laboratory.party", tmp_path / "other.party")
        site.write_text(text.replace('"clinic.party"', line).replace("state/clinic", str(tmp_path / "state")))
        approved = folder / "state" / "clinic"
        if "other" in line:
            shutil.copytree(approved, tmp_path / "state")
        else:
            shutil.rmtree(tmp_path / "state")
        assert told in refusal("--site", str(site))
    assert main(["predict", str(run), *NEW, "--job", "job.toml"]) == 2
    assert "belongs to one role at its own site" in capsys.readouterr().err
    assert set(folder.rglob("*")) == before


# --- models that nobody reads ------------------------------------------------------------------------------------


def new_patients(clinics: Clinics, apart: RolesApart) -> Path:
    """Two new rows at each host, as many as may be scored; the file."""
    lines = (clinics.folder / "lab.csv").read_text().splitlines()[: usual_rows(5) + 1]
    path = clinics.folder / "new.csv"
    path.write_text("".join(f"{line},{f'p{number}' if number else 'who'}\n" for number, line in enumerate(lines)))
    for host in HOSTS:
        with (apart.folder_of(host) / "site.toml").open("a") as file:
            file.write(f"[party.{host}.data.new]\nsource = 'csv'\npath = '{path}'\nlabel = 'sick'\nid = 'who'\n")
    return path


@pytest.fixture
def scoring(tmp_path) -> RolesApart:
    """A model of one machine, and what each role keeps of it in a folder of its own."""
    clinics = clinics_in(tmp_path / "clinics")
    apart = apart_from(clinics, tmp_path / "apart", protection="none")
    site = apart.together / "site.toml"
    owners = f'model_owners = ["{apart.keys["lab"].public.text}"]'
    site.write_text(site.read_text().replace("[policy]\n", f"[policy]\n{owners}\n"))
    whole = run_encrypted_model_job(load_encrypted_model_inputs(apart.together / "job.toml"), apart.together / "runs")
    new_patients(clinics, apart)
    return placed(apart, whole.folder, KEPT_FOLDER)


def test_arbiter_and_aggregator_count_for_themselves_whichever_host_asks(scoring) -> None:
    new = scoring.place.parent / "clinics" / "new.csv"
    both = new.read_text()

    def scored_for(host: str) -> dict[str, JointPredictions]:
        return meet([load_scoring(trained_role(scoring, role), "new", host) for role in (host, "hub", "judge")])

    new.write_text("".join(both.splitlines(keepends=True)[:2]))
    found = scored_for("north")
    assert {role: (list(one.by_receiver), one.common) for role, one in found.items()} == {
        "north": (["north"], 1),
        "hub": ([], 1),
        "judge": ([], 1),
    }
    # Another host, whose own site has counted nothing, asks for more than is left.
    new.write_text(both)
    with pytest.raises(PartyStoppedError) as stopped:
        scored_for("lake")
    assert stopped.value.party in ("hub", "judge")
    assert isinstance(stopped.value.__cause__, PolicyError)
    assert "2 rows after 1" in stopped.value.__cause__.got
    new.write_text("".join(both.splitlines(keepends=True)[:2]))
    scored_for("north")
    for role in ("hub", "judge"):
        with pytest.raises(PolicyError, match=f"the site of {role} does not allow so many predictions"):
            load_scoring(trained_role(scoring, role), "new", "north")


def test_a_role_without_a_part_in_the_prediction_is_refused(scoring) -> None:
    with pytest.raises(InputError, match="lake takes no part in this prediction"):
        load_scoring(trained_role(scoring, "lake"), "new", "north")


@pytest.mark.long
def test_roles_at_sites_of_their_own_score_by_a_model_that_none_reads(fork, tmp_path) -> None:
    clinics, out = clinics_in(tmp_path / "clinics"), tmp_path / "scores.csv"
    apart = apart_from(clinics, tmp_path / "apart", protection="none")
    allow_owner(apart)
    new = new_patients(clinics, apart)
    trained(apart, fork)
    roles = ("north", "lake", "hub", "judge")
    options = (*NEW, "--party", "north", "--receivers", "lake")
    ended = apart.predict(fork, roles, *options, by_role={"lake": ["--out", str(out)]})
    assert codes(ended) == dict.fromkeys(roles, 0), errors(ended)
    assert {role: one.told["common"] for role, one in ended.items()} == dict.fromkeys(roles, 2)
    owners = tmp_path / "owners.csv"
    words = ["predict", str(apart.run_of("lab")), "--data", str(new), "--id", "who", "--label", "sick"]
    assert main([*words, "--out", str(owners)]) == 0
    # It is told scores alone, in the order of the rows.
    with out.open() as file:
        found = [float(row["probability_yes"]) for row in csv.DictReader(file)]
    assert found == pytest.approx([*scored(owners).values()], abs=2.0**-12)
    ended = apart.predict(fork, ("lake", "hub", "judge"), *NEW, "--party", "lake")
    assert codes(ended) == dict.fromkeys(("lake", "hub", "judge"), 2)
    for role in ("hub", "judge"):
        assert f"the site of {role} does not allow so many predictions" in errors(ended), role
    words = [*apart.prediction("lab"), *NEW, "--party", "north"]
    assert main(words) == 2
