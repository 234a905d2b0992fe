"""Flower's grid as the engine of the legs: one message to each party's node, and a party lost at a deadline."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from flwr.app import ArrayRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

from hekat.errors import JobError
from hekat.launch.flower.legs import CARRY, EVALUATE, Outgoing, Returned
from hekat.launch.flower.records import MEAN, Order, add_order, read_reply

# Each look costs the SuperLink and this process some milliseconds of the cores on which parties may train. A SuperNode
# that has replied looks for its next message after 3 s: a reply that is found within less holds nobody up.
POLL_S = 1.0
_LOOK_FOR_NODES_S = 0.5


@dataclass
class GridPost:
    """`nodes` maps each party to its node, once `find_parties` has found them. `contents` holds what the strategy
    configured for the messages of the round, by the kind of work; `learned` as in `Order`."""

    grid: Grid
    run_id: str
    job: str
    weighted_by: str
    evaluates: bool
    timeout_s: float
    poll_s: float = POLL_S
    nodes: dict[str, int] = field(default_factory=dict)
    contents: dict[str, RecordDict] = field(default_factory=dict)
    learned: int = 0
    means: dict[str, ArrayRecord] = field(default_factory=dict)
    """The opened mean that each party gave since it was last cleared, where the job lets the server learn it."""
    _a_reply: Message | None = None

    def as_reply(self, content: RecordDict) -> Message:
        """A reply with this content, as if a node had sent it."""
        assert self._a_reply is not None  # there is a mean, so a reply came
        self._a_reply.content = content
        return self._a_reply

    def find_parties(self, parties: Sequence[str]) -> dict[str, Returned | None]:
        """Wait for as many nodes as there are parties, and ask each which one it is; their replies.

        Raises JobError where parties are missing, come twice, or are none of the job's.
        """
        deadline = time.monotonic() + self.timeout_s
        while len(nodes := sorted(self.grid.get_node_ids())) < len(parties) and time.monotonic() < deadline:
            time.sleep(_LOOK_FOR_NODES_S)
        # Without arrays: an app without the mod has nothing that it could train on.
        replies = self._send({node: self._message(node, CARRY, 1, (), RecordDict()) for node in nodes})
        found: dict[str, Returned | None] = {}
        strangers = 0
        for node, reply in replies.items():
            read = None if reply is None else read_reply(reply.content)
            if read is None or read[0] not in parties or read[0] in found:
                strangers += 1
                continue
            self.nodes[read[0]], found[read[0]] = node, read[1]
        missing = [party for party in parties if party not in found]
        if missing or strangers:
            raise JobError(
                "the connected SuperNodes are not the parties",
                expected=f"one node each of {', '.join(parties)}, with ClientApp(mods=[protected]) and a party process",
                got=f"{len(found)} of them"
                + (f", none of {', '.join(missing)}" if missing else "")
                + (f", and {strangers} others" if strangers else ""),
                cure="look at the logs of the SuperNodes and the party processes; --node-config names the party",
            )
        return found

    def bring(self, messages: Sequence[Outgoing]) -> Mapping[str, Returned | None]:
        """As `Engine.bring`."""
        sent = {self.nodes[one.party]: self._message_for(one) for one in messages}
        replies = self._send(sent)
        found: dict[str, Returned | None] = {}
        for one in messages:
            reply = replies.get(self.nodes[one.party])
            read = None if reply is None else read_reply(reply.content)
            found[one.party] = read[1] if read is not None and read[0] == one.party else None
            if reply is not None and MEAN in reply.content.array_records:
                self.means[one.party], self._a_reply = reply.content.array_records[MEAN], reply
        return found

    def _message_for(self, one: Outgoing) -> Message:
        configured = self.contents.get(one.work)
        content = RecordDict() if configured is None else RecordDict(dict(configured))
        if not one.needs_start:
            # Sites train on the mean that they opened, whatever the server sends.
            for name in list(content.array_records):
                content[name] = ArrayRecord()
        elif configured is None and (first := self.contents.get("train")) is not None:
            content = RecordDict(dict(first))
        return self._message(self.nodes[one.party], one.work, one.round, one.parcels, content, one.lost)

    def _message(
        self,
        node: int,
        work: str,
        round_number: int,
        parcels: Iterable[bytes],
        content: RecordDict,
        lost: Sequence[str] = (),
    ) -> Message:
        order = Order(
            self.run_id, self.job, work, round_number, self.weighted_by, self.evaluates, self.learned, list(lost)
        )
        add_order(content, order, list(parcels))
        # An app need not have code for queries, so a message that only carries is one to train as well.
        kind = MessageType.EVALUATE if work == EVALUATE else MessageType.TRAIN
        return Message(
            content=content, message_type=kind, dst_node_id=node, group_id=str(round_number), ttl=self.timeout_s
        )

    def _send(self, messages: Mapping[int, Message]) -> dict[int, Message | None]:
        """The reply of each node; None where none came in time, or an error."""
        replies: dict[int, Message | None] = dict.fromkeys(messages)
        sent = list(self.grid.push_messages(messages.values()))
        waiting = {message_id: node for message_id, node in zip(sent, messages, strict=True) if message_id}
        deadline = time.monotonic() + self.timeout_s
        while waiting:
            for reply in self.grid.pull_messages(list(waiting)):
                node = waiting.pop(reply.metadata.reply_to_message_id, None)
                if node is not None and reply.has_content():
                    replies[node] = reply
            if not waiting or time.monotonic() > deadline:
                break
            time.sleep(self.poll_s)
        return replies
