// Additions that tell their carry, for builds with MemorySanitizer, which takes the compiler's own for a use
// of what goes in. Included before everything else there.
#pragma once

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

}  // namespace hekat::test

#define __builtin_add_overflow(a, b, z) hekat::test::add_overflows(a, b, z)
#define __builtin_sub_overflow(a, b, z) hekat::test::sub_overflows(a, b, z)
