"""A digest of what the engine's server says to a site beside arrays: sites that it tells different things find out."""

from __future__ import annotations

import hashlib

import msgpack
from flwr.app import Context, Message

_LABEL = "hekat/flower/terms/1"


def digest_of_terms(message: Message, context: Context) -> str:
    """Of a message to train: its configuration, its kind, and the app's configuration; hexadecimal.

    Numbers and times of messages and nodes are each site's own, and so is the configuration of its node.
    """
    content, metadata = message.content, message.metadata
    records = [
        *(("config", name, _sorted(record)) for name, record in content.config_records.items()),
        *(("metrics", name, _sorted(record)) for name, record in content.metric_records.items()),
        # Their values are compared where they count, and trained on by no site where they do not.
        *(("arrays", name, []) for name in content.array_records),
    ]
    said = [_LABEL, metadata.message_type, metadata.group_id, _sorted(context.run_config), sorted(records)]
    return hashlib.sha256(msgpack.packb(said)).hexdigest()


def _sorted(record: object) -> list[tuple[str, object]]:
    return sorted(dict(record).items(), key=lambda item: item[0])  # type: ignore[call-overload]
