// What is said about this processor's features is what its instructions do; and the fastest path is the one
// that the caller expects of it.
//
// usage: test_paths KNOWN_ANSWERS [FASTEST_PATH]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "check.hpp"
#include "cpu/features.hpp"

namespace {

using hekat::CpuPath;
using hekat::test::check;

void test_names() {
    for (const CpuPath path : hekat::kCpuPaths) {
        check(hekat::path_named(hekat::name_of(path)) == path, "a path's name names it");
    }
    for (const char* name : {"", "PORTABLE", "avx", "x86 "}) check(!hekat::path_named(name), "no such path");
}

void test_choice(const std::string& expected) {
    check(hekat::can_take(CpuPath::kPortable), "the portable path can be taken anywhere");
    check(hekat::can_take(hekat::fastest_path()), "the fastest path can be taken");
    check(expected.empty() || hekat::name_of(hekat::fastest_path()) == expected,
          "the fastest path is " + expected);
    bool is_lacking = false;  // once something lacks, it lacks for all that come after
    for (const CpuPath path : hekat::kCpuPaths) {
        is_lacking = is_lacking || !hekat::lacks_for(path).empty();
        check(is_lacking == !hekat::lacks_for(path).empty(), "a path needs what the ones before it need");
    }
}

#if defined(__x86_64__) && defined(__GNUC__)

// One instruction of each feature, on registers that a function may use up.
struct Probe {
    const char* feature;
    void (*run)();
};

const Probe kProbes[] = {
    {"avx2",
     [] {
         __asm__ volatile("vpaddq %%ymm0, %%ymm0, %%ymm0\n\tvzeroupper" ::: "xmm0");
     }},
    {"bmi2",
     [] {
         __asm__ volatile("mulxq %%rax, %%rax, %%rcx" ::: "rax", "rcx");
     }},
    {"adx",
     [] {
         __asm__ volatile("adcxq %%rax, %%rax" ::: "rax", "cc");
     }},
    {"avx512f",
     [] {
         __asm__ volatile("vpaddq %%zmm0, %%zmm0, %%zmm0\n\tvzeroupper" ::: "xmm0");
     }},
    {"avx512dq",
     [] {
         __asm__ volatile("vpmullq %%zmm0, %%zmm0, %%zmm0\n\tvzeroupper" ::: "xmm0");
     }},
    {"avx512bw",
     [] {
         __asm__ volatile("vpaddb %%zmm0, %%zmm0, %%zmm0\n\tvzeroupper" ::: "xmm0");
     }},
    {"avx512vl",
     [] {
         __asm__ volatile("vpternlogq $0, %%ymm0, %%ymm0, %%ymm0\n\tvzeroupper" ::: "xmm0");
     }},
    {"avx512ifma",
     [] {
         __asm__ volatile("vpmadd52luq %%zmm0, %%zmm0, %%zmm0\n\tvzeroupper" ::: "xmm0");
     }},
    {"avx512vbmi",
     [] {
         __asm__ volatile("vpermb %%zmm0, %%zmm0, %%zmm0\n\tvzeroupper" ::: "xmm0");
     }},
    {"avx512vpopcntdq",
     [] {
         __asm__ volatile("vpopcntd %%zmm0, %%zmm0\n\tvzeroupper" ::: "xmm0");
     }},
};

// True where the instruction is carried out, false where the processor refuses it.
bool is_carried_out(const Probe& probe) {
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGILL, [](int) { ::_exit(1); });
        probe.run();
        ::_exit(0);
    }
    int status = -1;
    check(::waitpid(child, &status, 0) == child && WIFEXITED(status), "a probe ends");
    return WEXITSTATUS(status) == 0;
}

void test_features() {
    const std::vector<const char*> lacking = hekat::lacks_for(CpuPath::kIfma);
    for (const Probe& probe : kProbes) {
        const std::string feature = probe.feature;
        const bool is_there = std::find(lacking.begin(), lacking.end(), feature) == lacking.end();
        check(is_carried_out(probe) == is_there,
              feature + (is_there ? " is there, but not carried out" : " is not there, but carried out"));
        std::printf("%s: %s\n", probe.feature, is_there ? "carried out" : "refused");
    }
}

#else

void test_features() {
    check(!hekat::can_take(CpuPath::kX86) && !hekat::can_take(CpuPath::kIfma), "only x86-64 has other paths");
}

#endif

}  // namespace

int main(int argc, char** argv) {
    test_names();
    test_choice(argc > 2 ? argv[2] : "");
    test_features();
    return hekat::test::verdict();
}
