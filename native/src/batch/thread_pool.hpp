// Threads that share out one batch at a time per caller; several callers may come at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <stdexcept>

namespace hekat {

// The caller asked to stop: the batch's output is without meaning.
class Interrupted : public std::runtime_error {
  public:
    Interrupted() : std::runtime_error("interrupted") {}
};

class ThreadPool {
  public:
    // Works on items [begin, end); called from several threads at once.
    using Body = std::function<void(std::size_t begin, std::size_t end)>;
    // Asked by the calling thread, about every 50 ms, whether to go on.
    using GoOn = std::function<bool()>;

    // thread_count >= 1, the calling thread being one of them: a pool of 1 starts none.
    ThreadPool(std::size_t thread_count, GoOn go_on);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    std::size_t thread_count() const { return thread_count_; }

    // Makes sure that the threads run in this process. Throws std::system_error where they cannot.
    void start();

    // Runs body over [0, count) in chunks of a few milliseconds, given what one item costs, and returns when
    // all is done. Throws Interrupted if go_on said no, else what a body threw first, and std::system_error
    // where the threads cannot be started. Safe from several threads at once, and in a process forked from
    // this one (which starts threads of its own).
    void run(std::size_t count, double item_ns, const Body& body);

    // The same on the calling thread alone, chunk after chunk: for work whose items need the ones before.
    void run_in_order(std::size_t count, double item_ns, const Body& body);

    // For bodies with items longer than some 100 ms, to call now and then: throws Interrupted where the batch
    // is to stop. Does nothing outside a body.
    static void checkpoint();

  private:
    struct Job;
    class Crew;
    Crew& crew();

    std::size_t thread_count_;
    GoOn go_on_;
    std::atomic<Crew*> crew_{nullptr};
};

}  // namespace hekat
