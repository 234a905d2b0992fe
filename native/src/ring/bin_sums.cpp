// Tasks, each one slice of the sums of one segment and some windows mod one prime.
#include "ring/bin_sums.hpp"

#include <algorithm>
#include <array>

namespace hekat::ring {
namespace {

// Words of a slice of elements that stay in the second cache, beside what is made of plaintexts.
constexpr std::size_t kTileWords = std::size_t{1} << 16;
constexpr std::size_t kLeastTile = 8;
static_assert(kTileWords / (kMinDegree / kBinSlices) <= kMostProducts,
              "sums of a tile's products are reduced in time");
// Plaintexts that are made before they are multiplied.
constexpr std::size_t kBatch = 8;
constexpr std::size_t kTasksPerThread = 8;

// Words without a value, from the start of a cache line.
class Scratch {
  public:
    explicit Scratch(std::size_t words) : words_(new (kLine) Limb[words]) {}
    Limb* data() { return words_.get(); }

  private:
    static constexpr std::align_val_t kLine{64};
    struct Free {
        void operator()(Limb* words) const { ::operator delete[](words, kLine); }
    };
    std::unique_ptr<Limb[], Free> words_;
};

}  // namespace

struct BinSums::Work {
    Limb* out;
    const Limb* elements;
    std::size_t components;
    const BinPlaces& places;
    std::size_t window_count;
    std::size_t bundles;  // of windows, for each slice
};

BinSums::BinSums(const Ring& ring) : ring_(ring), factors_{} {
    for (const Prime& prime : ring.primes()) factors_.emplace_back(prime, ring.path());
}

void BinSums::sum(ThreadPool& pool, Limb* out, const Limb* elements, std::size_t components,
                  const Digits& digits, const Segments& segments) const {
    const BinPlaces places(pool, digits, segments);
    const std::size_t slices = segments.count * ring_.primes().size() * ring_.kernels().bin_slices;
    const std::size_t wanted = (kTasksPerThread * pool.thread_count() + slices - 1) / slices;
    const std::size_t bundles = std::min(wanted, digits.window_count);
    const Work work{out, elements, components, places, digits.window_count, bundles};
    const double products = static_cast<double>(places.run_count() * digits.window_count) *
                            static_cast<double>(ring_.degree()) * ring_.coefficient_ns();
    const std::size_t tasks = slices * bundles;
    pool.run(tasks, products / static_cast<double>(tasks), [&](std::size_t begin, std::size_t end) {
        for (std::size_t task = begin; task < end; ++task) sum_task(work, task);
    });
}

void BinSums::sum_task(const Work& work, std::size_t task) const {
    const Kernels& kernels = ring_.kernels();
    const std::size_t bundle = task % work.bundles;
    task /= work.bundles;
    const std::size_t slice = task % kernels.bin_slices;
    task /= kernels.bin_slices;
    const std::size_t number = task % ring_.primes().size();
    const std::size_t segment = task / ring_.primes().size();
    const Prime& prime = ring_.primes()[number];

    const std::size_t components = work.components;
    const std::size_t degree = ring_.degree();
    const std::size_t words = degree / kernels.bin_slices;
    const std::size_t first_window = bundle * work.window_count / work.bundles;
    const std::size_t end_window = (bundle + 1) * work.window_count / work.bundles;
    const std::size_t first_run = work.places.first_run(segment);
    const std::size_t end_run = work.places.first_run(segment + 1);
    const std::size_t tile = std::max(kTileWords / (components * words), kLeastTile);
    const std::size_t tile_runs = std::min(tile, end_run - first_run);
    const std::size_t stride = 8 * components * tile_runs;
    const std::size_t sums_stride = 16 * components;
    const std::size_t x_stride = words + 8;  // rows that begin in different sets of the cache
    Scratch elements(words / 8 * stride);
    Scratch plaintexts(kBatch * x_stride);
    Scratch sums(words / 8 * sums_stride);

    std::size_t run = first_run;
    do {
        const std::size_t tile_end = std::min(run + tile, end_run);
        for (std::size_t r = run; r < tile_end; ++r) {
            const Limb* const from =
                work.elements + work.places.group(r) * components * ring_.element_words();
            for (std::size_t c = 0; c < components; ++c) {
                kernels.take_slice(elements.data() + 8 * ((r - run) * components + c), stride,
                                   from + c * ring_.element_words() + number * degree, slice, prime);
            }
        }
        for (std::size_t window = first_window; window < end_window; ++window) {
            ThreadPool::checkpoint();
            std::fill(sums.data(), sums.data() + words / 8 * sums_stride, Limb{0});
            std::array<std::size_t, kBatch> offsets{};
            BinProducts products{0, components, words, x_stride, stride, sums_stride, offsets.data()};
            const auto multiply = [&] {
                kernels.add_products(sums.data(), plaintexts.data(), elements.data(), products);
                products.count = 0;
            };
            for (std::size_t r = run; r < tile_end; ++r) {
                const SparsePlaintext plaintext = work.places.plaintext(r, window);
                if (plaintext.is_zero) continue;
                kernels.transform_plaintext(plaintexts.data() + products.count * x_stride, plaintext, slice,
                                            factors_[number], prime);
                offsets[products.count] = 8 * (r - run) * components;
                if (++products.count == kBatch) multiply();
            }
            if (products.count != 0) multiply();
            Limb* const to =
                work.out + (segment * work.window_count + window) * components * ring_.element_words();
            for (std::size_t c = 0; c < components; ++c) {
                kernels.put_slice(to + c * ring_.element_words() + number * degree, sums.data() + 16 * c,
                                  sums_stride, slice, run != first_run, prime);
            }
        }
        run = tile_end;
    } while (run < end_run);
}

}  // namespace hekat::ring
