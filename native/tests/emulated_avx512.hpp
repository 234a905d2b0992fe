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
typedef std::uint32_t Halves __attribute__((vector_size(64), may_alias));
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

// Bit i of a mask that may be secret, as a whole word.
inline std::uint64_t spread_bit(std::uint64_t mask, std::size_t i) { return 0 - (mask >> i & 1); }

// All ones where a < b, zero elsewhere, without a branch.
inline std::uint64_t mask_of_less(std::uint64_t a, std::uint64_t b) {
    return 0 - (((~a & b) | ((~a | b) & (a - b))) >> 63);
}

inline __m512i min_words(__m512i a, __m512i b) {
    Words z{};
    for (std::size_t i = 0; i < 8; ++i) {
        const std::uint64_t less = mask_of_less(((Words)a)[i], ((Words)b)[i]);
        z[i] = (((Words)a)[i] & less) | (((Words)b)[i] & ~less);
    }
    return (__m512i)z;
}

inline __mmask8 less_words(__m512i a, __m512i b) {
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < 8; ++i) mask |= (mask_of_less(((Words)a)[i], ((Words)b)[i]) & 1) << i;
    return static_cast<__mmask8>(mask);
}

inline __m512i choose_words(__m512i old, __mmask8 mask, __m512i x) {
    Words z{};
    for (std::size_t i = 0; i < 8; ++i) {
        const std::uint64_t chosen = spread_bit(mask, i);
        z[i] = (((Words)x)[i] & chosen) | (((Words)old)[i] & ~chosen);
    }
    return (__m512i)z;
}

inline __mmask8 signs_of_words(__m512i x) {
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < 8; ++i) mask |= ((Words)x)[i] >> 63 << i;
    return static_cast<__mmask8>(mask);
}

inline __m512i add_masked(__m512i old, __mmask8 mask, __m512i a, __m512i b) {
    Words z{};
    for (std::size_t i = 0; i < 8; ++i) {
        const std::uint64_t chosen = spread_bit(mask, i);
        z[i] = ((((Words)a)[i] + ((Words)b)[i]) & chosen) | (((Words)old)[i] & ~chosen);
    }
    return (__m512i)z;
}

// The words whose bits are set, closed up. For masks that are public.
inline __m512i compress_words(__mmask8 mask, __m512i x) {
    Words z{};
    std::size_t next = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        if ((mask >> i & 1) != 0) z[next++] = ((Words)x)[i];
    }
    return (__m512i)z;
}

// Each word shifted by its own count, by 64 and more to zero. For counts that are public.
inline __m512i shift_words_left(__m512i x, __m512i counts) {
    Words z{};
    for (std::size_t i = 0; i < 8; ++i) {
        if (((Words)counts)[i] < 64) z[i] = ((Words)x)[i] << ((Words)counts)[i];
    }
    return (__m512i)z;
}
inline __m512i shift_words_right(__m512i x, __m512i counts) {
    Words z{};
    for (std::size_t i = 0; i < 8; ++i) {
        if (((Words)counts)[i] < 64) z[i] = ((Words)x)[i] >> ((Words)counts)[i];
    }
    return (__m512i)z;
}

// Word i of the result is word indices[i] mod 8 of x, for indices that are public.
inline __m512i permute_words(__m512i indices, __m512i x) {
    Words z{};
    for (std::size_t i = 0; i < 8; ++i) z[i] = ((Words)x)[((Words)indices)[i] & 7];
    return (__m512i)z;
}

// The greater of each pair of signed halves of words, or the less.
inline __m512i choose_halves(__m512i a, __m512i b, bool greater) {
    Halves z{};
    for (std::size_t i = 0; i < 16; ++i) {
        const std::int64_t x = static_cast<std::int32_t>(((Halves)a)[i]);
        const std::int64_t y = static_cast<std::int32_t>(((Halves)b)[i]);
        const std::uint64_t x_less = static_cast<std::uint64_t>((x - y) >> 63);
        const std::uint64_t take_x = greater ? ~x_less : x_less;
        z[i] = static_cast<std::uint32_t>((static_cast<std::uint64_t>(x) & take_x) |
                                          (static_cast<std::uint64_t>(y) & ~take_x));
    }
    return (__m512i)z;
}

inline __m512i count_ones_in_halves(__m512i x) {
    Halves ones = (Halves)x - ((Halves)x >> 1 & 0x55555555);
    ones = (ones & 0x33333333) + (ones >> 2 & 0x33333333);
    ones = (ones + (ones >> 4)) & 0x0f0f0f0f;
    return (__m512i)((ones * 0x01010101) >> 24);
}

template <typename Number, typename From>
inline __m512i widen_numbers(From x) {
    Words z{};
    Number numbers[8];
    std::memcpy(numbers, &x, sizeof numbers);
    for (std::size_t i = 0; i < 8; ++i) z[i] = static_cast<std::uint64_t>(std::int64_t{numbers[i]});
    return (__m512i)z;
}

inline __m256i load_half(const void* from) {
    __m256i z;
    std::memcpy(&z, from, sizeof z);
    return z;
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
#define _mm512_maskz_permutexvar_epi64(mask, indices, x) hekat::emulated::permute_words(indices, x)
#define _mm512_maskz_min_epu64(mask, a, b) hekat::emulated::min_words(a, b)
#define _mm512_cmplt_epu64_mask(a, b) hekat::emulated::less_words(a, b)
#define _mm512_cmple_epu64_mask(a, b) static_cast<__mmask8>(~hekat::emulated::less_words(b, a))
#define _mm512_mask_mov_epi64(old, mask, x) hekat::emulated::choose_words(old, mask, x)
#define _mm512_movepi64_mask(x) hekat::emulated::signs_of_words(x)
#define _mm512_mask_add_epi64(old, mask, a, b) hekat::emulated::add_masked(old, mask, a, b)
#define _mm512_maskz_compress_epi64(mask, x) hekat::emulated::compress_words(mask, x)
#define _mm512_maskz_sllv_epi64(mask, x, counts) hekat::emulated::shift_words_left(x, counts)
#define _mm512_maskz_srlv_epi64(mask, x, counts) hekat::emulated::shift_words_right(x, counts)
#define _mm512_maskz_rol_epi32(mask, x, bits) \
    ((__m512i)((hekat::emulated::Halves)(x) << (bits) | (hekat::emulated::Halves)(x) >> (32 - (bits))))
#define _mm512_popcnt_epi32(x) hekat::emulated::count_ones_in_halves(x)
#define _mm512_maskz_loadu_epi32(mask, from) hekat::emulated::load_masked<std::uint32_t>(mask, from)
#define _mm512_maskz_min_epi32(mask, a, b) hekat::emulated::choose_halves(a, b, false)
#define _mm512_maskz_max_epi32(mask, a, b) hekat::emulated::choose_halves(a, b, true)
#define _mm256_loadu_si256(from) hekat::emulated::load_half(from)
#define _mm512_maskz_cvtepi32_epi64(mask, x) hekat::emulated::widen_numbers<std::int32_t>(x)
#define _mm512_maskz_cvtepi8_epi64(mask, x) hekat::emulated::widen_numbers<std::int8_t>(x)
#define _mm512_sub_epi8(a, b) ((__m512i)((hekat::emulated::Bytes)(a) - (hekat::emulated::Bytes)(b)))
#define _mm512_set1_epi8(x) ((__m512i)(hekat::emulated::Bytes{} + static_cast<std::uint8_t>(x)))
