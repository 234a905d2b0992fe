// The pool: everything is worked on once, callers do not disturb one another, errors and interrupts come out.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "batch/thread_pool.hpp"
#include "check.hpp"

namespace {

using hekat::Interrupted;
using hekat::ThreadPool;
using hekat::test::check;

constexpr double kLongItemNs = 1e6;  // so that every item becomes a chunk of its own

bool always() { return true; }

bool covers_everything_once(ThreadPool& pool, std::size_t count) {
    std::vector<std::atomic<int>> seen(count);
    pool.run(count, kLongItemNs, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) ++seen[i];
    });
    for (const std::atomic<int>& times : seen) {
        if (times != 1) return false;
    }
    return true;
}

void test_coverage() {
    for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
        ThreadPool pool(threads, always);
        for (const std::size_t count : {0U, 1U, 2U, 7U, 8U, 9U, 1000U}) {
            check(covers_everything_once(pool, count), "every item once");
        }
    }
}

void test_many_callers() {
    ThreadPool pool(3, always);
    std::atomic<int> right{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 6; ++caller) {
        callers.emplace_back([&] {
            for (int round = 0; round < 50; ++round) {
                if (covers_everything_once(pool, 64)) ++right;
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    check(right == 6 * 50, "six callers at once");
}

void test_error() {
    for (const std::size_t threads : {1U, 4U}) {
        ThreadPool pool(threads, always);
        bool caught = false;
        try {
            pool.run(100, kLongItemNs, [](std::size_t begin, std::size_t end) {
                if (begin <= 37 && 37 < end) throw std::runtime_error("item 37");
            });
        } catch (const std::runtime_error& error) {
            caught = std::string(error.what()) == "item 37";
        }
        check(caught, "a body's exception reaches the caller");
        check(covers_everything_once(pool, 100), "the pool works on after an exception");
    }
}

void test_interrupt() {
    for (const std::size_t threads : {1U, 4U}) {
        std::atomic<bool> asked{false};
        ThreadPool pool(threads, [&] { return !asked.exchange(true); });
        // The first question is answered with yes, the second with no: work without end ends.
        bool caught = false;
        try {
            pool.run(std::size_t{1} << 40, kLongItemNs, [](std::size_t, std::size_t) {});
        } catch (const Interrupted&) {
            caught = true;
        }
        check(caught, "an interrupt ends the batch");
    }
}

void test_fork() {
    ThreadPool pool(4, always);
    check(covers_everything_once(pool, 100), "before the fork");
    const pid_t child = ::fork();
    if (child == 0) ::_exit(covers_everything_once(pool, 100) ? 0 : 1);
    int status = -1;
    check(::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "a forked process has threads of its own");
    check(covers_everything_once(pool, 100), "after the fork");
}

// Leaves address space for some of the threads of a large pool: what a caller sees of that.
int start_too_many_threads() {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    constexpr rlim_t kRoom = rlim_t{256} << 20;
    const rlim_t limit = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kRoom;
    const rlimit limits{limit, limit};
    if (pages == 0 || ::setrlimit(RLIMIT_AS, &limits) != 0) return 2;
    ThreadPool pool(1024, always);
    for (int round = 0; round < 2; ++round) {
        try {
            covers_everything_once(pool, 100);
            return 1;
        } catch (const std::system_error&) {
        }
    }
    return 0;
}

void test_too_many_threads() {
#if defined(__SANITIZE_ADDRESS__)
    // Each thread maps memory for the sanitizer when it has started; where there is none left, that ends the
    // process before the next thread can fail to start.
    std::puts("not under the address sanitizer: threads that cannot be started");
    return;
#endif
    const pid_t child = ::fork();
    if (child == 0) ::_exit(start_too_many_threads());
    int status = -1;
    check(::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "threads that cannot be started are an error, not the end of the process");
}

}  // namespace

int main() {
    test_coverage();
    test_many_callers();
    test_error();
    test_interrupt();
    test_fork();
    test_too_many_threads();
    return hekat::test::verdict();
}
