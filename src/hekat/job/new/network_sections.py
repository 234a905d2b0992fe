"""The sections of a new job of a split network, with every setting at its default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from hekat.job.new.new_guest_job import NewGuestJob
from hekat.job.new.template_lines import chosen, default, example
from hekat.job.new.trees.guest_sections import matching_sections, task_section
from hekat.protocol.vertical_network.network_settings import NetworkShape, NetworkTraining
from hekat.protocol.vertical_network.sealed.settings_rules import TRAINING as SEALED_TRAINING
from hekat.protocol.vertical_network.sealed.settings_rules import UNUSED
from hekat.protocol.vertical_network.settings import (
    LABELS_ACCEPTED,
    ROTATION_ACCEPTED,
    SEALED,
    SLOPES_ACCEPTED,
    VerticalNetworkSettings,
)

_KIND = '"lattice"; "none" only where a site allows'
_WAIVED = "what hosts let the guest learn; sites allow it: column_leak_waiver"
_TRAINING = {
    "epochs": "passes over the common rows, at most",
    "batch_rows": "rows in a batch, drawn once and kept",
    "learning_rate": "of Adam: the guest's layers, and bottoms of hosts that train",
    "shared_optimiser": 'how the layer in shares moves: "momentum", "sgd"',
    "shared_rate": "its learning rate; 0: by rule, from the task and the features of hosts",
    "momentum": "its momentum",
    "l2": "penalty of the interactive layer",
    "standardise": "mean 0 and spread 1 in each column, each party its own",
    "limit_spreads": "set values further from the mean to it, in spreads; 0: none",
    "validation_fraction": "part of the common rows that trains nothing and ends training by patience",
    "patience": "stop after so many epochs without gain; 0: never",
    "min_improvement": "the least fall of the loss that counts as gain",
    "stop_at_loss": "stop once the loss is no more than that; 0: never",
    "seed": "of the batches; public",
}


def network_sections(job: NewGuestJob) -> list[list[str]]:
    """Every section below the top, with its defaults."""
    if job.is_sealed:
        return _sealed_sections(job)
    settings = VerticalNetworkSettings
    return [
        task_section(job.classes),
        _network(job),
        _training(NetworkTraining()),
        [
            "[protection]",
            default("kind", settings.protection, _KIND),
            default(
                "form",
                settings.form,
                '"shared": weights of a host\'s side lie in shares; "sealed": all does; "guest_layer": to compare',
            ),
            default(
                "host_bottom",
                settings.host_bottom,
                '"frozen": a fixed map of columns; "source": columns; "trained": tells hosts labels and columns',
            ),
        ],
        [
            "[column_leak]                            # docs/explanation/split_networks.md",
            chosen("accepted", ROTATION_ACCEPTED, _WAIVED),
        ],
        [
            '[label_privacy]                          # with host_bottom "trained"',
            example("epsilon", 2.0, "labels are replaced once by chance: 1 is strong, 3 weak"),
        ],
        [
            '[label_leak]                             # with host_bottom "trained", in place of label privacy',
            example("accepted", LABELS_ACCEPTED, "the guest's site has to allow it: label_leak_waiver"),
        ],
        [
            '[slope_leak]                             # with host_bottom "trained"',
            example("accepted", SLOPES_ACCEPTED, "sites have to allow it: slope_leak_waiver"),
        ],
        *matching_sections(job),
        _prediction(job),
        _comparison(),
    ]


def _sealed_sections(job: NewGuestJob) -> list[list[str]]:
    """The same of a network that lies in shares as a whole."""
    label_leak = "[label_leak]                             # where the host is among prediction.receivers"
    return [
        task_section(job.classes),
        ["[network]", default("units", NetworkShape().units, "squares of sums of columns: 1 to 256")],
        _training(SEALED_TRAINING, UNUSED),
        [
            "[protection]",
            default("kind", VerticalNetworkSettings.protection, _KIND),
            chosen("form", SEALED, 'all weights and units lie in shares; "shared": the guest learns of columns'),
            default("host_bottom", "source", "the columns themselves"),
        ],
        [label_leak, example("accepted", LABELS_ACCEPTED, "the guest's site has to allow it: label_leak_waiver")],
        *matching_sections(job),
        _prediction(job, "nobody else does"),
        _comparison(),
    ]


def _comparison() -> list[str]:
    return [
        "[compare]                                # what the report shows beside the encrypted run",
        default("centralised", False, "one machine only: the same network on the joined rows; sites must allow it"),
    ]


def _training(usual: NetworkTraining, unused: Sequence[str] = ()) -> list[str]:
    named = [one.name for one in fields(usual) if f"training.{one.name}" not in unused]
    return ["[training]", *(default(name, getattr(usual, name), _TRAINING[name]) for name in named)]


def _prediction(job: NewGuestJob, who_else: str = "the guest always does") -> list[str]:
    return ["[prediction]", default("receivers", [job.guest], f"who learns scores of new rows; {who_else}")]


def _network(job: NewGuestJob) -> list[str]:
    usual = NetworkShape()
    return [
        "[network]",
        default("units", usual.units, "of the interactive layer, where columns of all parties meet: 1 to 256"),
        default("guest_width", usual.guest_width, "inputs of the interactive layer at the guest"),
        default("host_width", usual.host_width, 'the same at a host; with "source" its number of columns'),
        default("bottom_hidden", list(usual.bottom_hidden), "hidden layers of bottoms that train, such as [64]"),
        default("top_hidden", list(usual.top_hidden), "hidden layers after the interactive one"),
        example("top", "my-top", "code of the guest's site in place of these"),
        default("activation", usual.activation, '"relu", "tanh"'),
        example("host_widths", {job.hosts[0]: usual.host_width}, "of single hosts"),
        example("bottoms", {job.guest: "my-net"}, "code of sites that maps a party's columns, by party"),
    ]
