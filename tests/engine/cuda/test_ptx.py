"""The interpreter of PTX: its instructions against Python integers, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .emulation.device import EmulatedDevice
from .ptx.device import run
from .ptx.program import parse

EDGES = (0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0xDEADBEEF, 0xFFFFFFFE, 0xFFFFFFFF)
LANES = np.arange(32)


def execute(body: str, words: Any, *, threads: int = 32, shared_bytes: int = 0) -> Any:
    """What `threads` threads leave at `out`: each has `words` of its own, %r1 to %r4, and gives %r9."""
    entry = f""".visible .entry tested(
    .param .u64 out,
    .param .u64 in
)
{{
    .reg .b32 %r<10>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    mov.u32 %r0, %tid.x;
    mad.wide.u32 %rd4, %r0, 16, %rd2;
    mad.wide.u32 %rd3, %r0, 4, %rd1;
    ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%rd4];
    {body}
    st.global.u32 [%rd3], %r9;
    ret;

}}
"""
    device = EmulatedDevice()
    out, given = device.empty(threads, np.uint32), device.upload(np.asarray(words, np.uint32))
    run(parse(entry)["tested"], 1, threads, shared_bytes, [out, given])
    return device.download(out).tolist()


def edge_words(threads: int = 32) -> Any:
    rng = np.random.default_rng(7)
    return rng.choice(EDGES, (threads, 4)).astype(np.uint32)


def as_signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


# (statements, what %r9 is in Python, from four words)
SEMANTICS = {
    "add, carry out": ("add.cc.u32 %r5, %r1, %r2; addc.u32 %r9, %r3, %r4;", lambda a, b, c, d: c + d + (a + b >> 32)),
    "sub, borrow": ("sub.cc.u32 %r5, %r1, %r2; subc.u32 %r9, %r3, %r4;", lambda a, b, c, d: c - d - (a < b)),
    "subc, borrow": (
        "sub.cc.u32 %r5, %r1, %r2; subc.cc.u32 %r5, %r2, %r3; subc.u32 %r9, %r3, %r4;",
        lambda a, b, c, d: c - d - (b - c - (a < b) < 0),
    ),
    "mad.lo": (
        "mad.lo.cc.u32 %r5, %r1, %r2, %r3; addc.u32 %r9, %r4, 0;",
        lambda a, b, c, d: d + ((a * b & 0xFFFFFFFF) + c >> 32),
    ),
    "madc.hi": (
        "add.cc.u32 %r5, %r1, %r2; madc.hi.cc.u32 %r5, %r3, %r4, %r1; addc.u32 %r9, %r5, %r2;",
        lambda a, b, c, d: (t := (c * d >> 32) + a + (a + b >> 32)) + b + (t >> 32),
    ),
    "flag outlives what does not set it": (
        "add.cc.u32 %r5, %r1, %r2; add.u32 %r6, %r3, %r4; mul.lo.u32 %r6, %r6, %r6; addc.u32 %r9, %r3, 5;",
        lambda a, b, c, d: c + 5 + (a + b >> 32),
    ),
    "mul.hi.s32": ("mul.hi.s32 %r9, %r1, %r2;", lambda a, b, c, d: as_signed(a) * as_signed(b) >> 32),
    "mul.hi.u32": ("mul.hi.u32 %r9, %r1, %r2;", lambda a, b, c, d: a * b >> 32),
    "mad.wide.u32": (
        "cvt.u64.u32 %rd6, %r3; mad.wide.u32 %rd5, %r1, %r2, %rd6; shr.u64 %rd5, %rd5, 32; cvt.u32.u64 %r9, %rd5;",
        lambda a, b, c, d: a * b + c >> 32,
    ),
    "mul.wide.s32": (
        "mul.wide.s32 %rd5, %r1, %r2; shr.u64 %rd5, %rd5, 32; cvt.u32.u64 %r9, %rd5;",
        lambda a, b, c, d: as_signed(a) * as_signed(b) >> 32,
    ),
    "cvt.s64.s32": (
        "cvt.s64.s32 %rd5, %r1; mov.b64 {%r5, %r9}, %rd5;",
        lambda a, b, c, d: 0xFFFFFFFF if a >> 31 else 0,
    ),
    "ld.s32 into a wider register": (
        "ld.global.s32 %rd5, [%rd4+4]; mov.b64 {%r5, %r9}, %rd5;",
        lambda a, b, c, d: 0xFFFFFFFF if b >> 31 else 0,
    ),
    "ld.s8": ("ld.global.s8 %r9, [%rd4+3];", lambda a, b, c, d: (a >> 24) - (256 if a >> 31 else 0)),
    "shl": ("shl.b32 %r9, %r1, %r2;", lambda a, b, c, d: a << b if b < 32 else 0),
    "shr.u32": ("shr.u32 %r9, %r1, %r2;", lambda a, b, c, d: a >> b if b < 32 else 0),
    "shr.s32": ("shr.s32 %r9, %r1, %r2;", lambda a, b, c, d: as_signed(a) >> min(b, 31)),
    "shf.r.wrap": ("shf.r.wrap.b32 %r9, %r1, %r2, %r3;", lambda a, b, c, d: (b << 32 | a) >> (c & 31)),
    "shf.l.wrap": ("shf.l.wrap.b32 %r9, %r1, %r2, %r3;", lambda a, b, c, d: (b << 32 | a) << (c & 31) >> 32),
    "prmt": ("prmt.b32 %r9, %r1, %r2, 0x6152;", lambda a, b, c, d: _bytes(a, b, (2, 5, 1, 6))),
    "lop3": ("lop3.b32 %r9, %r1, %r2, %r3, 0xE8;", lambda a, b, c, d: a & b | a & c | b & c),
    "bfe": ("bfe.u32 %r9, %r1, 5, 9;", lambda a, b, c, d: a >> 5 & 0x1FF),
    "bfi": (
        "and.b32 %r5, %r3, 31; sub.u32 %r6, 32, %r5; bfi.b32 %r9, %r1, %r2, %r5, %r6;",
        lambda a, b, c, d: a << (c & 31) | b & (1 << (c & 31)) - 1,
    ),
    "popc, clz": ("popc.b32 %r5, %r1; clz.b32 %r6, %r2; add.u32 %r9, %r5, %r6;",
                  lambda a, b, c, d: a.bit_count() + 32 - b.bit_length()),
    "setp.s32": (
        "setp.lt.s32 %p1, %r1, %r2; selp.b32 %r9, %r3, %r4, %p1;",
        lambda a, b, c, d: c if as_signed(a) < as_signed(b) else d,
    ),
    "setp.and": (
        "setp.ne.u32 %p1, %r1, 0; setp.ge.and.u32 %p2, %r2, %r3, %p1; selp.u32 %r9, 1, 0, %p2;",
        lambda a, b, c, d: int(a != 0 and b >= c),
    ),
    "predicate": (
        "mov.u32 %r9, 7; setp.lo.u32 %p1, %r1, %r2; @%p1 mov.u32 %r9, %r3; @!%p1 add.u32 %r9, %r9, 1;",
        lambda a, b, c, d: c if a < b else 8,
    ),
    "loop": (
        "mov.u32 %r9, 0; and.b32 %r5, %r1, 7; $again: setp.eq.u32 %p1, %r5, 0; @%p1 bra $out; "
        "add.u32 %r9, %r9, %r2; sub.u32 %r5, %r5, 1; bra.uni $again; $out: add.u32 %r9, %r9, 3;",
        lambda a, b, c, d: (a & 7) * b + 3,
    ),
    "div, rem": (
        "or.b32 %r5, %r2, 1; div.u32 %r6, %r1, %r5; rem.u32 %r7, %r1, %r5; xor.b32 %r9, %r6, %r7;",
        lambda a, b, c, d: a // (b | 1) ^ a % (b | 1),
    ),
}  # fmt: skip


def _bytes(a: int, b: int, chosen: tuple[int, ...]) -> int:
    both = (b << 32 | a).to_bytes(8, "little")
    return int.from_bytes(bytes(both[i] for i in chosen), "little")


@pytest.mark.parametrize("name", SEMANTICS)
def test_an_instruction_means_what_the_isa_says(name: str) -> None:
    body, oracle = SEMANTICS[name]
    words = edge_words()
    assert execute(body, words) == [oracle(*row) % (1 << 32) for row in words.tolist()]


# Source: the pseudo-code of shfl.sync in the PTX ISA, thread by thread, for groups of 4 threads (0x1C03; 0x1C00 up).
@pytest.mark.parametrize(
    ("body", "source"),
    [
        ("shfl.sync.idx.b32 %r9, %r1, 2, 0x1C03, -1;", lambda t: t & ~3 | 2),
        ("shfl.sync.idx.b32 %r9, %r1, 13, 0x1C03, -1;", lambda t: t & ~3 | 1),
        ("shfl.sync.down.b32 %r9, %r1, 1, 0x1C03, -1;", lambda t: t + 1 if t % 4 != 3 else t),
        ("shfl.sync.up.b32 %r9, %r1, 1, 0x1C00, -1;", lambda t: t - 1 if t % 4 else t),
        ("shfl.sync.bfly.b32 %r9, %r1, 2, 0x1C03, -1;", lambda t: t ^ 2),
        ("shfl.sync.down.b32 %r9|%p1, %r1, 5, 31, -1; @!%p1 mov.u32 %r9, %r1;", lambda t: t + 5 if t < 27 else t),
    ],
)  # fmt: skip
def test_shuffles(body: str, source: Any) -> None:
    words = np.random.default_rng(3).integers(0, 1 << 32, (64, 4), np.uint64)
    found = execute(body, words, threads=64)
    assert found == [int(words[w + source(t), 0]) for w in (0, 32) for t in range(32)]


def test_votes_are_of_the_own_warp() -> None:
    words = np.zeros((64, 4), np.uint64)
    words[[1, 5, 31, 40], 0] = 1
    body = "setp.ne.u32 %p1, %r1, 0; vote.sync.ballot.b32 %r9, %p1, -1;"
    assert execute(body, words, threads=64) == [1 << 31 | 1 << 5 | 2] * 32 + [1 << 8] * 32
    words[40] = 0
    body = "setp.ne.u32 %p1, %r1, 0; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r9, 1, 0, %p2;"
    assert execute(body, words, threads=64) == [1] * 32 + [0] * 32


HALF = "setp.lt.u32 %p1, %r0, 16;"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("addc.u32 %r9, %r1, %r2;", "nothing in its straight line has set"),
        ("add.cc.u32 %r5, %r1, %r2; $here: addc.u32 %r9, %r1, %r2;", "nothing in its straight line has set"),
        (f"{HALF} @%p1 bra $on; shfl.sync.idx.b32 %r9, %r1, 0, 31, -1; $on: mov.u32 %r9, 0;", "never come"),
        (f"{HALF} @%p1 vote.sync.ballot.b32 %r9, %p1, -1;", "in part of a warp only"),
        (f"{HALF} @%p1 ret; shfl.sync.idx.b32 %r9, %r1, 0, 31, -1;", "never come"),
        (f"{HALF} @%p1 bra $on; bar.sync 0; bra.uni $off; $on: bar.sync 0; $off: mov.u32 %r9, 0;", "never come"),
        ("shfl.sync.idx.b32 %r9, %r1, 0, 31, 65535;", "does not name the whole warp"),
        (f"{HALF} @%p1 add.cc.u32 %r5, %r1, %r2;", "in some threads only"),
        ("mov.u32 %r9, 0; add.s64 %rd3, %rd3, 4;", "outside of a buffer"),
        ("mov.u32 %r9, 0; add.s64 %rd3, %rd3, -4;", "outside of all buffers"),
        ("mov.u32 %r9, 0; add.s64 %rd3, %rd3, 2;", "not aligned"),
        ("ld.global.v2.u32 {%r8, %r9}, [%rd4+12];", "not aligned"),
        ("mov.u32 %r9, 0; mov.u64 %rd3, %rd1;", "two threads store"),
        ("mov.u32 %r9, 0; mov.u64 %rd3, 64;", "outside of"),
        ("ld.local.u32 %r9, [%rd4];", "local memory"),
        ("add.f32 %r9, %r1, %r2;", "the type f32 is unknown"),
        ("sin.approx.u32 %r9, %r1;", "is unknown here"),
        ("mov.u32 %r9, %r8;", "%r8"),
    ],
)
def test_what_cannot_be_right_is_refused(body: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        execute(body, edge_words())


def test_a_warp_meets_again_at_a_shuffle() -> None:
    """Half of it comes by a way that lies behind the shuffle in the text."""
    body = f"""{HALF} mov.u32 %r5, 1; @%p1 bra $long;
    $meet: shfl.sync.bfly.b32 %r9, %r5, 16, 31, -1; bra.uni $on;
    $long: mov.u32 %r5, 2; bra.uni $meet;
    $on: add.u32 %r9, %r9, 0;"""
    assert execute(body, edge_words()) == [1] * 16 + [2] * 16


def test_threads_wait_for_each_other_at_a_barrier() -> None:
    """The first half goes a longer way; what the second half reads of it is there after the barrier."""
    body = """
    setp.lt.u32 %p1, %r0, 32; @!%p1 bra $wait;
    add.u32 %r5, %r1, 1; shl.b32 %r6, %r0, 2; cvt.u64.u32 %rd7, %r6; st.shared.u32 [%rd7], %r5;
    $wait: bar.sync 0;
    and.b32 %r6, %r0, 31; shl.b32 %r6, %r6, 2; cvt.u64.u32 %rd7, %r6; ld.shared.u32 %r9, [%rd7];"""
    words = edge_words(64)
    entry_words = np.concatenate([words[:32], words[:32]])
    device = EmulatedDevice()
    out, given = device.empty(64, np.uint32), device.upload(entry_words)
    text = f""".visible .entry tested(.param .u64 out, .param .u64 in)
{{
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r0, %tid.x;
    mad.wide.u32 %rd4, %r0, 16, %rd2; mad.wide.u32 %rd3, %r0, 4, %rd1; ld.global.u32 %r1, [%rd4];
    {body}
    st.global.u32 [%rd3], %r9; ret;
}}
"""
    run(parse(text)["tested"], 1, 64, 128, [out, given])
    assert device.download(out).tolist() == 2 * [(int(a) + 1) % (1 << 32) for a in words[:32, 0]]


def test_atomics_take_turns() -> None:
    words = np.zeros((32, 4), np.uint64)
    words[:, 0] = 1 << LANES
    body = """mov.u64 %rd5, 64; cvt.u32.u64 %r5, %rd5;
    setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [%rd5], 0; bar.sync 0;
    atom.shared.or.b32 %r6, [%rd5], %r1; red.shared.add.u32 [%rd5+4], %r1; bar.sync 0;
    ld.shared.u32 %r9, [%rd5];"""
    assert execute(body, words, shared_bytes=128) == [(1 << 32) - 1] * 32


@pytest.mark.parametrize(
    "body",
    [
        "st.shared.u32 [%rd5], %r1; ld.shared.u32 %r9, [%rd6];",
        "ld.shared.u32 %r9, [%rd6]; st.shared.u32 [%rd5], %r1;",
        "red.shared.or.b32 [%rd5], %r1; ld.shared.u32 %r9, [%rd6];",
        "st.shared.u32 [%rd6], %r1; atom.shared.add.u32 %r9, [%rd5], 1;",
        "ld.shared.u32 %r9, [0]; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [0], %r1;",
    ],
)
def test_shared_memory_without_a_barrier_is_refused(body: str) -> None:
    """Each thread uses its own word and that of the thread 32 further."""
    places = """shl.b32 %r5, %r0, 2; cvt.u64.u32 %rd5, %r5;
    add.u32 %r6, %r0, 32; and.b32 %r6, %r6, 63; shl.b32 %r6, %r6, 2; cvt.u64.u32 %rd6, %r6;"""
    with pytest.raises(ValueError, match="no barrier between"):
        execute(places + body, edge_words(64), threads=64, shared_bytes=256)
    first, second = body.split("; ", 1)
    assert execute(f"{places} {first}; bar.sync 0; {second}", edge_words(64), threads=64, shared_bytes=256)


def test_a_loop_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from .ptx.block import Block

    endless = Block.run
    monkeypatch.setattr(Block, "run", lambda self: endless(self, steps=1000))
    with pytest.raises(RuntimeError, match="does not end"):
        execute("$again: bra.uni $again;", edge_words())
