"""Message types: markers, registry, typed fields, canonical bytes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Generic, Optional, TypeVar

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hekat.errors import InputError, WireCorruptError, WireError, WireKindError, WireVersionError
from hekat.wire import (
    Disclosure,
    ciphertext,
    disclosed,
    disclosure_of,
    from_bytes,
    kind_name,
    message,
    public,
    sealed,
    to_bytes,
)
from hekat.wire.body import pack_body
from hekat.wire.fields import codec_for
from hekat.wire.frame import write_frame

Scalar = TypeVar("Scalar")


@message("test-message/every", version=3)
@dataclass(frozen=True)
class Every:
    flag: bool = public()
    count: int = public()
    ratio: float = disclosed("a ratio")
    name: str = disclosed("a name")
    blob: bytes = ciphertext(under="nobody")
    secret: bytes = sealed("a test secret")
    names: list[str] = public()
    sizes: tuple[int, ...] = public()
    settings: dict[str, float] = public()
    tables: dict[str, list[int]] = public()
    maybe: int | None = public()
    perhaps: Optional[str] = public()  # noqa: UP045  the older spelling is read as well
    f64: npt.NDArray[np.float64] = disclosed("numbers")
    f32: npt.NDArray[np.float32] = disclosed("numbers")
    i64: npt.NDArray[np.int64] = disclosed("numbers")
    u64: npt.NDArray[np.uint64] = disclosed("numbers")
    u8: npt.NDArray[np.uint8] = disclosed("numbers")


@message("test-message/small", version=1)
@dataclass(frozen=True)
class Small:
    count: int = public()
    names: list[str] = disclosed("names")


@message("test-message/empty", version=1)
@dataclass(frozen=True)
class Empty:
    pass


@message("test-message/checked", version=1)
@dataclass(frozen=True)
class Checked:
    count: int = public()

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError(f"secret {self.count}")


@message("test-message/array", version=1)
@dataclass(frozen=True)
class ArrayOnly:
    values: npt.NDArray[np.float64] = disclosed("numbers")


def arrays(dtype: Any) -> st.SearchStrategy[Any]:
    return hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))


EVERY = st.builds(
    Every,
    flag=st.booleans(),
    count=st.integers(),
    ratio=st.floats(),
    name=st.text(),
    blob=st.binary(),
    secret=st.binary(),
    names=st.lists(st.text(), max_size=5),
    sizes=st.lists(st.integers(-(2**80), 2**80), max_size=5).map(tuple),
    settings=st.dictionaries(st.text(), st.floats(), max_size=5),
    tables=st.dictionaries(st.text(), st.lists(st.integers(), max_size=3), max_size=3),
    maybe=st.none() | st.integers(),
    perhaps=st.none() | st.text(),
    f64=arrays(np.float64),
    f32=arrays(np.float32),
    i64=arrays(np.int64),
    u64=arrays(np.uint64),
    u8=arrays(np.uint8),
)


def same(a: Any, b: Any) -> bool:
    """Equal type and, bit for bit, equal value."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return type(b) is float and np.float64(a).tobytes() == np.float64(b).tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


@given(EVERY)
def test_round_trip_is_exact_and_canonical(original: Every) -> None:
    data = to_bytes(original)
    copy = from_bytes(data, Every)
    for field in dataclasses.fields(Every):
        assert same(getattr(original, field.name), getattr(copy, field.name)), field.name
    assert to_bytes(copy) == data


def small_body(**changes: Any) -> bytes:
    return bytes_of_items({"count": 1, "names": ["a"]} | changes)


def bytes_of_items(items: Any, name: str = "test-message/small", version: int = 1) -> bytes:
    return write_frame(name, version, pack_body(items))


def test_no_fields() -> None:
    assert from_bytes(to_bytes(Empty()), Empty) == Empty()


def test_disclosure_of() -> None:
    found = disclosure_of(Every)
    assert list(found) == [field.name for field in dataclasses.fields(Every)]
    assert found["flag"] == Disclosure("public")
    assert found["ratio"] == Disclosure("disclosed", "a ratio")
    assert found["blob"] == Disclosure("ciphertext", "nobody")
    assert found["secret"] == Disclosure("sealed", "a test secret")
    assert str(found["ratio"]) == "disclosed: a ratio"
    assert kind_name(Every) == "test-message/every"


def test_repr_shows_public_fields_only() -> None:
    shown = repr(Small(count=12345, names=["top secret"]))
    assert "12345" in shown
    assert "secret" not in shown


def test_subclass_of_a_message_is_no_message() -> None:
    class Child(Small):
        pass

    with pytest.raises(InputError, match="has no wire bytes"):
        to_bytes(Child(count=1, names=[]))
    with pytest.raises(InputError, match="not a message type"):
        disclosure_of(Child)


# --- class definition ------------------------------------------------------------------------------------------------


def test_missing_marker() -> None:
    with pytest.raises(InputError, match="field 'b' of test-message/unmarked does not say what it discloses"):

        @message("test-message/unmarked", version=1)
        @dataclass(frozen=True)
        class Unmarked:
            a: int = public()
            b: int = 0


def test_descriptions_are_not_empty() -> None:
    for marker in (lambda: disclosed(""), lambda: ciphertext(under=" "), lambda: sealed("")):
        with pytest.raises(InputError, match="without a description"):
            marker()


@pytest.mark.parametrize(
    "annotation", [set[int], list, dict[int, int], object, Any, tuple[int, int], int | str, npt.NDArray[np.bool_], None]
)
def test_types_that_messages_do_not_carry(annotation: Any) -> None:
    plain = dataclasses.make_dataclass("Odd", [("field", annotation, public())], frozen=True)
    with pytest.raises(InputError, match="type that messages do not carry"):
        message("test-message/odd", version=1)(plain)


def test_arrays_are_known_where_their_annotation_is_a_type_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `npt.NDArray` is from NumPy 2.5 on."""

    class NDArray(Generic[Scalar]):
        pass

    monkeypatch.setattr(npt, "NDArray", NDArray)
    field = codec_for(npt.NDArray[np.float32], "a field")
    assert field.decode(field.encode(np.ones(3, np.float32), "it"), "it").dtype == np.float32
    with pytest.raises(InputError, match="type that messages do not carry"):
        codec_for(npt.NDArray[np.bool_], "a field")


def test_only_frozen_dataclasses() -> None:
    class Plain:
        pass

    @dataclass
    class Thawed:
        a: int = public()

    for cls in (Plain, Thawed):
        with pytest.raises(InputError, match="cannot be a message"):
            message("test-message/never", version=1)(cls)


def test_names_and_classes_are_taken_once() -> None:
    with pytest.raises(InputError, match="test-message/small is taken"):

        @message("test-message/small", version=2)
        @dataclass(frozen=True)
        class Other:
            a: int = public()

    with pytest.raises(InputError, match="is taken"):
        message("test-message/again", version=1)(Small)


# --- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"count": 1.0}, "field 'count' .* expected int; got float"),
        ({"count": True}, "expected int; got bool"),
        ({"count": "1"}, "expected int; got str"),
        ({"count": 1 << 40000}, "too large"),
        ({"names": ("a",)}, "expected list; got tuple"),
        ({"names": [b"a"]}, "field 'names' .*, item 0 .*expected str; got bytes"),
        ({"names": ["\ud800"]}, "not text"),
    ],
)
def test_values_of_another_type_are_refused_when_written(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        to_bytes(dataclasses.replace(Small(count=1, names=[]), **changes))


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ([1.0], "expected a NumPy array of float64; got list"),
        (np.zeros(3, np.float32), "expected float64; got float32; cure: convert"),
        (np.zeros(3, np.int64), "expected float64; got int64"),
        (np.zeros((1,) * 9), "shape out of range"),
    ],
)
def test_arrays_are_not_converted_silently(values: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        to_bytes(ArrayOnly(values))


def test_numpy_scalars_are_numbers() -> None:
    assert from_bytes(to_bytes(Small(count=np.int32(7), names=[])), Small).count == 7  # type: ignore[arg-type]


def test_array_order_and_byte_order_do_not_show() -> None:
    values = np.arange(12.0).reshape(3, 4)
    data = to_bytes(ArrayOnly(values))
    assert to_bytes(ArrayOnly(np.asfortranarray(values))) == data
    assert to_bytes(ArrayOnly(values.astype(">f8"))) == data
    assert to_bytes(ArrayOnly(np.repeat(values, 2, axis=1)[:, ::2])) == data
    assert values.tobytes() in data


def test_decoded_arrays_are_read_only() -> None:
    values = from_bytes(to_bytes(ArrayOnly(np.zeros(3))), ArrayOnly).values
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 1.0


def test_dict_order_does_not_show() -> None:
    one = DictOnly({"b": 1, "a": 2})
    other = DictOnly({"a": 2, "b": 1})
    assert to_bytes(one) == to_bytes(other)


@message("test-message/dict", version=1)
@dataclass(frozen=True)
class DictOnly:
    values: dict[str, int] = public()


# --- reading ---------------------------------------------------------------------------------------------------------


def test_other_kind() -> None:
    with pytest.raises(WireKindError, match="expected test-message/small; got test-message/empty"):
        from_bytes(to_bytes(Empty()), Small)


def test_other_message_version() -> None:
    with pytest.raises(WireVersionError, match="expected version 1; got version 2"):
        from_bytes(bytes_of_items({"count": 1, "names": []}, version=2), Small)


@pytest.mark.parametrize(
    ("items", "complaint"),
    [
        ({"count": 1}, "lacks a field.*no 'names'"),
        ({"count": 1, "names": [], "extra": 1}, "field it does not have.*'extra'"),
        ({"names": [], "count": 1}, "another order"),
        ({}, "lacks a field"),
        ([1, ["a"]], "does not hold fields"),
        (7, "does not hold fields"),
        ({"count": True, "names": []}, "field 'count' .* expected an int"),
        ({"count": 1.0, "names": []}, "expected an int"),
        ({"count": b"\x05", "names": []}, "shortest form"),
        ({"count": b"", "names": []}, "shortest form"),
        ({"count": b"\0" * 20, "names": []}, "shortest form"),
        ({"count": (2**70).to_bytes(10, "little"), "names": []}, "shortest form"),
        ({"count": b"\x7f" * 4097, "names": []}, "at most 4096 bytes"),
        ({"count": 1, "names": "a"}, "expected a list"),
        ({"count": 1, "names": [1]}, "item 0 .* expected a string"),
        ({"count": 1, "names": [None]}, "expected a string"),
    ],
)
def test_items_that_do_not_fit(items: Any, complaint: str) -> None:
    with pytest.raises(WireCorruptError, match=complaint):
        from_bytes(bytes_of_items(items), Small)


@pytest.mark.parametrize(
    "item",
    [
        None,
        [],
        ["float64", [2]],
        ["float32", [2], bytes(8)],
        [8, [1], bytes(8)],
        ["float64", [2], bytes(8)],
        ["float64", [1], bytes(9)],
        ["float64", 1, bytes(8)],
        ["float64", [-1], bytes(8)],
        ["float64", [True], bytes(8)],
        ["float64", [1.0], bytes(8)],
        ["float64", [1] * 9, bytes(8)],
        ["float64", [2**62], bytes(8)],
        ["float64", [0, 2**39, 2**39], b""],
        ["float64", [0, 2**62], b""],
        ["float64", [1], [0] * 8],
        ["float64", [1], bytes(8), 0],
    ],
)
def test_arrays_that_do_not_fit(item: Any) -> None:
    with pytest.raises(WireCorruptError, match="field 'values'"):
        from_bytes(bytes_of_items({"values": item}, "test-message/array"), ArrayOnly)


def test_dict_keys_out_of_order_are_not_canonical() -> None:
    with pytest.raises(WireCorruptError, match="order of its keys"):
        from_bytes(bytes_of_items({"values": {"b": 1, "a": 2}}, "test-message/dict"), DictOnly)


def test_a_message_that_refuses_its_fields_does_not_leak_them() -> None:
    with pytest.raises(WireCorruptError, match=r"refuses its own fields.*got ValueError") as caught:
        from_bytes(bytes_of_items({"count": -77}, "test-message/checked"), Checked)
    assert "77" not in str(caught.value)
    assert caught.value.__suppress_context__


@given(st.data())
def test_changed_items_are_read_canonically_or_refused(data: st.DataObject) -> None:
    scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3) | st.binary(max_size=12)
    inner = st.recursive(scalars, lambda one: st.lists(one, max_size=4) | st.dictionaries(st.text(max_size=2), one))
    items = {"count": data.draw(inner), "names": data.draw(inner)}
    frame = bytes_of_items(items)
    try:
        read = from_bytes(frame, Small)
    except WireError:
        return
    assert to_bytes(read) == frame
