"""The reference of exit codes and errors: every class of hekat.errors, what it says and what to do."""

from __future__ import annotations

import inspect

from hekat import errors
from hekat.cli.exit_codes import ExitCode
from hekat.errors import HekatError

# What helps against each kind in general; each single refusal brings a cure of its own.
CURES = {
    "HekatError": "every error of Hekat is one: catch it to catch all",
    "InputError": "correct the value that it names; `index` says which of an array's values",
    "BoundError": "give a larger `bound`, or fewer addends; nothing was computed",
    "DivergedError": "lower training.learning_rate, or look for rows of another unit, and begin a new run: the "
    "unchanged job would diverge again",
    "KeyRefusedError": "use a key of the right kind and size, from the right file",
    "EngineError": "`hekat doctor` says which engines are there, and why one is not",
    "FaultError": "run it again; if it comes back, the machine computes wrongly (memory, overclocking)",
    "ProtocolError": "compare job files, code and data of the parties it names",
    "AlteredSumError": "the aggregator, or a party, altered a sum: find out which before anybody goes on. The note in "
    "the state folder that the error names stops the job until the operator removes it",
    "LongSumError": "a party sent an update longer than `codec.max_norm`, or the aggregator altered the sum: find out "
    "which before anybody goes on",
    "MaskError": "give every party one mask, from one file or what they agreed on; where a map is too large, ask who "
    "runs other code",
    "ModelsDifferError": "parties ended with different models: compare what each received, by `hekat audit`",
    "WireError": "the bytes are no object of Hekat's: check the file",
    "WireTruncatedError": "the file or message was cut off: copy it again",
    "WireCorruptError": "the file was damaged: copy it again",
    "WireVersionError": "update Hekat here, or write the file with the older release",
    "WireOversizeError": "no honest sender declares so much: check whose bytes these are",
    "WireKindError": "give the kind of file that it asks for",
    "WireKeyError": "use the key that the ciphertexts were made under",
    "ChannelError": "check that the other roles run",
    "ChannelTimeoutError": "start the role that it names, or raise `timeout_s` in the job",
    "PartyStoppedError": "mend what stopped the party that it names, then `--resume`",
    "PartyLostError": "the run goes on without that party; it comes back in a resumed run",
    "SealError": "somebody altered, replayed or redirected a message: check keys, and who carries messages",
    "LedgerError": "the ledger does not hold, or two do not agree: ask for the original file",
    "PolicyError": "change the job, or let the site's owner allow it in the site file",
    "BudgetError": "train fewer rounds or with more noise, or let the site's owner raise the limit; what was charged "
    "stays charged",
    "JobError": "correct the line of the job or site file that it names",
    "StateError": "name the folder that holds the state, or free the disk; Hekat writes nothing half",
}
_HEAD = """# Exit codes and errors

## Exit codes

| code | means | do |
|---|---|---|
{codes}

Nobody has to read what a command prints: where a reader leaves (`hekat run job.toml | head`) or the terminal closes,
the command goes on without a word to its end and its own exit code. Where output cannot be written for another reason,
such as a full disk, the command goes on too, and then ends with 2. Signs that the terminal's encoding lacks are shown
in plain ones (`x` for a multiplication sign, `\\xfc` for a letter). A run whose report does not fit on the disk is
finished and ends with 2: `hekat report RUN` writes the page once there is room.

## What an error looks like

```
error: training.rounds has the wrong type
  expected: a whole number
  got: a text in quotes
  cure: correct training.rounds
```

An error names shapes, sizes, types, roles and steps. It never holds a value of your data, a key or randomness. With
`--json` the same parts come as JSON. An exception that nobody foresaw ends a command with its type and place alone;
[`HEKAT_DEBUG=1`](environment.md) shows the traceback.

## Kinds of errors

In Python every one is a class of `hekat.errors` with the attributes `what`, `expected`, `got` and `cure`.

| class | is | says | cure |
|---|---|---|---|
{classes}
"""


def error_classes() -> dict[str, type[HekatError]]:
    """Every class of errors, a base before what derives from it."""
    members = inspect.getmembers(errors, lambda value: inspect.isclass(value) and issubclass(value, HekatError))
    return dict(sorted(members, key=lambda member: inspect.getsourcelines(member[1])[1]))


def render_errors() -> str:
    """docs/reference/errors.md."""
    codes = "\n".join(f"| {code.value} | {code.meaning} | {code.cure} |" for code in ExitCode)
    rows = []
    for name, error in error_classes().items():
        bases = ", ".join(f"`{base.__name__}`" for base in error.__bases__)
        says = (inspect.getdoc(error) or "").split("\n\n")[0].replace("\n", " ")
        rows.append(f"| `{name}` | {bases} | {says} | {CURES[name]} |")
    return _HEAD.format(codes=codes, classes="\n".join(rows))
