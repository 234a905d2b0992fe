"""Message types: frozen dataclasses with a kind, a version, and a disclosure class for every field."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hekat.errors import HekatError, InputError, WireCorruptError, WireError
from hekat.wire.disclosure import Disclosure, marker_of
from hekat.wire.fields import FieldCodec, codec_for
from hekat.wire.kinds import Kind, ReadingContext, kind_of, register

T = TypeVar("T")

_SPEC_NAME = "__hekat_message__"


@dataclass(frozen=True)
class MessageSpec:
    """What `@message` found in a class: a codec and a disclosure for each field, in the order of declaration.

    `places` says of each field how errors name it, `sealed` which fields leave only through a sealed channel.
    """

    name: str
    version: int
    cls: type[Any]
    codecs: dict[str, FieldCodec]
    places: dict[str, str]
    disclosures: dict[str, Disclosure]
    sealed: tuple[str, ...]
    read_once: bool = False

    def to_items(self, obj: Any) -> dict[str, Any]:
        return {field: codec.encode(getattr(obj, field), self.places[field]) for field, codec in self.codecs.items()}

    def from_items(self, items: Any, context: ReadingContext) -> Any:
        if not isinstance(items, dict):
            raise WireCorruptError(f"{self.name} does not hold fields", expected="a map of fields")
        self._check_names(list(items))
        values = {field: codec.decode(items[field], self.places[field]) for field, codec in self.codecs.items()}
        try:
            return self.cls(**values)
        except WireError:
            raise
        except (HekatError, ValueError, TypeError, ArithmeticError, LookupError) as error:
            # A message may check its own fields; its error text may quote them, so only the error's type is passed on.
            raise WireCorruptError(
                f"{self.name} refuses its own fields", expected="values it accepts", got=type(error).__name__
            ) from None

    def _check_names(self, names: list[Any]) -> None:
        known = list(self.codecs)
        unknown = [f"{name!r:.40}" for name in names if name not in self.codecs]
        if unknown:
            raise WireCorruptError(
                f"{self.name} holds a field it does not have", expected=", ".join(known), got=", ".join(unknown[:4])
            )
        missing = [name for name in known if name not in names]
        if missing:
            raise WireCorruptError(f"{self.name} lacks a field", expected=", ".join(known), got=f"no {missing[0]!r}")
        if names != known:
            raise WireCorruptError(f"{self.name} holds its fields in another order", expected=", ".join(known))


def message(name: str, *, version: int, read_once: bool = False) -> Callable[[type[T]], type[T]]:
    """Class decorator: gives a frozen dataclass the kind `name` and wire bytes.

    Args:
        name: "protocol/message", taken by no other class.
        version: The version of the layout; a changed layout is a new version.
        read_once: The same bytes go to many roles: where one process plays several, they share one object, which none
            of them changes. Not for a message with a sealed field, nor with arrays.

    Returns:
        The decorator.

    Raises:
        InputError: At class definition: a class that is no frozen dataclass, a field without a disclosure marker, a
            field type that messages do not carry, or a name that is taken.

    Examples:
        >>> from dataclasses import dataclass
        >>> @wire.message("docs/hello", version=1)
        ... @dataclass(frozen=True)
        ... class Hello:
        ...     number: int = wire.public()
        >>> wire.from_bytes(wire.to_bytes(Hello(3)), Hello).number
        3
    """

    def decorate(cls: type[T]) -> type[T]:
        spec = replace(_read_class(cls, name, version), read_once=read_once)
        register(Kind(name, version, cls, spec.to_items, spec.from_items))
        setattr(cls, _SPEC_NAME, spec)
        return cls

    return decorate


def disclosure_of(message_type: type[Any]) -> dict[str, Disclosure]:
    """What each field of a message type gives away, for the ledger.

    Args:
        message_type: a class made by `message`.

    Returns:
        By field, in the order of declaration.

    Examples:
        >>> from hekat.protocol.horizontal.messages import ReadyMessage
        >>> wire.disclosure_of(ReadyMessage)["columns"].kind
        'disclosed'
    """
    return dict(spec_of(message_type).disclosures)


def kind_name(message_type: type[Any]) -> str:
    """The name a message type was registered under.

    Args:
        message_type: a class made by `message`.

    Returns:
        Such as "horizontal/ready".

    Examples:
        >>> from hekat.protocol.horizontal.messages import ReadyMessage
        >>> wire.kind_name(ReadyMessage)
        'horizontal/ready'
    """
    return kind_of(message_type).name


def spec_of(message_type: type[Any]) -> MessageSpec:
    """What `message` found in the class. Raises InputError where it made no message type of it."""
    # From the class's own dict: a subclass that is not decorated itself is no message type.
    spec = vars(message_type).get(_SPEC_NAME) if isinstance(message_type, type) else None
    if not isinstance(spec, MessageSpec):
        raise InputError("not a message type", expected="a class decorated with @message", got=repr(message_type))
    return spec


def _read_class(cls: type[Any], name: str, version: int) -> MessageSpec:
    parameters = vars(cls).get("__dataclass_params__")
    if parameters is None or not parameters.frozen:
        raise InputError(
            f"{cls.__qualname__} cannot be a message",
            expected="@message above @dataclass(frozen=True)",
            got="no dataclass" if parameters is None else "a dataclass that is not frozen",
        )
    try:
        annotations = typing.get_type_hints(cls)
    except NameError as error:
        raise InputError(
            f"an annotation of {cls.__qualname__} cannot be read",
            expected="names known in its module",
            got=str(error),
            cure="import the name outside of TYPE_CHECKING",
        ) from None
    codecs: dict[str, FieldCodec] = {}
    disclosures: dict[str, Disclosure] = {}
    places: dict[str, str] = {}
    for field in dataclasses.fields(cls):
        where = f"field {field.name!r} of {name}"
        disclosure = marker_of(field.metadata)
        if disclosure is None or not field.init:
            raise InputError(
                f"{where} does not say what it discloses",
                expected="a marker: public(), disclosed(...), ciphertext(under=...) or sealed(...)",
                got="no marker",
                cure=f"write {field.name}: ... = public(), or the class it has",
            )
        codecs[field.name] = codec_for(annotations[field.name], where)
        disclosures[field.name] = disclosure
        places[field.name] = where
    sealed = tuple(field for field, disclosure in disclosures.items() if disclosure.kind == "sealed")
    return MessageSpec(name, version, cls, codecs, places, disclosures, sealed)
