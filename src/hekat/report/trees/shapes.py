"""The shapes that the summaries of all trainings of trees have."""

from __future__ import annotations

from typing import Final

from hekat.report import shape

ITERATION: Final = shape.record(
    {
        "iteration": shape.count,
        "loss": shape.nullable(shape.number),
        "validation_loss": shape.nullable(shape.number),
        "seconds": shape.nullable(shape.amount),
    }
)
IMPORTANCE: Final = shape.record(
    {"owner": shape.text, "column": shape.text, "gain": shape.amount, "splits": shape.count}
)
_NODE = shape.record(
    {
        "owner": shape.nullable(shape.text),
        "column": shape.nullable(shape.text),
        "test": shape.nullable(shape.text),
        "left": shape.nullable(shape.count),
        "right": shape.nullable(shape.count),
        "value": shape.nullable(shape.number),
        "rows": shape.count,
    }
)
_TREE = shape.record(
    {"iteration": shape.count, "target": shape.nullable(shape.text), "nodes": shape.list_of(_NODE, least=1)}
)


def drawn_tree(value: object) -> shape.Fault | None:
    """A tree whose children come after their parents, so that drawing it comes to an end."""
    fault = _TREE(value)
    if fault is not None:
        return fault
    assert isinstance(value, dict)  # a record is one
    nodes = value["nodes"]
    for place, node in enumerate(nodes):
        for side in ("left", "right"):
            child = node[side]
            if (child is None) != (node["owner"] is None) or (child is not None and not place < child < len(nodes)):
                return f".nodes[{place}].{side}", "a node after this one, or null in a leaf"
        if (node["value"] is None) == (node["owner"] is None):
            return f".nodes[{place}].value", "a number in a leaf alone"
    return None
