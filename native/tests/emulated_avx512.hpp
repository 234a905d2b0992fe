// The AVX-512 intrinsics of the vector path in plain C++, so that valgrind, which knows none of these
// instructions, can follow secrets through that path's code. Included before everything else there. A look-up
// in registers by what may be secret is no look-up in memory here either.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#define HEKAT_IFMA  // for no instruction beyond what every x86-64 has

namespace hekat::emulated {

__extension__ typedef unsigned __int128 Wide128;
typedef std::uint64_t Words __attribute__((vector_size(64), may_alias));
typedef std::uint8_t Bytes __attribute__((vector_size(64), may_alias));

inline constexpr std::uint64_t kMask52 = (std::uint64_t{1} << 52) - 1;

// All ones where a == b, zero elsewhere, without a branch.
inline std::uint64_t mask_of_equal(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t difference = a ^ b;
    return ((difference | (std::uint64_t{0} - difference)) >> 63) - 1;
}

inline __m512i load(const void* from) {
    __m512i z;
    std::memcpy(&z, from, sizeof z);
    return z;
}
inline void store(void* to, __m512i x) { std::memcpy(to, &x, sizeof x); }
inline __m512i set1(long long x) { return (__m512i)(Words{} + static_cast<std::uint64_t>(x)); }

template <typename Element>
inline __m512i load_masked(std::uint64_t mask, const void* from) {
    __m512i z{};
    for (std::size_t i = 0; i < sizeof z / sizeof(Element); ++i) {
        if ((mask >> i & 1) != 0) {
            std::memcpy(reinterpret_cast<Element*>(&z) + i, static_cast<const Element*>(from) + i,
                        sizeof(Element));
        }
    }
    return z;
}

template <typename Element>
inline void store_masked(void* to, std::uint64_t mask, __m512i x) {
    for (std::size_t i = 0; i < sizeof x / sizeof(Element); ++i) {
        if ((mask >> i & 1) != 0) {
            std::memcpy(static_cast<Element*>(to) + i, reinterpret_cast<const Element*>(&x) + i,
                        sizeof(Element));
        }
    }
}

// Not inline: the loops around it are unrolled and would compile for minutes.
[[gnu::noinline]] inline __m512i madd52(__m512i sum, __m512i a, __m512i b, unsigned shift) {
    Words z = (Words)sum;
    for (std::size_t i = 0; i < 8; ++i) {
        const Wide128 product = static_cast<Wide128>(((Words)a)[i] & kMask52) * (((Words)b)[i] & kMask52);
        z[i] += static_cast<std::uint64_t>(product >> shift) & kMask52;
    }
    return (__m512i)z;
}

// Byte i of the result is byte indices[i] mod 64 of x, for indices that are public.
inline __m512i permute_bytes(__m512i indices, __m512i x) {
    Bytes z{};
    for (std::size_t i = 0; i < 64; ++i) z[i] = ((Bytes)x)[((Bytes)indices)[i] & 63];
    return (__m512i)z;
}

// Word i of the result is word indices[i] mod 16 of a and b, a's eight first.
inline __m512i permute_words_of_two(__m512i a, __m512i indices, __m512i b) {
    Words z{};
    for (std::size_t i = 0; i < 8; ++i) {
        for (std::size_t j = 0; j < 16; ++j) {
            z[i] |= (j < 8 ? ((Words)a)[j] : ((Words)b)[j - 8]) & mask_of_equal(((Words)indices)[i] & 15, j);
        }
    }
    return (__m512i)z;
}

inline __m512i gather_words(__m512i indices, const void* from) {
    Words z{};
    for (std::size_t i = 0; i < 8; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, static_cast<const char*>(from) + 8 * ((Words)indices)[i], sizeof word);
        z[i] = word;
    }
    return (__m512i)z;
}

}  // namespace hekat::emulated

#define _mm512_loadu_si512(from) hekat::emulated::load(from)
#define _mm512_load_si512(from) hekat::emulated::load(from)
#define _mm512_storeu_si512(to, x) hekat::emulated::store(to, x)
#define _mm512_set1_epi64(x) hekat::emulated::set1(x)
#define _mm512_setzero_si512() \
    __m512i {}
#define _mm512_or_si512(a, b) ((a) | (b))
#define _mm512_add_epi64(a, b) ((a) + (b))
#define _mm512_madd52lo_epu64(sum, a, b) hekat::emulated::madd52(sum, a, b, 0)
#define _mm512_madd52hi_epu64(sum, a, b) hekat::emulated::madd52(sum, a, b, 52)
#define _mm512_maskz_loadu_epi64(mask, from) hekat::emulated::load_masked<std::uint64_t>(mask, from)
#define _mm512_mask_storeu_epi64(to, mask, x) hekat::emulated::store_masked<std::uint64_t>(to, mask, x)
#define _mm512_maskz_loadu_epi8(mask, from) hekat::emulated::load_masked<std::uint8_t>(mask, from)
#define _mm512_mask_storeu_epi8(to, mask, x) hekat::emulated::store_masked<std::uint8_t>(to, mask, x)
#define _mm512_maskz_permutexvar_epi8(mask, indices, x) hekat::emulated::permute_bytes(indices, x)
#define _mm512_permutex2var_epi64(a, indices, b) hekat::emulated::permute_words_of_two(a, indices, b)
#define _mm512_mask_i64gather_epi64(old, mask, indices, from, scale) \
    hekat::emulated::gather_words(indices, from)
