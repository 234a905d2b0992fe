"""A ledger's record of noise, or of replaced labels, is held against what the job's settings imply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hekat.channel import PartyKey
from hekat.job.load_any_job import AnyJob, load_any_job
from hekat.job.noise_claims import hold_claims
from hekat.ledger import AuditReport, Ledger, audit_bytes
from hekat.ledger.privacy.reckon import UPLOAD_KIND
from hekat.ledger.privacy.records import LabelsRecord, NoiseRecord
from hekat.privacy.accounting.leaf_sums import sensitivity_of_leaves

pytest.importorskip("dp_accounting", reason="needs hekat[privacy]")

KEY = PartyKey.generate()
ROWS = (
    'format = 2\nname = "visits"\nparties = ["north", "east", "south", "west"]\naggregator = "hub"\ndata = "visits"\n'
    "weight_max = 100\n"
)
VECTORS = ROWS + 'protocol = "horizontal"\nclasses = ["no", "yes"]\n[training]\nrounds = 2\nmin_parties = 3\n'
LEAVES = ROWS + 'min_parties = 3\nprotocol = "horizontal_trees"\n[training]\nmax_iter = 3\nmax_depth = 3\n'
NOISE = "[privacy]\ndelta = 1e-4\nnoise = 4.0\n"
OF_VECTORS = 'unit = "row"\nclip = 1.0\ndivisor = 150\n'
COLUMNS = 'format = 2\nname = "credit"\nprotocol = "vertical_trees"\nguest = "bank"\nhosts = ["insurer"]\n'


def load(folder: Path, text: str) -> AnyJob:
    (folder / "job.toml").write_text(text)
    return load_any_job(folder / "job.toml")


def trees(classes: int, text: str = NOISE) -> str:
    names = ", ".join(f'"{number}"' for number in range(classes))
    return LEAVES.replace("[training]", f"classes = [{names}]\n[training]") + text


def audited(write: Callable[[Ledger], None], party: str = "north") -> AuditReport:
    with Ledger(None, party, KEY, bytes(32)) as ledger:
        write(ledger)
    return audit_bytes(ledger.data, KEY.public)


def of_vectors(job: AnyJob) -> NoiseRecord:
    return job.settings.plan_privacy(7).describe()


def of_leaves(job: AnyJob) -> NoiseRecord:
    return job.settings.leaf_noise.describe(job.settings.privacy)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (VECTORS + NOISE + OF_VECTORS, of_vectors),
        (VECTORS + NOISE.replace("noise = 4.0", "epsilon = 3.0") + OF_VECTORS, of_vectors),
        (trees(2), of_leaves),
        (trees(3, NOISE.replace("noise = 4.0", "epsilon = 3.0")), of_leaves),
    ],
)
def test_what_the_job_implies_holds(tmp_path: Path, text: str, wanted) -> None:
    job = load(tmp_path, text)
    assert hold_claims(job, [audited(wanted(job).write)]) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("delta = 1e-4", "delta = 1e-5", "the delta is 0.0001 at north; 1e-05 by the job"),
        ("noise = 4.0", "noise = 8.0", "the noise z is 4 at north; 8 by the job"),
        ("clip = 1.0", "clip = 2.0", "the clip is"),
        ('unit = "row"', 'unit = "party"', "the unit is row at north; party by the job"),
        ("delta", "colluders = 2\ndelta", "the number of colluders t_c is 1 at north; 2 by the job"),
        (
            "delta",
            'neighbours = "replace-one"\ndelta',
            "the kind of neighbours is zero-out at north; replace-one by the job",
        ),
        ("delta", 'batches = "poisson-secret"\nsampling = 0.5\ndelta', "1 at north; 0.5 by the job"),
        ("min_parties = 3", "min_parties = 4", "the smallest number of parties in a sum is 3 at north; 4 by the job"),
        (NOISE + OF_VECTORS, "", "sums with noise at north; and the job has no [privacy]"),
    ],
)
def test_a_record_unlike_the_job_is_told_with_both_sides(tmp_path: Path, old: str, new: str, told: str) -> None:
    text = VECTORS + NOISE + OF_VECTORS
    report = audited(of_vectors(load(tmp_path, text)).write)
    assert old in text
    found = hold_claims(load(tmp_path, text.replace(old, new)), [report])
    assert any(told in point for point in found), found


def test_the_sensitivity_of_leaves_follows_from_the_job_s_trees(tmp_path: Path) -> None:
    """Four classes have the sums of one tree of four times the leaves: by the ledger alone a row moves them less."""
    job = load(tmp_path, trees(4))
    right = of_leaves(job)
    one = sensitivity_of_leaves(1)
    small = replace(right, sensitivity=one, std=right.std * one / right.sensitivity)
    report = audited(small.write)
    assert hold_claims(job, [audited(right.write)]) == []
    sensitivity, std = hold_claims(job, [report])
    assert sensitivity.startswith("the sensitivity is 256.7")
    assert sensitivity.endswith(f"at north; {right.sensitivity:.6g} by the job")
    assert "the std of a party's noise" in std


def test_parties_that_record_alike_are_told_together(tmp_path: Path) -> None:
    text = VECTORS + NOISE + OF_VECTORS
    write = of_vectors(load(tmp_path, text)).write
    job = load(tmp_path, text.replace("1e-4", "1e-5"))
    found = hold_claims(job, [audited(write, party) for party in ("north", "east")])
    assert found == ["the delta is 0.0001 at north, east; 1e-05 by the job"]


def test_values_that_the_job_has_no_noise_for_are_told(tmp_path: Path) -> None:
    job = load(tmp_path, VECTORS + NOISE + OF_VECTORS)
    (text,) = hold_claims(job, [audited(replace(of_vectors(job), value_count=10**12, levels=None, clip=None).write)])
    assert text.startswith("sums of 1,000,000,000,000 values at north; whose noise the job refuses: lanes of")


def test_sums_without_noise_are_told_where_the_job_has_some(tmp_path: Path) -> None:
    def upload(ledger: Ledger) -> None:
        ledger.record("sent", "hub", "round-1/upload-7/upload", UPLOAD_KIND, (), b"block")

    job = load(tmp_path, VECTORS + NOISE + OF_VECTORS)
    assert hold_claims(job, [audited(lambda ledger: None)]) == []
    assert hold_claims(job, [audited(upload)]) == [
        "no noise of the sums that were sent at north; and the job has [privacy]"
    ]
    assert hold_claims(load(tmp_path, VECTORS), [audited(upload)]) == []


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (LabelsRecord(1.5, 2, 0.81), []),
        (LabelsRecord(2.0, 2, 0.81), ["the epsilon of labels is 2 at north; 1.5 by the job"]),
        (LabelsRecord(1.5, 3, 0.5), ["the classes of labels are 3 at north; 2 by the job"]),
    ],
)
def test_replaced_labels_are_held_against_the_job(tmp_path: Path, record: LabelsRecord, found: list[str]) -> None:
    text = COLUMNS + 'data = "rows"\nclasses = ["no", "yes"]\n'
    assert hold_claims(load(tmp_path, text + "[label_privacy]\nepsilon = 1.5\n"), [audited(record.write)]) == found
    (none,) = hold_claims(load(tmp_path, text), [audited(record.write)])
    assert none == "replaced labels at north; and the job has no [label_privacy]"


def test_labels_that_no_guest_says_it_replaced_are_told(tmp_path: Path) -> None:
    """But for an intersection or a prediction, which have no use for labels, and for hosts."""

    def sent(step: str):
        return lambda ledger: ledger.record("sent", "insurer", step, "trees/gradients", (), b"gradients")

    text = COLUMNS + 'data = "rows"\nclasses = ["no", "yes"]\n'
    private = load(tmp_path, text + "[label_privacy]\nepsilon = 1.5\n")
    for step in ("tree-1/gradients", "epoch-1/batch-1"):
        (told,) = hold_claims(private, [audited(sent(step), "bank")])
        assert told == "no labels were replaced at bank; and the job has [label_privacy]"
        assert hold_claims(private, [audited(sent(step), "insurer")]) == []
        assert hold_claims(load(tmp_path, text), [audited(sent(step), "bank")]) == []
    for step in ("masked-points", "predict/call"):
        assert hold_claims(private, [audited(sent(step), "bank")]) == []
