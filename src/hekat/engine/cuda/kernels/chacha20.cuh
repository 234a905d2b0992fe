// ChaCha20 (RFC 8439): one block of key stream by one thread, without branches.
#pragma once

#include "block.cuh"

namespace hekat {

constexpr u32 kStreamWords = 16;
constexpr u32 kKeyWords = 8;

// Where a key stream begins: the eight words of its key, and its nonce.
struct Stream {
    const u32* key;
    u32 nonce[3];
};

// The streams of chunks: number of a prime, or kErrorStream, then the number of the chunk.
constexpr u32 kErrorStream = 0xffffffffu;

HEKAT_DEVICE Stream stream_of(const u32* key, u32 number, u64 chunk) {
    return {key, {number, (u32)chunk, (u32)(chunk >> 32)}};
}

HEKAT_DEVICE void quarter_round(u32& a, u32& b, u32& c, u32& d) {
    a += b;
    d = rotate_left(d ^ a, 16);
    c += d;
    b = rotate_left(b ^ c, 12);
    a += b;
    d = rotate_left(d ^ a, 8);
    c += d;
    b = rotate_left(b ^ c, 7);
}

// out = block number `counter` of the stream.
HEKAT_DEVICE void stream_block(u32 (&out)[kStreamWords], const Stream& stream, u32 counter) {
    const u32 start[kStreamWords] = {0x61707865u,   0x3320646eu,     0x79622d32u,     0x6b206574u,
                                     stream.key[0], stream.key[1],   stream.key[2],   stream.key[3],
                                     stream.key[4], stream.key[5],   stream.key[6],   stream.key[7],
                                     counter,       stream.nonce[0], stream.nonce[1], stream.nonce[2]};
#pragma unroll
    for (u32 i = 0; i < kStreamWords; ++i) out[i] = start[i];
#pragma unroll 2
    for (int i = 0; i < 10; ++i) {
        quarter_round(out[0], out[4], out[8], out[12]);
        quarter_round(out[1], out[5], out[9], out[13]);
        quarter_round(out[2], out[6], out[10], out[14]);
        quarter_round(out[3], out[7], out[11], out[15]);
        quarter_round(out[0], out[5], out[10], out[15]);
        quarter_round(out[1], out[6], out[11], out[12]);
        quarter_round(out[2], out[7], out[8], out[13]);
        quarter_round(out[3], out[4], out[9], out[14]);
    }
#pragma unroll
    for (u32 i = 0; i < kStreamWords; ++i) out[i] += start[i];
}

// The same block as eight words of 64 bits.
HEKAT_DEVICE void stream_words(u64 (&words)[kStreamWords / 2], const Stream& stream, u32 counter) {
    u32 block[kStreamWords];
    stream_block(block, stream, counter);
#pragma unroll
    for (u32 i = 0; i < kStreamWords / 2; ++i) words[i] = (u64)block[2 * i + 1] << 32 | block[2 * i];
}

}  // namespace hekat
