"""The HTML that pages of runs are made of: the frame that asks nothing of anybody else, sections, lists, figures."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hekat.report.brief import Brief, join_parties
from hekat.report.number_text import capitalise
from hekat.report.page.html_table import table_html
from hekat.report.page.style import STYLE
from hekat.report.table import Table

_UTC = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\+00:00")
# The browser itself then refuses whatever might come from elsewhere.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page_html(title: str, sections: Sequence[str], *, holds_pictures: bool = False) -> str:
    """The whole page of these sections, the header among them; `holds_pictures`: some stand in it as data."""
    policy = f"{_POLICY}; img-src data:" if holds_pictures else _POLICY
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(sections)
        + "\n</main>\n</body>\n</html>\n"
    )


def head_html(
    summary: Mapping[str, Any],
    title: str,
    verdict: str,
    brief: Brief,
    *,
    alarm: str | None = None,
    cautions: Iterable[str | None],
) -> str:
    """What stands on top: which run, the verdict, cautions, the run in short.

    With `alarm` it says first that nothing was protected, and why.
    """
    run_id, finished_at = escaped(summary["run_id"]), escaped(_shown_time(summary["finished_at"]))
    parts = [f"<h1>{escaped(title)}</h1>", f'<p class="when">Run <code>{run_id}</code>, finished {finished_at}</p>']
    if alarm is not None:
        parts.append(f'<p class="alarm" role="alert"><strong>This run was NOT protected.</strong> {alarm}</p>')
    parts.append(f'<p class="verdict">{escaped(verdict)}</p>')
    parts += [f'<p class="caution">{escaped(caution)}</p>' for caution in cautions if caution is not None]
    return "<header>\n" + "\n".join([*parts, brief_html(brief)]) + "\n</header>"


def section_html(title: str, *parts: str) -> str:
    """A section; parts that are empty are left out."""
    return f"<section>\n<h2>{escaped(title)}</h2>\n" + "\n".join(part for part in parts if part) + "\n</section>"


def paragraphs_html(*sentences: str | None) -> str:
    """A paragraph for each sentence that is one."""
    return "\n".join(f"<p>{escaped(sentence)}</p>" for sentence in sentences if sentence)


def brief_html(brief: Brief) -> str:
    """What the run prints in short but for its first fact, which is the verdict: a term and its sentences each."""
    items = "\n".join(
        f"<dt>{escaped(capitalise(label))}</dt><dd>{escaped(text)}</dd>" for label, text in brief.facts[1:]
    )
    return f'<dl class="brief">\n{items}\n</dl>'


def caveats_html(summary: Mapping[str, Any]) -> str:
    """What to keep in mind, as a section; empty where there is nothing."""
    names = tuple(party["name"] for party in summary["parties"])
    lines = [caveat if caveat.startswith(names) else capitalise(caveat) for caveat in join_parties(summary["notes"])]
    items = "\n".join(f"<li>{escaped(line)}</li>" for line in lines)
    return section_html("Keep in mind", f"<ul>\n{items}\n</ul>") if items else ""


def html_of_tables(*tables: Table | None) -> str:
    """These tables, one below the other."""
    return "\n".join(table_html(table) for table in tables if table is not None)


def figure_html(drawing: str | None) -> str:
    """A drawing in its frame; empty where nothing was drawn."""
    return f"<figure>\n{drawing}\n</figure>" if drawing else ""


def settings_html(summary: Mapping[str, Any], setting_names: Mapping[str, str]) -> str:
    """Settings of the job under the names that readers know, machine and versions, the digest of the job file."""
    settings = summary["settings"]
    names = [name for name in setting_names if name in settings] + [n for n in settings if n not in setting_names]
    chosen: list[tuple[str, ...]] = [(setting_names.get(name, str(name)), _shown(settings[name])) for name in names]
    machine: list[tuple[str, ...]] = [
        (f"engine: {key}" if key != "name" else "engine", _shown(value)) for key, value in summary["engine"].items()
    ]
    machine += [(key, _shown(value)) for key, value in summary["machine"].items()]
    machine += [(f"{key} version", value) for key, value in summary["versions"].items()]
    return section_html(
        "Settings, versions, machine",
        table_html(Table("Settings of the job", ("setting", "value"), tuple(chosen), text_columns=2)),
        table_html(Table("Machine and versions", ("what", "value"), tuple(machine), text_columns=2)),
        f'<p class="note">Job file SHA-256: <code>{escaped(summary["job_digest"])}</code>. '
        "All parties must hold the same file; sessions between different ones do not open.</p>",
    )


def checks_html(summary: Mapping[str, Any]) -> str:
    """How a reader checks the run."""
    run = escaped(summary["run_id"])
    return section_html(
        "Check it yourself",
        "<p>In the folder where the run was started:</p>",
        f"<pre>hekat audit runs/{run}     # verifies every ledger: who learned what, in which step\n"
        f"hekat report runs/{run}    # writes this page anew from summary.json</pre>",
        "<p>Every figure here comes from <code>summary.json</code> in the run's folder. Each role's ledger in "
        "<code>ledger/</code> is chained and signed with that role's own key, so a changed line shows.</p>",
    )


def escaped(text: str) -> str:
    """`text` as it stands, nothing of it markup."""
    return html.escape(text, quote=True)


def _shown_time(text: str) -> str:
    """A time of the summary, such as 2026-01-02T10:00:00+00:00, as people read it; any other text as it stands."""
    found = _UTC.fullmatch(text)
    return f"{found[1]} {found[2]} UTC" if found else text


def _shown(value: Any) -> str:
    match value:
        case None:
            return "not set"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(str(item) for item in value) or "none"
        case _:
            return str(value)
