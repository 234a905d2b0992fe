"""One role's end of a run whose messages an engine carries: NVFLARE, Flower, or anything that delivers bytes."""

from hekat.channel.mailbox.mailbox_channel import MailboxChannel
from hekat.channel.mailbox.post import Post, UndeliveredError

__all__ = ["MailboxChannel", "Post", "UndeliveredError"]
