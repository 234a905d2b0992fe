// Eight words side by side, and the two multiply-adds. Only for files that no processor without them enters.
#pragma once

#if !defined(__x86_64__) || !defined(__GNUC__)
#error "AVX-512 IFMA is x86-64's; leave these files out elsewhere"
#endif

#include <immintrin.h>

#include <cstddef>

#include "bigint/limb.hpp"

// On every function that uses vectors. Not a flag for the whole file: that would also compile the inline
// functions of included headers for these instructions, and the linker may pick that copy for everybody.
#if !defined(HEKAT_IFMA)  // the test of constant time emulates the instructions
#define HEKAT_IFMA \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")))
#endif
#define HEKAT_IFMA_INLINE HEKAT_IFMA __attribute__((always_inline)) inline

namespace hekat::vector {

// Operators work on each word; a scalar operand stands for eight.
typedef Limb Vector __attribute__((vector_size(64)));

// Vector i of an array of words, at any alignment.
HEKAT_IFMA_INLINE Vector load(const Limb* x, std::size_t i) {
    return reinterpret_cast<Vector>(_mm512_loadu_si512(x + 8 * i));
}
HEKAT_IFMA_INLINE void store(Limb* z, std::size_t i, Vector x) {
    _mm512_storeu_si512(z + 8 * i, reinterpret_cast<__m512i>(x));
}

HEKAT_IFMA_INLINE Vector spread(Limb x) {
    return reinterpret_cast<Vector>(_mm512_set1_epi64(static_cast<long long>(x)));
}

// sum + the lower, or the upper, 52 bits of the product of the low 52 bits of a and b.
HEKAT_IFMA_INLINE Vector add_low(Vector sum, Vector a, Vector b) {
    return reinterpret_cast<Vector>(_mm512_madd52lo_epu64(
        reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
HEKAT_IFMA_INLINE Vector add_high(Vector sum, Vector a, Vector b) {
    return reinterpret_cast<Vector>(_mm512_madd52hi_epu64(
        reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}

}  // namespace hekat::vector
