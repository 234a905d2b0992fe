"""What an audit found of differential privacy, in lines of text."""

from __future__ import annotations

from hekat.ledger.privacy.reckon import ChargedSum, PrivacyAudit
from hekat.ledger.privacy.records import LabelsRecord, NoiseRecord
from hekat.ledger.text_table import format_table

_MOST_ROWS = 12


def say_privacy(found: PrivacyAudit) -> str:
    """Whom the noise protects and how far, epsilon by round, the site's budget, replaced labels, and what was waived;
    every number reckoned anew from the recorded noise."""
    lines = [f"  BUDGET WAIVED: {text}" for text in found.waived]
    lines += [line for noise in found.noise for line in _say_noise(noise)]
    if found.noise:
        lines += _say_sums(found)
    lines += [_say_labels(labels) for labels in found.labels]
    return "\n".join(lines)


def _say_noise(noise: NoiseRecord) -> list[str]:
    rows = "" if noise.sampling == 1 else f", each row in a sum by a secret coin of {noise.sampling:g}"
    norm = "" if noise.clip is None else f"{noise.clip:.4g}, or "
    clip = "a bound that the job's kind sets" if noise.levels is None else f"a clip of {norm}{noise.levels:,} levels"
    return [
        f"  protects one {noise.unit} ({noise.neighbours}) at delta {noise.delta:g}{rows}",
        f"  noise z = {noise.noise:.4g} against {noise.colluders} of the fewest {noise.least_parties} parties in a sum "
        f"({noise.noise_at_one:.4g} against one): a std of {noise.std:.6g} levels a party, sensitivity "
        f"{noise.sensitivity:.6g} from {clip} and {noise.value_count:,} values",
    ]


def _say_sums(found: PrivacyAudit) -> list[str]:
    charged = found.charged
    lines = [f"  sums with noise: {len(charged)} charged before they left, {found.sent_count} sent"]
    if found.exact_count:
        lines.append(f"  SUMS WITHOUT NOISE beside them: {found.exact_count}; epsilon says nothing of what these tell")
    if charged and charged[-1].releases > len(charged):
        before = charged[-1].releases - len(charged)
        lines.append(f"  releases in all: {charged[-1].releases}, {before} of them in other runs")
    if found.limit is not None:
        spent = "no finite epsilon" if found.spent is None else f"epsilon {found.spent:.4g}"
        lines.append(f"  the site's budget: {spent} of {found.limit:g} spent by all jobs, as this party recorded it")
    elif charged:
        lines.append("  no budget counted these releases beside other ones")
    if charged:
        rows = [_row(one) for one in _some(charged)]
        titles = ["sum", "releases", "zCDP of it", "epsilon so far", "at t_c = 1"]
        lines += ["", format_table(titles, rows, right_aligned={1, 2, 3, 4})]
    return lines


def _row(one: ChargedSum) -> list[str]:
    epsilons = ["none finite" if each is None else f"{each:.4g}" for each in (one.epsilon, one.epsilon_at_one)]
    return [one.step, f"{one.releases:,}", f"{one.rho:.4g}", *epsilons]


def _some(charged: tuple[ChargedSum, ...]) -> list[ChargedSum]:
    """All, or some that lie evenly between the first and the last."""
    last = len(charged) - 1
    if last < _MOST_ROWS:
        return list(charged)
    return [charged[place * last // (_MOST_ROWS - 1)] for place in range(_MOST_ROWS)]


def _say_labels(labels: LabelsRecord) -> str:
    return (
        f"  labels of {labels.classes} classes replaced once for all runs: epsilon {labels.epsilon:g} of each label, "
        f"{labels.keep_odds:.2%} stay as they are"
    )
