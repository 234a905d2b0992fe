"""What every key object does: it does not change, and a copy of it is itself."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from hekat.fact_table import fact_table


class ImmutableKey:
    """A key whose fields are set once, by its class, through `object.__setattr__`."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} does not change after it is made")

    def _facts(self) -> list[tuple[str, str]]:
        """What anybody may see of the key."""
        return [("key", repr(self))]

    def _repr_html_(self) -> str:
        return fact_table(type(self).__name__, self._facts())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self
