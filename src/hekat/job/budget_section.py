"""The table [party.NAME.privacy] of a site file: the privacy budget of the party's rows, over all jobs."""

from __future__ import annotations

import math

from hekat.errors import JobError
from hekat.job.section import Section
from hekat.privacy.accounting import NEIGHBOURS
from hekat.protocol.horizontal.privacy_settings import UNITS
from hekat.state.privacy_budget import BudgetTerms


def read_budget(section: Section) -> BudgetTerms | None:
    """The table; None where the site grants none. Raises JobError."""
    if not section.remaining():
        return None
    terms = BudgetTerms(
        data_set=section.take("data_set", str),
        unit=section.take_choice("unit", UNITS),
        neighbours=section.take_choice("neighbours", NEIGHBOURS),  # type: ignore[arg-type]  # one of these
        delta=section.take("delta", float),
        limit=section.take("epsilon", float),
        colluders=section.take_optional("colluders", int),
    )
    if terms.colluders is not None and terms.colluders < 1:
        raise JobError(
            f"{section.place}.colluders refused",
            expected="1 (each party by itself) or more parties that may work together",
            got=str(terms.colluders),
            cure=f"correct {section.place}.colluders, or leave it out: all but two of the parties in each sum",
        )
    if not terms.data_set.strip():
        raise JobError(
            f"{section.place}.data_set refused",
            expected="a name for the rows that all jobs on them share",
            got=repr(terms.data_set),
            cure=f"name the rows in {section.place}.data_set",
        )
    for key, value, most in (("delta", terms.delta, 1.0), ("epsilon", terms.limit, math.inf)):
        if not 0 < value < most:
            raise JobError(
                f"{section.place}.{key} refused",
                expected="a number above 0" if math.isinf(most) else "a chance above 0, below 1",
                got=f"{value}",
                cure=f"correct {section.place}.{key}",
            )
    section.finish()
    return terms
