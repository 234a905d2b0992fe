"""The contact sheet: each attacked row beside what came back of it at each mask, with scores below the pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.report.attack.findings import first_score, looks_like, trials_of
from hekat.report.attack.tables import format_score, score_names, score_title
from hekat.report.page.parts import escaped

Pictures = Mapping[tuple[int, str | None], npt.NDArray[np.uint8]]
"""By row number and mask, None for the row itself; shape (height, width, channels)."""


def contact_sheet_html(findings: Mapping[str, Any], pictures: Pictures) -> str:
    """The sheet as a table of pictures; empty where rows are no pictures."""
    if not pictures:
        return ""
    masks = [mask["name"] for mask in findings["masks"] if trials_of(findings, mask["name"])]
    scores = {
        (row, trial["mask"]): found
        for trial in findings["trials"]
        for row, found in zip(trial["rows"], trial["scores"], strict=True)
    }
    head = "".join(f'<th scope="col">{escaped(title)}</th>' for title in ("the row", *masks))
    lines = []
    for row in [number for number, mask in pictures if mask is None]:
        cells = [f'<th scope="row">{_picture(pictures[row, None], f"row {row}")}<p>row {row}</p></th>']
        cells += [_cell(row, mask, pictures, scores.get((row, mask)), findings) for mask in masks]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return (
        '<div class="wide">\n<table class="sheet">\n<caption>Rows, and what came back of them</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody>\n</table>\n</div>\n"
        '<p class="note">Below each picture: score (floor to ceiling). The floor is the mean of ten random pictures '
        "against the row, the ceiling the row saved as a JPEG of quality 75.</p>"
    )


def _cell(
    row: int, mask: str, pictures: Pictures, scores: Mapping[str, Any] | None, findings: Mapping[str, Any]
) -> str:
    if scores is None:
        return "<td><p>not reached</p></td>"
    words = looks_like(scores.get(first_score(findings)), is_picture=True)
    if (row, mask) not in pictures:
        return f"<td><p>{escaped(words)}</p></td>"
    lines = [
        f"{score_title(name)} <b>{format_score(scores[name]['value'])}</b> "
        f"({format_score(scores[name]['floor'])} to {format_score(scores[name]['ceiling'])})"
        for name in score_names(findings)
        if name in scores
    ]
    picture = _picture(pictures[row, mask], f"what came back of row {row} at {mask}")
    return f"<td>{picture}<p>{escaped(words)}</p><p>{'<br>'.join(lines)}</p></td>"


def _picture(pixels: npt.NDArray[np.uint8], description: str) -> str:
    """An image in the page itself; channels other than one or three as one grey mean."""
    from PIL import Image

    if pixels.shape[2] == 3:
        image = Image.fromarray(np.ascontiguousarray(pixels))
    else:
        image = Image.fromarray(np.rint(pixels.mean(axis=2)).astype(np.uint8))
    file = io.BytesIO()
    image.save(file, format="PNG")
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<img alt="{escaped(description)}" src="data:image/png;base64,{data}">'
