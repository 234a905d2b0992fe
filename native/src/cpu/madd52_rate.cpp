// Twelve accumulators that do not wait for each other, so that throughput and not latency is timed.
#include "cpu/madd52_rate.hpp"

#include "cpu/features.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

namespace hekat {
namespace {

constexpr unsigned kAccumulators = 12;
constexpr std::uint64_t kSteps = 5'000'000;
constexpr int kRuns = 5;

// `steps` times one vpmadd52 for each accumulator; the sum of all, so that none can be left out.
__attribute__((target("avx512f,avx512ifma"))) std::uint64_t run_madds(std::uint64_t steps) {
    const __m512i a = _mm512_set1_epi64(0xfedcba9876543), b = _mm512_set1_epi64(0xabcdef0123457);
    __m512i sums[kAccumulators];
    for (unsigned i = 0; i < kAccumulators; ++i) sums[i] = _mm512_set1_epi64(i);
    for (std::uint64_t step = 0; step < steps; ++step) {
        for (unsigned i = 0; i < kAccumulators; i += 2) {
            sums[i] = _mm512_madd52lo_epu64(sums[i], a, b);
            sums[i + 1] = _mm512_madd52hi_epu64(sums[i + 1], a, b);
        }
    }
    for (unsigned i = 1; i < kAccumulators; ++i) sums[0] = _mm512_add_epi64(sums[0], sums[i]);
    std::uint64_t lanes[8];
    _mm512_storeu_si512(lanes, sums[0]);
    return lanes[0];
}

// Processor time of this thread: what others do on the machine is left out.
double thread_time_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

double madd52_per_ns() {
    if (!lacks_for(CpuPath::kIfma).empty()) return 0;
    double best = 0;
    for (int run = 0; run < kRuns; ++run) {
        const double start = thread_time_ns();
        volatile std::uint64_t kept = run_madds(kSteps);
        static_cast<void>(kept);
        best = std::max(best, static_cast<double>(kAccumulators * kSteps) / (thread_time_ns() - start));
    }
    return best;
}

}  // namespace hekat

#else

namespace hekat {

double madd52_per_ns() { return 0; }

}  // namespace hekat

#endif
