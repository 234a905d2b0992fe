// Where something about a secret becomes public on purpose: said to a checker of constant time.
#pragma once

#if defined(HEKAT_CHECK_WITH_VALGRIND)
#include <valgrind/memcheck.h>
#elif defined(HEKAT_CHECK_WITH_MSAN)
#include <sanitizer/msan_interface.h>
#endif

namespace hekat {

// `answer`, public from here on by the contract of who asks: branches may follow. No code but in a build for
// a checker.
template <typename Answer>
inline Answer reveal(Answer answer) {
#if defined(HEKAT_CHECK_WITH_VALGRIND)
    VALGRIND_MAKE_MEM_DEFINED(&answer, sizeof answer);
#elif defined(HEKAT_CHECK_WITH_MSAN)
    __msan_unpoison(&answer, sizeof answer);
#endif
    return answer;
}

}  // namespace hekat
