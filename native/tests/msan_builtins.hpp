// Additions that tell their carry, and words closed up, for builds with MemorySanitizer, which takes the
// compiler's own for a use of what goes in. Included before everything else there.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#endif

namespace hekat::test {

template <typename T>
inline bool add_overflows(T a, T b, T* z) {
    *z = static_cast<T>(a + b);
    return *z < a;
}

template <typename T>
inline bool sub_overflows(T a, T b, T* z) {
    const bool is_below = a < b;
    *z = static_cast<T>(a - b);
    return is_below;
}

#if defined(__x86_64__)
// For masks that are public.
__attribute__((target("avx512f"), always_inline)) inline __m512i close_up(__mmask8 mask, __m512i x) {
    __m512i z{};
    std::size_t next = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        if ((mask >> i & 1) != 0) z[next++] = x[i];
    }
    return z;
}
#endif

}  // namespace hekat::test

#define _mm512_maskz_compress_epi64(mask, x) hekat::test::close_up(mask, x)

#define __builtin_add_overflow(a, b, z) hekat::test::add_overflows(a, b, z)
#define __builtin_sub_overflow(a, b, z) hekat::test::sub_overflows(a, b, z)
