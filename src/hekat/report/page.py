"""Puts one run on one HTML page that asks nothing of anybody else: no script, font, style or picture from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

from hekat.report import findings, plots
from hekat.report.bits import bits_sentence, bits_table
from hekat.report.by_role import byte_step_table
from hekat.report.byte_text import byte_sentences, byte_table
from hekat.report.clipped import clip_table
from hekat.report.html_table import table_html
from hekat.report.losses import loss_headline, loss_sentences, sample_sentences
from hekat.report.plot_bits import plot_bits
from hekat.report.plot_clipping import plot_clipping
from hekat.report.plots_by_role import plot_role_bytes, plot_role_time
from hekat.report.seen import seen_table
from hekat.report.style import STYLE
from hekat.report.tables import (
    Table,
    party_table,
    result_table,
    role_byte_table,
    role_time_table,
    time_table,
)
from hekat.report.validation_tables import validation_round_table, validation_sentence, validation_table

# The browser itself then refuses whatever might come from elsewhere.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_SETTING_NAMES = {
    "algorithm": "algorithm",
    "rounds": "rounds, at most",
    "local_epochs": "passes over the own rows per round",
    "batch_rows": "rows per batch (0: all)",
    "learning_rate": "learning rate",
    "optimiser": "server optimiser",
    "optimiser_settings": "its settings",
    "proximal_mu": "proximal mu",
    "error_feedback": "error feedback",
    "stop_at_loss": "stops at a loss of",
    "standardise": "columns standardised",
    "model": "model",
    "hidden": "hidden layers",
    "l2": "L2 penalty",
    "parameters": "tensors that are trained",
    "value_bits": "bits per value",
    "layout": "packing layout",
    "rounding": "rounding",
    "clipping": "clipping bound",
    "protection": "protection",
    "key_bits": "key size in bits",
    "opening": "who opens sums",
    "openers": "by name",
    "openers_needed": "of whom it takes",
    "parameter_set": "parameter set",
    "ring": "its ring",
    "security": "its security",
    "hold_out": "share of rows held out",
    "validate_every": "rounds between validations",
    "score_bins": "bins of scores for the AUC",
    "participation": "part of the parties that trains in a round",
    "sample_size": "parties that train in a round",
    "min_parties": "least updates in a sum",
    "weight_max": "public bound on a party's rows",
    "aggregator": "aggregator",
    "leader": "party that hands out what all share",
    "classes": "classes",
}


def render_page(summary: Mapping[str, Any]) -> str:
    """The whole page. Raises HekatError where matplotlib is not installed."""
    title = f"Hekat run: {summary['job']}"
    sections = [
        _head(summary, title),
        _section(
            "Who took part",
            table_html(party_table(summary)),
            _paragraphs(*sample_sentences(summary), *loss_sentences(summary)),
            _items(summary["notes"]),
        ),
        _section(
            "Results",
            table_html(result_table(summary)),
            _paragraphs(*findings.difference_sentences(summary), findings.granularity_sentence(summary)),
            _figure(plots.plot_results(summary)),
            table_html(validation_table(summary)),
        ),
        _bits(summary),
        _section(
            "How training went",
            _paragraphs(findings.round_sentence(summary), validation_sentence(summary)),
            _figure(plots.plot_convergence(summary)),
            table_html(validation_round_table(summary), small=True),
        ),
        _exactness(summary),
        _section(
            "Time",
            _paragraphs(*findings.time_sentences(summary)),
            _figure(plots.plot_time(summary)),
            table_html(time_table(summary)),
            _figure(plot_role_time(summary)),
            table_html(role_time_table(summary), small=True),
        ),
        _section(
            "Bytes",
            _paragraphs(*byte_sentences(summary)),
            _figure(plots.plot_bytes(summary)),
            table_html(byte_table(summary)),
            _figure(plot_role_bytes(summary)),
            table_html(role_byte_table(summary)),
            table_html(byte_step_table(summary)),
        ),
        _section(
            "Clipped values",
            _paragraphs(findings.clipping_sentence(summary)),
            _figure(plot_clipping(summary)),
            table_html(clip_table(summary), small=True),
        ),
        _aggregator(summary),
        _settings(summary),
        _checks(summary),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(sections)
        + "\n</main>\n</body>\n</html>\n"
    )


def _head(summary: Mapping[str, Any], title: str) -> str:
    parts = [f"<h1>{_text(title)}</h1>"]
    parts.append(
        f'<p class="when">Run <code>{_text(summary["run_id"])}</code>, finished {_text(summary["finished_at"])}</p>'
    )
    if not findings.is_encrypted(summary):
        parts.append(
            '<p class="alarm" role="alert"><strong>This run was NOT protected.</strong> '
            "Protection was set to <code>none</code>: the aggregator could read every party's update. Updates can give "
            "away the rows they were made from. Use this setting for comparisons on public data only.</p>"
        )
    parts.append(f'<p class="verdict">{_text(findings.verdict(summary))}</p>')
    for caution in (loss_headline(summary), findings.key_warning(summary)):
        if caution is not None:
            parts.append(f'<p class="caution">{_text(caution)}</p>')
    return "<header>\n" + "\n".join(parts) + "\n</header>"


def _exactness(summary: Mapping[str, Any]) -> str:
    explained = (
        "Before encryption, values are rounded to whole numbers; encrypted sums of those are exact. So an average "
        "can differ from the one in ordinary floating point only by rounding, and by how much at most is known "
        "beforehand. This check compares the two in each sum; a point shows the value that came nearest to its bound."
    )
    return _section(
        "Is the encrypted sum right?",
        _paragraphs(*findings.exactness_sentences(summary), explained if summary["exactness"] else None),
        _figure(plots.plot_exactness(summary)),
    )


def _bits(summary: Mapping[str, Any]) -> str:
    table = bits_table(summary)
    if table is None:
        return ""
    return _section(
        "How many bits a value needs",
        _paragraphs(bits_sentence(summary)),
        _figure(plot_bits(summary)),
        table_html(table),
    )


def _aggregator(summary: Mapping[str, Any]) -> str:
    if not summary["aggregator_saw"]:
        return _section("What the aggregator could see", _paragraphs("Not recorded in this summary."))
    return _section("What the aggregator could see", table_html(seen_table(summary)))


def _settings(summary: Mapping[str, Any]) -> str:
    settings = summary["settings"]
    names = [name for name in _SETTING_NAMES if name in settings] + [n for n in settings if n not in _SETTING_NAMES]
    chosen: list[tuple[str, ...]] = [(_SETTING_NAMES.get(name, str(name)), _value(settings[name])) for name in names]
    machine: list[tuple[str, ...]] = [
        (f"engine: {key}" if key != "name" else "engine", _value(value)) for key, value in summary["engine"].items()
    ]
    machine += [(key, _value(value)) for key, value in summary["machine"].items()]
    machine += [(f"{key} version", value) for key, value in summary["versions"].items()]
    return _section(
        "Settings, versions, machine",
        table_html(Table("Settings of the job", ("setting", "value"), tuple(chosen), text_columns=2)),
        table_html(Table("Machine and versions", ("what", "value"), tuple(machine), text_columns=2)),
        f'<p class="note">Job file SHA-256: <code>{_text(summary["job_digest"])}</code>. '
        "All parties must hold the same file; sessions between different ones do not open.</p>",
    )


def _checks(summary: Mapping[str, Any]) -> str:
    run = _text(summary["run_id"])
    return _section(
        "Check it yourself",
        "<p>In the folder where the run was started:</p>",
        f"<pre>hekat audit runs/{run}     # verifies every ledger: who learned what, in which step\n"
        f"hekat report runs/{run}    # writes this page anew from summary.json</pre>",
        "<p>Every figure here comes from <code>summary.json</code> in the run's folder. Each role's ledger in "
        "<code>ledger/</code> is chained and signed with that role's own key, so a changed line shows.</p>",
    )


def _section(title: str, *parts: str) -> str:
    return f"<section>\n<h2>{_text(title)}</h2>\n" + "\n".join(part for part in parts if part) + "\n</section>"


def _paragraphs(*sentences: str | None) -> str:
    return "\n".join(f"<p>{_text(sentence)}</p>" for sentence in sentences if sentence)


def _items(lines: Iterable[str]) -> str:
    items = "\n".join(f"<li>{_text(_capitalise(line))}</li>" for line in lines)
    return f"<p>Keep in mind:</p>\n<ul>\n{items}\n</ul>" if items else ""


def _figure(drawing: str | None) -> str:
    return f"<figure>\n{drawing}\n</figure>" if drawing else ""


def _value(value: Any) -> str:
    match value:
        case None:
            return "not set"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(str(item) for item in value) or "none"
        case _:
            return str(value)


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def _text(text: str) -> str:
    return html.escape(text, quote=True)
