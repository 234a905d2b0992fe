"""FedML-HE's Table 6: what one upload of a model takes whole, and by parameter efficiency, through `hekat.federate`.

Real models of the paper's sizes with random weights: a ResNet-18 of 12,556,426 values that sends 1,000,000
(DoubleSqueeze in the paper), and a BERT of 109,482,240 values with LoRA of rank 8 on queries and values. Three parties,
each with a module of its own, change every value that they train; each mean is checked before its costs count.
"""

from __future__ import annotations

import copy
import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

PARTIES = ("north", "lake", "county")
ROUNDS = 3
RESNET_VALUES, RESNET_KEPT = 12_556_426, 1_000_000
LORA_KEEP = 0.1
# What each party adds to its values in a round; the mean is the middle one.
STEPS = {"north": 1e-3, "lake": 3e-3, "county": 2e-3}

# What a value can have waited for in all rounds is below it.
ALPHA = 2.0**-6


@dataclass(frozen=True)
class Row:
    """One way to send one model; `paper`: the paper's figure of the same cell, or ""."""

    model: str
    way: str
    make: Callable[[bool], Any]
    paper: str = ""
    protection: str = "lattice"
    keep: float = 1.0
    keep_by: str = "vote"
    adapters: bool = False
    freeze_first_factors: bool = False


def make_resnet(small: bool) -> Any:
    """A ResNet-18 whose head makes it as large as the paper's, which does not say what its own has."""
    import torch
    from transformers import ResNetConfig, ResNetModel

    sizes = [4, 4, 8, 8] if small else [64, 128, 256, 512]
    config = ResNetConfig(depths=[2, 2, 2, 2], hidden_sizes=sizes, embedding_size=sizes[0], layer_type="basic")
    backbone = ResNetModel(config)
    # Statistics of its BatchNorm are not among the paper's parameters.
    left = (RESNET_VALUES if not small else 20_000) - sum(one.numel() for one in backbone.parameters())
    classes = left // (sizes[-1] + 1)
    head = torch.nn.Linear(sizes[-1], classes)
    module = torch.nn.Module()
    module.backbone, module.head = backbone, head
    module.rest = torch.nn.Parameter(torch.zeros(left - sum(one.numel() for one in head.parameters())))
    return module


def make_bert(small: bool) -> Any:
    """BERT base: 109,482,240 values."""
    from transformers import BertModel

    return BertModel(_bert_config(small))


def make_adapted_bert(small: bool) -> Any:
    """BERT base with a head for two classes, and LoRA of rank 8 on queries and values; the base is frozen."""
    from peft import LoraConfig, get_peft_model
    from transformers import BertForSequenceClassification

    lora = LoraConfig(r=8, target_modules=["query", "value"], task_type="SEQ_CLS")
    return get_peft_model(BertForSequenceClassification(_bert_config(small)), lora)


def _bert_config(small: bool) -> Any:
    from transformers import BertConfig

    if not small:
        return BertConfig()
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    return BertConfig(vocab_size=200, hidden_size=32, max_position_embeddings=32, **layers)


def plan() -> tuple[Row, ...]:
    """Every cell of the table, and what stands beside it here."""
    share = RESNET_KEPT / RESNET_VALUES * (1 - 1e-12)
    kept = {"make": make_resnet, "keep": share}
    lora = {"make": make_adapted_bert, "adapters": True}
    ffa = {**lora, "freeze_first_factors": True}
    return (
        Row("ResNet-18", "plain", make_resnet, "47.98 MB", protection="none"),
        Row("ResNet-18", "masked, all", make_resnet, "796.70 MB"),
        Row("ResNet-18", "masked, keep by vote", paper="19.03 MB", **kept),
        Row("ResNet-18", "masked, keep by random_k", paper="19.03 MB", keep_by="random_k", **kept),
        Row("BERT", "plain", make_bert, "417.72 MB", protection="none"),
        Row("BERT", "masked, all", make_bert, "6.78 GB"),
        Row("BERT", "masked, LoRA and head", paper="16.66 MB", **lora),
        Row("BERT", "masked, FFA-LoRA and head", paper="16.66 MB", **ffa),
        Row("BERT", "masked, LoRA and head, keep by vote", paper="16.66 MB", keep=LORA_KEEP, **lora),
    )


def measure_table_6(say: Callable[[str], object], *, small: bool = False) -> Iterator[dict[str, Any]]:
    """A row for each cell, each measured in a process of its own, so that its peak of memory is its own."""
    for row in plan():
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found = pool.submit(_measure, row, small).result()
        say(f"{row.model}, {row.way}: {found['up_bytes'] / 1e6:.3g} MB up, {found['round_cpu_s']:.3g} CPU s a round")
        yield found


def _measure(row: Row, small: bool) -> dict[str, Any]:
    import torch

    import hekat

    torch.set_num_threads(1)
    torch.manual_seed(0)
    first = row.make(small)
    modules = {name: copy.deepcopy(first) for name in PARTIES}
    clocks: dict[str, list[float]] = {name: [] for name in PARTIES}

    def play(party: Any) -> int:
        module = modules[party.name]
        if row.adapters:
            hekat.start_adapters(party, module, freeze_first_factors=row.freeze_first_factors)
        else:
            party.start_from(module)
        for _ in range(ROUNDS):
            _move(module, STEPS[party.name])
            party.aggregate(module, weight=1)
            clocks[party.name].append(time.process_time())
        return sum(one.numel() for one in module.parameters() if one.requires_grad)

    how = {"clipping": "fixed", "alpha": ALPHA, "protection": row.protection}
    run = hekat.federate(play, PARTIES, weight_max=1, keep=row.keep, keep_by=row.keep_by, progress=False, **how)
    error = _check(first, modules, row)
    last, leader = run.costs.rounds[-1], PARTIES[-1]
    steps = {name: seconds / ROUNDS for name, seconds in run.costs.seconds_by_step.items() if name != "train"}
    return {
        "model": row.model,
        "way": row.way,
        "paper": row.paper,
        "values": sum(one.numel() for one in first.parameters()),
        "trained_values": run.results[leader],
        "sent_values": last.value_count,
        "up_bytes": last.bytes[leader].up,
        "down_bytes": last.bytes[leader].down,
        "round_cpu_s": clocks[leader][-1] - clocks[leader][-2],
        "steps_s": steps,
        "largest_error": error,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _move(module: Any, step: float) -> None:
    import torch

    with torch.no_grad():
        for one in module.parameters():
            if one.requires_grad:
                one += step


def _check(first: Any, modules: dict[str, Any], row: Row) -> float:
    """The largest error of a value that arrived. Raises AssertionError where a model is not what it has to be.

    A value moved by the mean step in each round that it was sent in, with what waited: a multiple of it.
    """
    import torch

    mean, largest = sum(STEPS.values()) / len(STEPS), 0.0
    start = dict(first.named_parameters())
    for name, one in modules[PARTIES[0]].named_parameters():
        assert all(torch.equal(one, dict(other.named_parameters())[name]) for other in modules.values()), name
        moved = (one - start[name]).detach() / mean
        rounds = torch.round(moved)
        if not one.requires_grad:
            assert not rounds.any(), name
        if row.keep == 1.0 and one.requires_grad:
            assert bool((rounds == ROUNDS).all()), name
        assert bool(((rounds >= 0) & (rounds <= ROUNDS)).all()), name
        largest = max(largest, float((moved - rounds).abs().max() * mean) if one.numel() else 0.0)
    assert largest < mean / 20, f"an error of {largest:.3g}"
    return largest
