// Each chunk is worked on from its key streams to its bytes in one thread's scratch, which the caches hold.
#include "ring/masked_blocks.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "bigint/reveal.hpp"

namespace hekat::ring {
namespace {

std::vector<const Prime*> pointers_to(const std::vector<Prime>& primes) {
    std::vector<const Prime*> pointers;
    for (const Prime& prime : primes) pointers.push_back(&prime);
    return pointers;
}

using Rows = std::array<Limb*, kMaxPrimes>;

// One row for each prime.
Rows rows_of(Limb* words, const Ring& ring) {
    Rows rows{};
    for (std::size_t i = 0; i < ring.primes().size(); ++i) rows[i] = words + i * ring.degree();
    return rows;
}

// Words that hold `count` items of a type.
template <typename Item>
constexpr std::size_t words_for(std::size_t count) {
    return (count * sizeof(Item) + sizeof(Limb) - 1) / sizeof(Limb);
}

}  // namespace

// What hides a chunk: a times one secret, the factors of which are made once.
class MaskedBlocks::Masks {
  public:
    Masks(const Ring& ring, const Key& public_key, const Limb* secret, Limb first_chunk)
        : ring_(ring),
          public_key_(public_key),
          secret_(secret),
          first_chunk_(first_chunk),
          quotients_(ring.element_words()) {
        for (std::size_t i = 0; i < ring.primes().size(); ++i) {
            const std::size_t row = i * ring.degree();
            ring.kernels().find_quotients(quotients_.data() + row, secret + row, ring.degree(),
                                          ring.primes()[i]);
        }
    }

    // rows = the coefficients of a s.
    void write(const Rows& rows, std::size_t chunk) const {
        const Kernels& kernels = ring_.kernels();
        for (std::size_t i = 0; i < ring_.primes().size(); ++i) {
            const Prime& prime = ring_.primes()[i];
            const std::size_t row = i * ring_.degree();
            kernels.sample_uniform(rows[i], prime,
                                   public_key_.stream(static_cast<std::uint32_t>(i), first_chunk_ + chunk));
            kernels.invert_product(rows[i], secret_ + row, quotients_.data() + row, prime);
        }
    }

  private:
    const Ring& ring_;
    const Key& public_key_;
    const Limb* secret_;
    Limb first_chunk_;
    SecretBuffer quotients_;
};

MaskedBlocks::MaskedBlocks(const Ring& ring, unsigned lanes, unsigned lane_bits, unsigned dropped_bits,
                           unsigned sum_dropped_bits)
    : ring_(ring), form_(pointers_to(ring.primes()), lanes, lane_bits, dropped_bits, sum_dropped_bits) {}

bool MaskedBlocks::mask_values(ThreadPool& pool, std::uint8_t* out, const Key& public_key, const Limb* secret,
                               const Key& error_key, Limb first_chunk, const std::int32_t* values,
                               std::size_t value_count) const {
    const Kernels& kernels = ring_.kernels();
    const std::size_t degree = ring_.degree();
    const std::size_t chunk_bytes = form_.one.bytes(degree);
    const Masks masks(ring_, public_key, secret, first_chunk);
    std::atomic<bool> fits{true};
    const auto mask_chunks = [&](std::size_t begin, std::size_t end) {
        SecretBuffer residues(ring_.element_words());
        SecretBuffer errors(words_for<std::int8_t>(degree));
        SecretBuffer lanes(words_for<std::int32_t>(form_.lanes * degree));
        const Rows rows = rows_of(residues.data(), ring_);
        auto* const error = reinterpret_cast<std::int8_t*>(errors.data());
        auto* const lane = reinterpret_cast<std::int32_t*>(lanes.data());
        for (std::size_t chunk = begin; chunk < end; ++chunk) {
            const std::size_t used = form_.used_in(chunk, value_count);
            const std::size_t filled = form_.values_in(chunk, value_count) + 1;
            const std::int32_t* const from = values + chunk * form_.values_per_chunk();
            masks.write(rows, chunk);
            kernels.sample_cbd(error, used, error_key.stream(Key::kCbd, first_chunk + chunk));
            for (unsigned j = 0; j < form_.lanes; ++j) {
                std::int32_t* const row = lane + j * padded(used);
                // Lane 0 is the count; what is behind the last value is zero.
                const std::size_t first = j * used;
                const std::size_t taken = std::min(used, filled - std::min(first, filled));
                const std::size_t skipped = j == 0 ? 1 : 0;
                if (taken > skipped) {
                    std::memcpy(row + skipped, from + (first + skipped - 1),
                                (taken - skipped) * sizeof(*row));
                }
                std::fill(row + taken, row + padded(used), 0);
            }
            lane[0] = 1;
            if (!kernels.mask(rows.data(), error, lane, used, form_)) {
                fits = false;
                continue;  // without errors nothing may leave
            }
            std::uint8_t* to = out + chunk * chunk_bytes;
            for (std::size_t i = 0; i < form_.one.fields.size(); ++i) {
                kernels.pack(to, rows[i], used, form_.one.fields[i]);
                to += form_.one.fields[i].bytes(used);
            }
        }
    };
    pool.run(form_.chunk_count(value_count), ring_.coefficient_ns() * static_cast<double>(degree),
             mask_chunks);
    return fits;
}

void MaskedBlocks::add_masked(ThreadPool& pool, Limb* sums, const std::uint8_t* written,
                              std::size_t value_count) const {
    const std::size_t degree = ring_.degree();
    const std::size_t chunk_bytes = form_.one.bytes(degree);
    const auto add_chunks = [&](std::size_t begin, std::size_t end) {
        for (std::size_t chunk = begin; chunk < end; ++chunk) {
            const std::size_t used = form_.used_in(chunk, value_count);
            const std::uint8_t* from = written + chunk * chunk_bytes;
            Limb* to = sums + chunk * ring_.element_words();
            for (const FieldLayout& layout : form_.one.fields) {
                ring_.kernels().unpack_onto(to, from, used, layout);
                from += layout.bytes(used);
                to += used;
            }
        }
    };
    pool.run(form_.chunk_count(value_count), static_cast<double>(ring_.element_words()), add_chunks);
}

void MaskedBlocks::write_sum(ThreadPool& pool, std::uint8_t* out, const Limb* sums,
                             std::size_t value_count) const {
    const std::size_t degree = ring_.degree();
    const std::size_t chunk_bytes = form_.sum.bytes(degree);
    const auto write_chunks = [&](std::size_t begin, std::size_t end) {
        SecretBuffer words(ring_.element_words());
        const Rows rows = rows_of(words.data(), ring_);
        for (std::size_t chunk = begin; chunk < end; ++chunk) {
            const std::size_t used = form_.used_in(chunk, value_count);
            const Limb* const from = sums + chunk * ring_.element_words();
            for (std::size_t i = 0; i < form_.sum.fields.size(); ++i) {
                std::copy_n(from + i * used, used, rows[i]);
                std::fill(rows[i] + used, rows[i] + padded(used), 0);
            }
            ring_.kernels().round_sums(rows.data(), used, form_);
            std::uint8_t* to = out + chunk * chunk_bytes;
            for (std::size_t i = 0; i < form_.sum.fields.size(); ++i) {
                ring_.kernels().pack(to, rows[i], used, form_.sum.fields[i]);
                to += form_.sum.fields[i].bytes(used);
            }
        }
    };
    pool.run(form_.chunk_count(value_count), ring_.coefficient_ns() * static_cast<double>(degree),
             write_chunks);
}

bool MaskedBlocks::unmask_sum(ThreadPool& pool, std::int64_t* values, std::int64_t* counts,
                              const Key& public_key, const Limb* secret, Limb first_chunk,
                              const std::uint8_t* written, std::size_t value_count) const {
    const Kernels& kernels = ring_.kernels();
    const std::size_t degree = ring_.degree();
    const std::size_t chunk_bytes = form_.sum.bytes(degree);
    const Masks masks(ring_, public_key, secret, first_chunk);
    std::atomic<bool> is_whole{true};
    const auto unmask_chunks = [&](std::size_t begin, std::size_t end) {
        SecretBuffer residues(ring_.element_words());
        SecretBuffer words(ring_.element_words());
        SecretBuffer lanes(form_.lanes * degree);
        const Rows rows = rows_of(residues.data(), ring_);
        const Rows fields = rows_of(words.data(), ring_);
        auto* const lane = reinterpret_cast<std::int64_t*>(lanes.data());
        for (std::size_t chunk = begin; chunk < end; ++chunk) {
            const std::size_t used = form_.used_in(chunk, value_count);
            const std::size_t filled = form_.values_in(chunk, value_count) + 1;
            std::int64_t* const to = values + chunk * form_.values_per_chunk();
            masks.write(rows, chunk);
            const std::uint8_t* from = written + chunk * chunk_bytes;
            for (std::size_t i = 0; i < form_.sum.fields.size(); ++i) {
                kernels.unpack(fields[i], from, used, form_.sum.fields[i]);
                from += form_.sum.fields[i].bytes(used);
            }
            if (!kernels.unmask(lane, fields.data(), rows.data(), used, form_)) is_whole = false;
            counts[chunk] = lane[0];
            std::int64_t behind = 0;
            for (unsigned j = 0; j < form_.lanes; ++j) {
                const std::int64_t* const row = lane + j * padded(used);
                const std::size_t first = j * used;
                const std::size_t taken = std::min(used, filled - std::min(first, filled));
                const std::size_t skipped = j == 0 ? 1 : 0;
                if (taken > skipped) {
                    std::memcpy(to + (first + skipped - 1), row + skipped, (taken - skipped) * sizeof(*row));
                }
                for (std::size_t n = taken; n < used; ++n) behind |= row[n];
            }
            if (reveal(behind) != 0) is_whole = false;
        }
    };
    pool.run(form_.chunk_count(value_count), ring_.coefficient_ns() * static_cast<double>(degree),
             unmask_chunks);
    return is_whole;
}

}  // namespace hekat::ring
