// ChaCha20 (RFC 8439, section 2.3), sixteen blocks side by side, and the numbers that are made of it.
//
// A row holds one word of the state, of each block.
#include <algorithm>
#include <cstring>

#include "bigint/secret_buffer.hpp"
#include "bigint/vector_transpose.hpp"
#include "ring/vector_prime.hpp"
#include "ring/vectors.hpp"

namespace hekat::ring::vectors {
namespace {

using vector::transpose;

constexpr std::size_t kBlocks = 16;
constexpr std::size_t kBytes = kBlocks * kBlockBytes;
constexpr std::size_t kWords = kBytes / sizeof(Limb);
constexpr std::uint32_t kConstants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
constexpr std::uint32_t kCbdMask = (1U << 21) - 1;

typedef std::uint32_t Row __attribute__((vector_size(64)));

HEKAT_IFMA_INLINE __m512i bits_of(Row x) { return reinterpret_cast<__m512i>(x); }
HEKAT_IFMA_INLINE Row row_of(__m512i x) { return reinterpret_cast<Row>(x); }

template <int bits>
HEKAT_IFMA_INLINE Row rotate(Row x) {
    return row_of(_mm512_maskz_rol_epi32(0xffff, bits_of(x), bits));
}

HEKAT_IFMA_INLINE void quarter_round(Row& a, Row& b, Row& c, Row& d) {
    a += b;
    d = rotate<16>(d ^ a);
    c += d;
    b = rotate<12>(b ^ c);
    a += b;
    d = rotate<8>(d ^ a);
    c += d;
    b = rotate<7>(b ^ c);
}

// The key stream of blocks `counter` to counter + 15.
HEKAT_IFMA_INLINE void make_blocks(Row (&x)[16], const Stream& stream, std::uint32_t counter) {
    const Row number = Row{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} + counter;
    for (unsigned i = 0; i < 4; ++i) x[i] = Row{} + kConstants[i];
    for (unsigned i = 0; i < 8; ++i) x[4 + i] = Row{} + stream.key[i];
    x[12] = number;
    for (unsigned i = 0; i < 3; ++i) x[13 + i] = Row{} + stream.nonce[i];
#pragma GCC unroll 1
    for (int round = 0; round < 20; round += 2) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; ++i) quarter_round(x[i], x[4 + i], x[8 + i], x[12 + i]);
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; ++i) {
            quarter_round(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4]);
        }
    }
    for (unsigned i = 0; i < 4; ++i) x[i] += kConstants[i];
    for (unsigned i = 0; i < 8; ++i) x[4 + i] += stream.key[i];
    x[12] += number;
    for (unsigned i = 0; i < 3; ++i) x[13 + i] += stream.nonce[i];
}

// Words whose lower half is from x and whose upper half is from y, of the blocks whose number is 0 or 1 mod
// 4; and of the others.
HEKAT_IFMA_INLINE Vector interleave_low(Row x, Row y) {
    return reinterpret_cast<Vector>(
        __builtin_shufflevector(x, y, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29));
}
HEKAT_IFMA_INLINE Vector interleave_high(Row x, Row y) {
    return reinterpret_cast<Vector>(
        __builtin_shufflevector(x, y, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31));
}

// The stream's words in their order, eight to a vector: one block.
HEKAT_IFMA_INLINE void make_words(Vector (&words)[kBlocks], const Stream& stream, std::uint32_t counter) {
    Row x[16];
    make_blocks(x, stream, counter);
    Vector low[8];
    Vector high[8];
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; ++i) {
        low[i] = interleave_low(x[2 * i], x[2 * i + 1]);
        high[i] = interleave_high(x[2 * i], x[2 * i + 1]);
    }
    transpose(low);
    transpose(high);
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; ++i) {
        words[i / 2 * 4 + i % 2] = low[i];
        words[i / 2 * 4 + i % 2 + 2] = high[i];
    }
}

}  // namespace

HEKAT_IFMA void key_stream(std::uint8_t* out, const Stream& stream, std::uint32_t counter,
                           std::size_t block_count) {
    SecretArray<Limb, kWords> rest;
    for (std::size_t done = 0; done < block_count; done += kBlocks) {
        Vector words[kBlocks];
        make_words(words, stream, counter + static_cast<std::uint32_t>(done));
        const bool is_whole = block_count - done >= kBlocks;
        std::uint8_t* const to = out + done * kBlockBytes;
        for (std::size_t i = 0; i < kBlocks; ++i) {
            _mm512_storeu_si512(is_whole ? to + i * kBlockBytes : static_cast<void*>(rest.data() + 8 * i),
                                bits_of(words[i]));
        }
        if (!is_whole) std::memcpy(to, rest.data(), (block_count - done) * kBlockBytes);
    }
}

HEKAT_IFMA void sample_uniform(Limb* a, const Prime& prime, const Stream& stream) {
    const Vector p = spread(prime.value);
    const Vector mask = spread((Limb{1} << prime.bits) - 1);
    std::uint32_t counter = 0;
    SecretArray<Limb, kWords + 8> rest;
    for (std::size_t found = 0; found < prime.degree; counter += kBlocks) {
        Vector words[kBlocks];
        make_words(words, stream, counter);
        __mmask8 all_below = 0xff;
#pragma GCC unroll 16
        for (std::size_t i = 0; i < kBlocks; ++i) {
            words[i] &= mask;
            all_below =
                static_cast<__mmask8>(all_below & _mm512_cmplt_epu64_mask(bits_of(words[i]), bits_of(p)));
        }
        if (all_below == 0xff && prime.degree - found >= kWords) {
#pragma GCC unroll 16
            for (std::size_t i = 0; i < kBlocks; ++i) store(a + found, i, words[i]);
            found += kWords;
            continue;
        }
        Limb* const kept = rest.items.data();
        std::size_t kept_count = 0;
        for (std::size_t i = 0; i < kBlocks; ++i) {
            const __mmask8 below = _mm512_cmplt_epu64_mask(bits_of(words[i]), bits_of(p));
            _mm512_storeu_si512(kept + kept_count, _mm512_maskz_compress_epi64(below, bits_of(words[i])));
            kept_count += static_cast<std::size_t>(__builtin_popcount(below));
        }
        kept_count = std::min(kept_count, prime.degree - found);
        std::memcpy(a + found, kept, kept_count * sizeof(Limb));
        found += kept_count;
    }
}

HEKAT_IFMA void sample_cbd(std::int8_t* e, std::size_t count, const Stream& stream) {
    const Row mask = Row{} + kCbdMask;
    for (std::size_t done = 0; done < count; done += kWords) {
        Row x[16];
        make_blocks(x, stream, static_cast<std::uint32_t>(done / 8));
        // Four numbers of a block, each 21 more than it is, in the bytes of one word.
        Row fours[2];
#pragma GCC unroll 2
        for (unsigned half = 0; half < 2; ++half) {
            fours[half] = Row{};
#pragma GCC unroll 4
            for (unsigned i = 0; i < 4; ++i) {
                const Row low = x[8 * half + 2 * i];
                const Row high = x[8 * half + 2 * i + 1];
                const Row first = low & mask;
                const Row second = ~(low >> 21 | high << 11) & mask;
                const Row number = row_of(_mm512_popcnt_epi32(bits_of(first))) +
                                   row_of(_mm512_popcnt_epi32(bits_of(second)));
                fours[half] += number << 8 * i;
            }
        }
        const Vector low = interleave_low(fours[0], fours[1]);
        const Vector high = interleave_high(fours[0], fours[1]);
        const Vector numbers[2] = {__builtin_shufflevector(low, high, 0, 1, 8, 9, 2, 3, 10, 11),
                                   __builtin_shufflevector(low, high, 4, 5, 12, 13, 6, 7, 14, 15)};
        for (std::size_t i = 0; i < 2; ++i) {
            _mm512_storeu_si512(e + done + 64 * i,
                                _mm512_sub_epi8(bits_of(numbers[i]), _mm512_set1_epi8(21)));
        }
    }
}

}  // namespace hekat::ring::vectors
