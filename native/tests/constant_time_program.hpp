// The program of a test of constant time: PATH [mode], under a checker.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "check.hpp"
#include "cpu/features.hpp"
#include "secrets.hpp"

namespace hekat::test {

// Calls work(path, mode) and returns the exit code: 2 where no checker is active, for another PATH, and where
// work returns false because the mode is none; 77 where PATH cannot be taken. Without a second argument the
// mode is empty. Under valgrind that does not hang on this processor: it translates instructions, and the
// vector path's are emulated there.
template <typename Work>
int run_constant_time(int argc, char** argv, const Work& work) {
    const std::optional<CpuPath> path = argc >= 2 ? path_named(argv[1]) : std::nullopt;
    if (!path || argc > 3) return 2;
    if (!checker_is_active()) {
        std::fprintf(stderr, "run it under valgrind, or build it with MemorySanitizer\n");
        return 2;
    }
    if (kRunsInstructions && !can_take(*path)) {
        std::printf("skipped: this processor lacks the path\n");
        return 77;
    }
    return work(*path, std::string(argc == 3 ? argv[2] : "")) ? verdict() : 2;
}

}  // namespace hekat::test
