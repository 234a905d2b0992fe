// Marks memory as secret for what checks constant time: "undefined" for valgrind's memcheck, "poisoned" for
// MemorySanitizer. Both follow the mark through arithmetic and report a branch or an address that depends on
// it.
#pragma once

#include <cstdlib>
#include <vector>

#include "bigint/limb.hpp"
#include "bigint/reveal.hpp"

namespace hekat::test {

// MemorySanitizer takes each bit of a sum for marked where that bit of a term is, so follows no carry; and it
// does not look into assembly.
#if defined(HEKAT_CHECK_WITH_MSAN)
inline constexpr bool kFollowsCarries = false;
inline constexpr bool kFollowsAssembly = false;
inline constexpr bool kRunsInstructions = true;
#else
inline constexpr bool kFollowsCarries = true;
inline constexpr bool kFollowsAssembly = true;
inline constexpr bool kRunsInstructions = false;  // valgrind translates them
#endif

// False where the program runs outside valgrind and without MemorySanitizer: nothing would be found then.
inline bool checker_is_active() {
#if defined(HEKAT_CHECK_WITH_MSAN)
    return true;
#else
    return RUNNING_ON_VALGRIND != 0;
#endif
}

inline void mark_secret(std::vector<Limb>& x) {
#if defined(HEKAT_CHECK_WITH_MSAN)
    __msan_poison(x.data(), x.size() * sizeof(Limb));
#else
    VALGRIND_MAKE_MEM_UNDEFINED(x.data(), x.size() * sizeof(Limb));
#endif
}

inline void make_public(std::vector<Limb>& x) {
#if defined(HEKAT_CHECK_WITH_MSAN)
    __msan_unpoison(x.data(), x.size() * sizeof(Limb));
#else
    VALGRIND_MAKE_MEM_DEFINED(x.data(), x.size() * sizeof(Limb));
#endif
}

// True where the mark is on at least one bit of x.
inline bool is_secret(const Limb& x) {
#if defined(HEKAT_CHECK_WITH_MSAN)
    return __msan_test_shadow(&x, sizeof x) >= 0;
#else
    Limb marks = 0;
    VALGRIND_GET_VBITS(&x, &marks, sizeof x);
    return marks != 0;
#endif
}

}  // namespace hekat::test
