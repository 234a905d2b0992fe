// The pool: a queue of jobs, each a counter of chunks that workers and the caller draw from.
#include "batch/thread_pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace hekat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kAskEvery = std::chrono::milliseconds(50);
constexpr double kChunkNs = 2e6;

// Items that take about kChunkNs together; at least one.
std::size_t chunk_of(std::size_t count, double item_ns) {
    const double items = std::min(static_cast<double>(count), kChunkNs / std::max(item_ns, 1.0));
    return std::max<std::size_t>(1, static_cast<std::size_t>(items));
}

}  // namespace

struct ThreadPool::Job {
    const Body& body;
    const GoOn& go_on;
    std::size_t count;
    std::size_t chunk;
    const std::thread::id caller = std::this_thread::get_id();
    Clock::time_point asked = Clock::now();  // when the caller last asked whether to go on
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stopped{false};
    std::size_t active = 0;    // workers inside; held by the crew's mutex
    std::exception_ptr error;  // the first; held by error_mutex
    std::mutex error_mutex{};

    Job(const Body& work, const GoOn& may_go_on, std::size_t item_count, std::size_t chunk_items)
        : body(work), go_on(may_go_on), count(item_count), chunk(chunk_items) {}

    // Works on the next chunk; false where none is left.
    bool work_on_one() {
        if (stopped.load(std::memory_order_relaxed)) return false;
        const std::size_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
        if (begin >= count) return false;
        Job* const outer = std::exchange(of_this_thread, this);
        try {
            body(begin, std::min(count, begin + chunk));
            pause();
        } catch (...) {
            fail(std::current_exception());
        }
        of_this_thread = outer;
        return true;
    }

    void work_on_all() {
        while (work_on_one()) {
        }
    }

    // Throws Interrupted where the job was stopped; the caller's thread also asks, now and then, whether to
    // go on.
    void pause() {
        if (stopped.load(std::memory_order_relaxed)) throw Interrupted();
        if (std::this_thread::get_id() != caller || Clock::now() - asked < kAskEvery) return;
        if (!go_on()) throw Interrupted();
        asked = Clock::now();
    }

    void fail(std::exception_ptr exception) {
        const std::lock_guard<std::mutex> lock(error_mutex);
        if (!error) error = std::move(exception);
        stopped = true;
    }

    static thread_local Job* of_this_thread;  // the job whose body this thread is in, or nullptr
};

thread_local ThreadPool::Job* ThreadPool::Job::of_this_thread = nullptr;

// The worker threads of one process.
class ThreadPool::Crew {
  public:
    explicit Crew(std::size_t worker_count) : process_(::getpid()) {
        workers_.reserve(worker_count);
        try {
            for (std::size_t i = 0; i < worker_count; ++i) workers_.emplace_back([this] { work(); });
        } catch (...) {
            leave();  // the system starts no more threads: nobody else would join those that run
            throw;
        }
    }

    ~Crew() { leave(); }

    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    bool is_of_this_process() const { return process_ == ::getpid(); }

    void offer(const std::shared_ptr<Job>& job) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            jobs_.push_back(job);
        }
        woken_.notify_all();
    }

    // Lets no further worker into the job; after it `is_quiet` becomes true and stays so.
    void withdraw(const std::shared_ptr<Job>& job) {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::erase(jobs_, job);
    }

    // Waits a while for the workers inside the job to finish; true where none is left.
    bool is_quiet(const Job& job) {
        std::unique_lock<std::mutex> lock(mutex_);
        return quiet_.wait_for(lock, kAskEvery, [&] { return job.active == 0; });
    }

  private:
    void leave() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            leaving_ = true;
        }
        woken_.notify_all();
        for (std::thread& worker : workers_) worker.join();
    }

    void work() {
        std::unique_lock<std::mutex> lock(mutex_);
        while (true) {
            woken_.wait(lock, [&] { return leaving_ || !jobs_.empty(); });
            if (leaving_) return;
            const std::shared_ptr<Job> job = jobs_.front();
            ++job->active;
            lock.unlock();
            job->work_on_all();
            lock.lock();
            std::erase(jobs_, job);
            if (--job->active == 0) quiet_.notify_all();
        }
    }

    pid_t process_;
    std::mutex mutex_{};
    std::condition_variable woken_{};
    std::condition_variable quiet_{};
    std::deque<std::shared_ptr<Job>> jobs_{};
    std::vector<std::thread> workers_{};
    bool leaving_ = false;
};

ThreadPool::ThreadPool(std::size_t thread_count, GoOn go_on)
    : thread_count_(std::max<std::size_t>(1, thread_count)), go_on_(std::move(go_on)) {}

ThreadPool::~ThreadPool() {
    Crew* crew = crew_.load();
    // A crew from before a fork has no threads here, and its mutex may be held for ever: it is left alone.
    if (crew != nullptr && crew->is_of_this_process()) delete crew;
}

ThreadPool::Crew& ThreadPool::crew() {
    Crew* seen = crew_.load();
    if (seen != nullptr && seen->is_of_this_process()) return *seen;
    auto fresh = std::make_unique<Crew>(thread_count_ - 1);
    if (crew_.compare_exchange_strong(seen, fresh.get())) return *fresh.release();
    return *seen;  // another caller was first
}

void ThreadPool::start() {
    if (thread_count_ > 1) crew();
}

void ThreadPool::checkpoint() {
    if (Job::of_this_thread != nullptr) Job::of_this_thread->pause();
}

void ThreadPool::run(std::size_t count, double item_ns, const Body& body) {
    if (count == 0) return;
    const std::size_t share = (count + 4 * thread_count_ - 1) / (4 * thread_count_);
    const bool worth_sharing = static_cast<double>(count) * item_ns > 5e4;
    const std::size_t most = thread_count_ > 1 && worth_sharing ? share : count;
    const std::size_t chunk = std::min(chunk_of(count, item_ns), most);
    const auto job = std::make_shared<Job>(body, go_on_, count, chunk);
    if (thread_count_ == 1 || chunk >= count) {
        job->work_on_all();
    } else {
        Crew& workers = crew();
        workers.offer(job);
        job->work_on_all();
        workers.withdraw(job);
        while (!workers.is_quiet(*job)) {
            if (!job->stopped && !go_on_()) job->fail(std::make_exception_ptr(Interrupted()));
        }
    }
    if (job->error) std::rethrow_exception(job->error);
}

void ThreadPool::run_in_order(std::size_t count, double item_ns, const Body& body) {
    Job job(body, go_on_, count, chunk_of(count, item_ns));
    job.work_on_all();
    if (job.error) std::rethrow_exception(job.error);
}

}  // namespace hekat
