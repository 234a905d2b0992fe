"""The page of `hekat attack`: what a reader of updates could see, at which mask, in words, pictures and scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hekat.report.attack.findings import LOWER_BOUNDS, first_score, verdict
from hekat.report.attack.sheet import Pictures, contact_sheet_html
from hekat.report.attack.tables import attack_table, machine_table, score_table, trial_table
from hekat.report.page.parts import escaped, html_of_tables, page_html, paragraphs_html, section_html

_WHAT = (
    "Each update was computed from the rows as a party of federated training computes it. Then a mask hid some of its "
    "values, as selective encryption does, and an attacker who has the model and every visible value looked for rows "
    "that would have given them."
)
_FULL = (
    "Where every value is masked, as in Hekat's runs by default, the aggregator has nothing to compare a guess with. "
    "The sum of several parties' updates opens even then: an update of all their rows together, see --batch-rows."
)
_PICTURES = (
    "SSIM comes first: it is near 0 for noise at any size. MSSIM, VIF and UQI are FedML-HE's scores, of the library "
    "that it used. On small pictures they are far from 0 for noise too, which is what the floor is for."
)
_CELLS = (
    "A cell counts as read within a twentieth of its column's width, from the smallest to the largest of these rows."
)
_TOKENS = (
    "Tokens are the rows of an embedding's gradient that are not zero; rare ones stand in no other row of the file. "
    "The floor is a guess of as many tokens. Their order is not read: a language model would find most of it."
)
_SCORES = {"ssim": _PICTURES, "cells": _CELLS, "tokens": _TOKENS}


def render_attack_page(findings: Mapping[str, Any], pictures: Pictures) -> str:
    """The whole page: HTML that asks nothing of anybody else.

    Args:
        findings: As scores.json holds them.
        pictures: The rows and what came back of them; empty where rows are no pictures.
    """
    title = f"What an update of {findings['model']['function']} tells of its rows"
    cautions = [LOWER_BOUNDS]
    if findings["attack"]["attacker"] == "naive":
        cautions.append(
            "The attacker here does not know the mask, as in the paper's setting as we read it. One who knows it finds "
            "more: --attacker adaptive."
        )
    if not findings["complete"]:
        cautions.append("The attack was interrupted: only finished trials are here.")
    cautions.append(
        "The pictures and scores are of personal data where the rows are: keep this folder as you keep them."
    )
    head = "\n".join(
        [
            "<header>",
            f"<h1>{escaped(title)}</h1>",
            f'<p class="verdict">{escaped(verdict(findings))}</p>',
            *(f'<p class="caution">{escaped(caution)}</p>' for caution in cautions),
            "</header>",
        ]
    )
    sections = [
        head,
        section_html("What came back", paragraphs_html(_WHAT), contact_sheet_html(findings, pictures)),
        section_html("Scores", paragraphs_html(_SCORES[first_score(findings)]), html_of_tables(score_table(findings))),
        section_html("What this says of a real run", paragraphs_html(_FULL)),
        section_html(
            "How it was attacked",
            html_of_tables(attack_table(findings), trial_table(findings), machine_table(findings)),
        ),
    ]
    return page_html(title, sections, holds_pictures=True)
