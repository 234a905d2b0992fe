"""Categories that the parties find together: what a role goes on with once they are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hekat.data import Table
from hekat.data.columns.findings import ColumnsRefusedError
from hekat.data.columns.found import Vocabulary
from hekat.errors import InputError, ProtocolError, StateError
from hekat.run.horizontal.evaluation import evaluation_of
from hekat.run.horizontal.load_inputs import HorizontalInputs
from hekat.run.horizontal.role import RoleContext
from hekat.run.horizontal.training_state_file import CHECKPOINT_FILE, DOUBTFUL_FILE, EARLIER_FILE, load_vocabulary


class SettledInputs:
    """The inputs of a role as they were loaded, and from `settle` on with the categories that the parties found."""

    def __init__(self, inputs: HorizontalInputs) -> None:
        self.inputs = inputs

    def settle(self, context: RoleContext, vocabulary: Vocabulary) -> RoleContext:
        """The role's context with these categories. Raises InputError where its table or test data do not fit them."""
        if self.inputs.is_settled:
            # This machine holds all tables, so that it knew before what the parties would find.
            if self.inputs.job.vocabulary != vocabulary:
                raise ProtocolError(
                    "the parties found other categories than their tables hold",
                    expected="the texts that a table here offers, and no others",
                    got="others",
                    cure="begin a new run; report it if it comes again",
                )
            return with_settled_table(self.inputs, context)
        try:
            self.inputs = self.inputs.settle(vocabulary)
        except ColumnsRefusedError as error:
            # Every role hears why one stopped, and the aggregator is not to learn categories by it.
            raise InputError(
                error.what,
                expected="no text beside the categories that the parties found",
                got=error.got,
                cure="say under [columns.NAME] in the job what other texts become: other = true, or unknown; or "
                "correct the cells",
            ) from None
        return replace(
            with_settled_table(self.inputs, context),
            job=self.inputs.job,
            evaluate=evaluation_of(self.inputs),
            make_model=self.inputs.maker_of(context.role),
            model_caveats=self.inputs.model_caveats,
        )


def opening_table(inputs: HorizontalInputs, role: str) -> Table | None:
    """The table that a role begins with: where categories are to be found, as it was loaded."""
    return (inputs.open_tables or inputs.tables).get(role)


def with_settled_table(inputs: HorizontalInputs, context: RoleContext) -> RoleContext:
    """The context of a role for which no categories are left to be found."""
    return replace(context, table=inputs.tables.get(context.role), settle=None)


def settle_as_before(folder: Path, inputs: HorizontalInputs) -> HorizontalInputs:
    """The inputs with the categories that the run in `folder` found; as they are where it left no checkpoint.

    Raises StateError where a table offers a text that is none of them: it is not the table of that run.
    """
    paths = [folder / name for name in (CHECKPOINT_FILE, EARLIER_FILE, DOUBTFUL_FILE)]
    path = next((path for path in paths if path.is_file()), None)
    if not inputs.open_tables or path is None:
        return inputs
    vocabulary = load_vocabulary(path, inputs.job)
    for party, table in inputs.open_tables.items():
        assert table.open_categories is not None  # the job finds categories
        offers = table.open_categories.offers
        others = [column for column, texts in offers.items() if not set(texts) <= set(vocabulary[column])]
        if others:
            raise StateError(
                f"the table of {party} holds categories that the run in {folder} did not find",
                expected="the tables as they were when it began",
                got=f"other texts in column {others[0]!r}",
                cure="put the table back as it was, or begin a new run, which finds the categories anew",
            )
    return inputs.settle(vocabulary)
