"""What a model tells of the rows it was trained on, and what is hidden of it."""

from hekat.privacy.mask import Mask

__all__ = ["Mask"]
