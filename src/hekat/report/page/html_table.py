"""A table of a report as HTML, for the page and for notebooks alike."""

from __future__ import annotations

from html import escape

from hekat.report.table import Table


def table_html(table: Table | None, *, small: bool = False) -> str:
    """The table with its caption and note, everything escaped; empty for None."""
    if table is None:
        return ""
    head = "".join(_cell("th", name, column, table, scope="col") for column, name in enumerate(table.columns))
    rows = []
    for row, cells in enumerate(table.rows):
        rows.append(
            "<tr>" + "".join(_body_cell(table, row, column, cell) for column, cell in enumerate(cells)) + "</tr>"
        )
    note = f'\n<p class="note">{escape(table.note)}</p>' if table.note else ""
    kind = "wide small" if small else "wide"
    return (
        f'<div class="{kind}">\n<table>\n<caption>{escape(table.title)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(rows) + f"\n</tbody>\n</table>\n</div>{note}"
    )


def _body_cell(table: Table, row: int, column: int, text: str) -> str:
    if column == 0:
        return _cell("th", text, column, table, scope="row")
    return _cell("td", text, column, table, best=(row, column) in table.marked)


def _cell(tag: str, text: str, column: int, table: Table, *, scope: str = "", best: bool = False) -> str:
    classes = [*(["number"] if column >= table.text_columns else []), *(["best"] if best else [])]
    attributes = (f' scope="{scope}"' if scope else "") + (f' class="{" ".join(classes)}"' if classes else "")
    return f"<{tag}{attributes}>{escape(text)}{' ★' if best else ''}</{tag}>"
