"""Job and site files: what they hold once read, and every way of writing them wrong."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from hekat.errors import HekatError, JobError, PolicyError
from hekat.job.horizontal.job_file import load_job
from hekat.job.horizontal.site_check import check_site_allows
from hekat.job.site_file import SiteLive, find_source, load_site
from hekat.protocol.secure_sum.masked.opening.committee import form_committee
from hekat.run.horizontal.load_inputs import load_inputs

HOSPITALS = Path(__file__).parents[2] / "examples" / "hospitals"

SMALLEST_JOB = {
    "format": "1",
    "name": '"j"',
    "protocol": '"horizontal"',
    "parties": '["a", "b", "c"]',
    "aggregator": '"hub"',
    "data": '"rows"',
    "weight_max": "10",
}

PAILLIER = "[protection]\nkind = 'paillier'\n"
SHARED = "[protection]\nopening = 'shared'\n"
AUTHORITY = "[protection]\nopening = 'authority'\nauthority = 'notary'\n"


def write_job(folder: Path, *, without: str = "", sections: str = "", **changes: str) -> Path:
    values = {**SMALLEST_JOB, **changes}
    lines = [f"{key} = {value}" for key, value in values.items() if key != without]
    path = folder / "job.toml"
    path.write_text("\n".join(lines) + "\n" + sections)
    return path


def write_site(folder: Path, text: str) -> Path:
    path = folder / "site.toml"
    path.write_text("format = 1\n" + text)
    return path


def test_the_smallest_job_gets_the_safe_defaults(tmp_path) -> None:
    path = write_job(tmp_path)
    job = load_job(path)
    settings = job.settings
    assert (settings.protection, settings.opening, settings.codec.layout) == ("lattice", "committee", "balanced")
    assert (settings.authority, settings.key_bits) == (None, 3072)
    assert (settings.codec.clipping, settings.codec.value_bits) == ("adaptive", 16)
    assert (job.compare_plain, job.check_exactness, settings.allow_two_parties) == (False, False, False)
    assert job.digest == hashlib.sha256(path.read_bytes()).digest()
    assert job.test_data is None
    assert settings.classes is None


def test_every_key_is_read(tmp_path) -> None:
    sections = """
[model]
name = "mlp"
hidden = [8, 4]
l2 = 1
seed = 3
[training]
algorithm = "fedsgd"
rounds = 7
local_epochs = 1
batch_rows = 0
learning_rate = 0.5
optimiser = "adam"
standardise = false
patience = 2
min_improvement = 0.01
seed = 9
[training.optimiser_settings]
beta_1 = 0.8
[codec]
value_bits = 8
layout = "offset"
rounding = "stochastic"
clipping = "fixed"
alpha = 2
target_clipped_fraction = 0.01
[protection]
kind = "paillier"
key_bits = 2048
[compare]
alone = true
plain = true
[checks]
exactness = true
"""
    job = load_job(
        write_job(
            tmp_path,
            sections=sections,
            parties='["a", "b"]',
            allow_two_parties="true",
            classes='["x", "y", "z"]',
            test_data='"test"',
            timeout_s="9",
        )
    )
    settings = job.settings
    assert (settings.model.name, settings.model.hidden, settings.model.l2, settings.model.seed) == (
        "mlp",
        (8, 4),
        1.0,
        3,
    )
    training = settings.training
    assert (training.algorithm, training.round_count, training.batch_rows) == ("fedsgd", 7, 0)
    assert (training.learning_rate, training.optimiser, training.standardise) == (0.5, "adam", False)
    assert training.optimiser_settings == {"beta_1": 0.8}
    assert (training.patience, training.min_improvement, training.seed) == (2, 0.01, 9)
    codec = settings.codec
    assert (codec.value_bits, codec.layout, codec.rounding) == (8, "offset", "stochastic")
    assert (codec.clipping, codec.alpha, codec.target_clipped_fraction) == ("fixed", 2.0, 0.01)
    assert (settings.key_bits, settings.allow_two_parties, settings.classes) == (2048, True, ("x", "y", "z"))
    assert (job.compare_alone, job.compare_plain, job.check_exactness) == (True, True, True)
    assert (job.test_data, job.timeout_s) == ("test", 9.0)


@pytest.mark.parametrize("key", SMALLEST_JOB)
def test_a_missing_key_is_named(key, tmp_path) -> None:
    with pytest.raises(JobError) as caught:
        load_job(write_job(tmp_path, without=key))
    assert key in caught.value.what
    assert caught.value.cure


@pytest.mark.parametrize("key", SMALLEST_JOB)
def test_a_misspelt_required_key_is_pointed_at(key, tmp_path) -> None:
    misspelt = key[0] + key[2] + key[1] + key[3:]
    with pytest.raises(JobError) as caught:
        load_job(write_job(tmp_path, without=key, **{misspelt: SMALLEST_JOB[key]}))
    assert key in caught.value.what


WRONG_TYPES = {
    "a text": '"x"',
    "a number": "1.5",
    "truth": "true",
    "a list": "[1]",
    "a table": "{ x = 1 }",
    "a date": "2026-01-01",
}
KINDS = {
    "format": (),
    "name": ("a text",),
    "protocol": (),
    "parties": (),
    "aggregator": ("a text",),
    "data": ("a text",),
    "weight_max": (),
    "classes": (),
    "test_data": ("a text",),
    "timeout_s": ("a number",),
    "allow_two_parties": ("truth",),
    "model": ("a table",),
}


@pytest.mark.parametrize(("key", "right"), KINDS.items())
def test_every_wrong_type_is_named(key, right, tmp_path) -> None:
    for kind, text in WRONG_TYPES.items():
        if kind in right:
            continue
        with pytest.raises(JobError) as caught:
            load_job(write_job(tmp_path, **{key: text}))
        assert key in caught.value.what, kind
        assert caught.value.expected, kind
        assert caught.value.cure, kind


@pytest.mark.parametrize(
    ("section", "line", "suggestion"),
    [
        ("model", "nam = 'mlp'", "did you mean name?"),
        ("training", "learning_rat = 0.1", "did you mean learning_rate?"),
        ("codec", "valuebits = 8", "did you mean value_bits?"),
        ("protection", "keybits = 2048", "did you mean key_bits?"),
        ("compare", "plane = true", "did you mean plain?"),
        ("checks", "exact = true", "did you mean exactness?"),
        ("codec", "zzz = 1", "remove it"),
    ],
)
def test_a_misspelt_setting_is_answered_with_the_right_one(section, line, suggestion, tmp_path) -> None:
    with pytest.raises(JobError) as caught:
        load_job(write_job(tmp_path, sections=f"[{section}]\n{line}\n"))
    assert caught.value.what.startswith(f"{section}.")
    assert caught.value.cure == suggestion


@pytest.mark.parametrize(
    ("lines", "words", "cure"),
    [
        ("key_bits = 3072", "key_bits belongs to another protection", "kind = 'paillier'"),
        ("kind = 'none'\nkey_bits = 3072", "key_bits belongs to another protection", "kind = 'paillier'"),
        ("kind = 'paillier'\nopening = 'committee'", "opening belongs to another", "kind = 'lattice'"),
        ("kind = 'none'\nauthority = 'x'", "authority belongs to another", "kind = 'lattice'"),
        ("kind = 'latice'\nopening = 'committee'", "protection.kind is no protection", "choose one"),
        ("kind = ''", "protection.kind is no protection", "choose one"),
        ("opening = 'commitee'", "setting protection.opening refused", "did you mean 'committee'"),
        ("opening = 'authority'", "setting protection.authority refused", "change protection.authority"),
        ("authority = 'x'", "setting protection.authority refused", "change protection.authority"),
        ("opening = 'authority'\nauthority = 'hub'", "has another role as well", "name of its own"),
        ("opening = 'authority'\nauthority = 'a'", "has another role as well", "name of its own"),
        ("opening = 'authority'\nauthority = '../x'", "name cannot be used", "rename it"),
        ("opening = 3", "protection.opening has the wrong type", "correct"),
        ("authority = ['x']", "protection.authority has the wrong type", "correct"),
    ],
)
def test_protections_written_wrong(lines, words, cure, tmp_path) -> None:
    with pytest.raises(HekatError) as caught:
        load_job(write_job(tmp_path, sections=f"[protection]\n{lines}\n"))
    assert words in caught.value.what
    assert cure in caught.value.cure
    assert caught.value.exit_code == 2


def test_a_layout_that_lattice_does_not_have(tmp_path) -> None:
    with pytest.raises(HekatError, match=r"codec\.layout") as caught:
        load_job(write_job(tmp_path, sections="[codec]\nlayout = 'offset'\n"))
    assert "'balanced'" in caught.value.expected


def test_more_parties_than_a_parameter_set_holds(tmp_path) -> None:
    names = [f"p{number}" for number in range(257)]
    load_job(write_job(tmp_path, parties=str(names[:256])))
    load_job(write_job(tmp_path, parties=str(names), sections="[protection]\nkind = 'paillier'\n"))
    with pytest.raises(HekatError) as caught:
        load_job(write_job(tmp_path, parties=str(names)))
    assert (caught.value.expected, caught.value.got) == ("1 to 256", "257")
    assert "'paillier'" in caught.value.cure


@pytest.mark.parametrize("sections", ["", PAILLIER])
def test_two_parties_only_where_both_accept_it(sections, tmp_path) -> None:
    two = '["a", "b"]'
    with pytest.raises(PolicyError, match="each other's update"):
        load_job(write_job(tmp_path, parties=two, sections=sections))
    assert load_job(write_job(tmp_path, parties=two, sections=sections, allow_two_parties="true"))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("[party.notary]\npaillier_key = 'k'", "the key authority is given a private key"),
        ("[party.notary.data.rows]\nsource = 'npz'\npath = 'x'", "the key authority is given data"),
        ("[party.hub]\npaillier_key = 'k'", "the aggregator is given a private key"),
        ("[party.hub.data.rows]\nsource = 'npz'\npath = 'x'", "the aggregator is given data"),
    ],
)
def test_roles_that_hold_nothing_are_given_nothing(entry, words, tmp_path) -> None:
    site = load_site(write_site(tmp_path, f"[policy]\nopenings = ['authority']\n{SITE}{entry}\n"))
    with pytest.raises(PolicyError, match=words):
        check_site_allows(site, load_job(write_job(tmp_path, sections=AUTHORITY)))


def test_an_authority_has_a_key_and_a_state_of_its_own(tmp_path) -> None:
    entry = "[party.notary]\nparty_key = 'n.key'\nstate = 'n'\n"
    site = load_site(write_site(tmp_path, f"[policy]\nopenings = ['authority']\n{SITE}{entry}"))
    check_site_allows(site, load_job(write_job(tmp_path, sections=AUTHORITY)))
    assert site.parties["notary"].state == tmp_path.resolve() / "n"


@pytest.mark.parametrize("text", ["[1, true]", '["a", ""]', '["a", 1]', "[[]]"])
def test_lists_of_mixed_kinds(text, tmp_path) -> None:
    with pytest.raises(JobError, match="parties has an entry of the wrong type"):
        load_job(write_job(tmp_path, parties=text))
    with pytest.raises(JobError, match=r"model\.hidden has an entry"):
        load_job(write_job(tmp_path, sections=f"[model]\nname = 'mlp'\nhidden = {text}\n"))


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_time_outs_that_are_none(seconds, tmp_path) -> None:
    with pytest.raises(JobError, match="timeout_s"):
        load_job(write_job(tmp_path, timeout_s=seconds))


# --- site files ------------------------------------------------------------------------------------------------------

SITE = """
[party.a.data.rows]
source = "csv"
path = "a.csv"
label = "y"
ignore = ["id"]
[party.b]
party_key = "b.key"
state = "b.state"
[party.b.data.rows]
source = "npz"
path = "b.npz"
[party.c.data.rows]
source = "python"
function = "c:load"
arguments = { part = 2 }
[common_data.test]
source = "csv"
path = "test.csv"
"""


def test_a_site_is_read_with_paths_beside_it(tmp_path) -> None:
    site = load_site(write_site(tmp_path, SITE))
    assert site.folder == tmp_path.resolve()
    assert site.parties["b"].party_key == tmp_path.resolve() / "b.key"
    assert site.parties["a"].paillier_key is None
    assert find_source(site, "a", "rows").options == {"path": "a.csv", "label": "y", "ignore": ("id",)}
    assert find_source(site, "c", "rows").options == {"function": "c:load", "arguments": {"part": 2}}
    assert find_source(site, None, "test").kind == "csv"
    assert site.parties["b"].state == tmp_path.resolve() / "b.state"
    assert site.parties["a"].state is None
    assert (site.policy.protections, site.policy.openings) == (("lattice", "paillier"), ("committee",))
    assert not site.policy.exactness_check
    assert not site.machine.single_tenant


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ({"source": "csv", "path": "a", "id": "who"}, {"path": "a", "id": "who"}),
        ({"source": "parquet", "path": "a", "id": ["who", "born"]}, {"path": "a", "id": ("who", "born")}),
        ({"source": "npy", "features": "a", "ids": "b"}, {"features": "a", "ids": "b"}),
        ({"source": "npy", "ids": "b"}, {"ids": "b"}),
    ],
)
def test_sources_with_ids(source, options, tmp_path) -> None:
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in source.items())
    site = load_site(write_site(tmp_path, f"[common_data.rows]\n{lines}\n"))
    assert find_source(site, None, "rows").options == options


def test_a_machine_without_other_tenants_is_read(tmp_path) -> None:
    assert load_site(write_site(tmp_path, "[machine]\nsingle_tenant = true\n" + SITE)).machine.single_tenant


def test_a_site_asks_for_a_page_or_does_not(tmp_path) -> None:
    assert load_site(write_site(tmp_path, SITE)).live is None
    assert load_site(write_site(tmp_path, "[live]\n" + SITE)).live is None
    assert load_site(write_site(tmp_path, "[live]\nport = 0\n" + SITE)).live == SiteLive(0)
    asked = load_site(write_site(tmp_path, "[live]\nport = 8080\ntoken = 'live.token'\n" + SITE)).live
    assert asked == SiteLive(8080, tmp_path.resolve() / "live.token")


@pytest.mark.parametrize(("party", "name"), [("a", "row"), (None, "tests")])
def test_a_source_that_is_not_there(party, name, tmp_path) -> None:
    site = load_site(write_site(tmp_path, SITE))
    with pytest.raises(JobError, match=f"no data called '{name}'") as caught:
        find_source(site, party, name)
    assert caught.value.expected == ("one of rows" if party else "one of test")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[party.a.data.rows]\nsource = 'xlsx'\npath = 'a'", "no kind of data source"),
        ("[party.a.data.rows]\npath = 'a'", "party.a.data.rows.source is missing"),
        ("[party.a.data.rows]\nsource = 'csv'", "party.a.data.rows.path is missing"),
        ("[party.a.data.rows]\nsource = 'csv'\npath = 'a'\nlable = 'y'", "lable is not a setting"),
        ("[party.a.data.rows]\nsource = 'npz'\npath = 'a'\nlabel = 'y'", "label is not a setting"),
        ("[party.a.data.rows]\nsource = 'csv'\npath = 'a'\nid = []", "party.a.data.rows.id refused.*got an empty list"),
        ("[party.a.data.rows]\nsource = 'csv'\npath = 'a'\nid = ['x', 'x']", "rows.id refused.*got one of them twice"),
        ("[party.a.data.rows]\nsource = 'csv'\npath = 'a'\nid = 7", "rows.id refused.*or a list.*got a whole number"),
        ("[party.a.data.rows]\nsource = 'npz'\npath = 'a'\nids = 'b'", "ids is not a setting"),
        ("[party.a.data.rows]\nsource = 'npy'\nlabels = 'b'", "party.a.data.rows.features is missing"),
        ("[party.a.data]\nrows = 'a.csv'", "party.a.data.rows has the wrong type"),
        ("[party.a]\npaillier_key = 3", "paillier_key has the wrong type"),
        ("[policy]\nprotections = ['pailier']", "policy.protections names no protection"),
        ("[policy]\nopenings = ['comittee']", "policy.openings names no opening"),
        ("[policy]\nopenings = 'shared'", "policy.openings has the wrong type"),
        ("[party.a]\nstate = 3", "party.a.state has the wrong type"),
        ("[party.a]\nstate = 'x'\n[party.b]\nstate = './x'", "a and b keep their state in one folder"),
        ("[policy]\nprotections = 'paillier'", "policy.protections has the wrong type"),
        ("[policy]\nmin_key_bit = 4096", "min_key_bit is not a setting"),
        ("[parties.a]\n", "parties is not a setting"),
        ("[live]\nport = 65536", "does not say where the live page is served"),
        ("[live]\nport = true", "live.port has the wrong type"),
        ("[live]\ntoken = 'live.token'", "does not say where the live page is served"),
        ("[live]\nhost = '0.0.0.0'", "host is not a setting"),
        ("[machine]\nsingle_tenant = 1", "machine.single_tenant has the wrong type"),
        ("[machine]\nsingle_tennant = true", "single_tennant is not a setting"),
    ],
)
def test_site_files_written_wrong(text, words, tmp_path) -> None:
    with pytest.raises(JobError, match=words) as caught:
        load_site(write_site(tmp_path, text))
    assert caught.value.cure


@pytest.mark.parametrize(
    ("policy", "sections", "words"),
    [
        ("protections = ['none']", "", "does not allow protection 'lattice'"),
        ("protections = []", "", "does not allow protection 'lattice'"),
        ("protections = ['lattice']", PAILLIER, "does not allow protection 'paillier'"),
        ("", SHARED, "does not allow opening 'shared'"),
        ("", AUTHORITY, "does not allow opening 'authority'"),
        ("openings = ['shared']", "", "does not allow opening 'committee'"),
        ("openings = []", "", "does not allow opening 'committee'"),
        ("", "[protection]\nkind = 'none'", "does not allow protection 'none'"),
        ("", "[compare]\nplain = true", "does not allow protection 'none'"),
        ("min_key_bits = 4096", PAILLIER, "smaller than the site allows"),
        ("", "[checks]\nexactness = true", "does not allow the exactness check"),
    ],
)
def test_what_a_site_does_not_allow(policy, sections, words, tmp_path) -> None:
    site = load_site(write_site(tmp_path, f"[policy]\n{policy}\n{SITE}"))
    with pytest.raises(PolicyError, match=words) as caught:
        check_site_allows(site, load_job(write_job(tmp_path, sections=sections)))
    assert caught.value.expected
    assert caught.value.got
    assert caught.value.cure


def test_what_a_site_allows(tmp_path) -> None:
    policy = """[policy]
protections = ["lattice", "paillier", "none"]
openings = ["committee", "authority", "shared"]
exactness_check = true
min_key_bits = 3072
"""
    site = load_site(write_site(tmp_path, policy + SITE))
    for protection in ("", PAILLIER, SHARED, AUTHORITY):
        sections = f"[compare]\nplain = true\n[checks]\nexactness = true\n{protection}"
        check_site_allows(site, load_job(write_job(tmp_path, sections=sections)))


def test_an_empty_site_says_what_is_missing(tmp_path) -> None:
    with pytest.raises(JobError, match="knows no party 'a'"):
        check_site_allows(load_site(write_site(tmp_path, "")), load_job(write_job(tmp_path)))


def test_the_example_is_sound() -> None:
    inputs = load_inputs(HOSPITALS / "job.toml")
    assert len(inputs.tables) == 5
    assert inputs.test_table is not None
    assert sum(map(len, inputs.tables.values())) + len(inputs.test_table) == 569
    settings = inputs.job.settings
    assert (settings.protection, settings.opening) == ("lattice", "committee")
    committee = form_committee(settings.parties)
    assert (len(committee.members), committee.threshold, committee.least_included) == (5, 4, 4)
    assert inputs.key_pair is None
    assert "key" not in repr(inputs).lower().replace("key_bits", "").replace("_key=none", "")


def test_every_refusal_is_one_kind_of_error(tmp_path) -> None:
    for parties in ("[]", '["a"]', '["a", "a", "b"]', "3"):
        with pytest.raises(HekatError) as caught:
            load_job(write_job(tmp_path, parties=parties))
        assert caught.value.exit_code == 2


def test_the_digest_is_of_the_bytes_that_were_parsed(tmp_path, monkeypatch) -> None:
    """A file that changes between two readings would be run as one job and signed as another: there is one reading."""
    path = write_job(tmp_path)
    read, readings = Path.read_bytes, []

    def read_and_change(self: Path) -> bytes:
        readings.append(self)
        content = read(self)
        self.write_bytes(content.replace(b'"j"', b'"k"'))
        return content

    monkeypatch.setattr(Path, "read_bytes", read_and_change)
    before = hashlib.sha256(read(path)).digest()
    job = load_job(path)
    assert (job.name, job.digest, readings) == ("j", before, [path])


def test_a_whole_number_beyond_every_float_is_refused(tmp_path) -> None:
    with pytest.raises(JobError, match="timeout_s is too large"):
        load_job(write_job(tmp_path, timeout_s="1" + "0" * 400))
