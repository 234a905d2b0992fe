// Each chunk is worked on from its key streams to its bytes in one thread's scratch, which the caches hold.
#include "ring/masked_blocks.hpp"

#include <algorithm>
#include <atomic>

#include "bigint/reveal.hpp"
#include "ring/chunk_pieces.hpp"

namespace hekat::ring {
namespace {

constexpr std::size_t kPieceLanes = kPiece * kMaxLanes;

std::vector<const Prime*> pointers_to(const std::vector<Prime>& primes) {
    std::vector<const Prime*> pointers;
    for (const Prime& prime : primes) pointers.push_back(&prime);
    return pointers;
}

}  // namespace

// What hides a chunk: a times one secret, whose factors are made once.
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

    // element = the coefficients of a s.
    void write(Limb* element, std::size_t chunk) const {
        const Kernels& kernels = ring_.kernels();
        for (std::size_t i = 0; i < ring_.primes().size(); ++i) {
            const Prime& prime = ring_.primes()[i];
            const std::size_t row = i * ring_.degree();
            kernels.sample_uniform(element + row, prime,
                                   public_key_.stream(static_cast<std::uint32_t>(i), first_chunk_ + chunk));
            kernels.invert_product(element + row, secret_ + row, quotients_.data() + row, prime);
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
    const std::size_t prime_count = ring_.primes().size();
    const std::size_t chunk_bytes = form_.one.bytes(degree);
    const Masks masks(ring_, public_key, secret, first_chunk);
    std::atomic<bool> fits{true};
    const auto mask_chunks = [&](std::size_t begin, std::size_t end) {
        SecretBuffer element(ring_.element_words());
        SecretBuffer error_words(degree / sizeof(Limb));
        SecretArray<std::int32_t, kPieceLanes> lanes;
        auto* const errors = reinterpret_cast<std::int8_t*>(error_words.data());
        for (std::size_t chunk = begin; chunk < end; ++chunk) {
            const std::size_t used = form_.used_in(chunk, value_count);
            const std::size_t chunk_values = form_.values_in(chunk, value_count);
            const std::int32_t* const from = values + chunk * form_.values_per_chunk();
            std::uint8_t* const to = out + chunk * chunk_bytes;
            masks.write(element.data(), chunk);
            kernels.sample_cbd(errors, used, error_key.stream(Key::kCbd, first_chunk + chunk));
            for_pieces(used, [&](const Piece& piece) {
                const std::size_t stride = padded(piece.count);
                for (unsigned j = 0; j < form_.lanes; ++j) {
                    const LaneValues held(piece, j, used, chunk_values);
                    std::int32_t* const row = lanes.data() + j * stride;
                    if (held.begin == 1) row[0] = 1;
                    if (held.begin < held.end) {
                        std::copy_n(from + held.value, held.end - held.begin, row + held.begin);
                    }
                    std::fill(row + held.end, row + stride, 0);
                }
                const Rows<Limb> rows = rows_of(element.data() + piece.first, degree, prime_count);
                if (!kernels.mask(rows.data(), errors + piece.first, lanes.data(), piece.count, form_)) {
                    fits = false;
                    return;  // without errors nothing may leave
                }
                const Rows<std::uint8_t> places = fields_of(to, form_.one, used, piece);
                for (std::size_t i = 0; i < prime_count; ++i) {
                    kernels.pack(places[i], rows[i], piece.count, form_.one.fields[i]);
                }
            });
        }
    };
    const double chunk_ns = ring_.coefficient_ns() * static_cast<double>(degree);
    pool.run(form_.chunk_count(value_count), chunk_ns, mask_chunks);
    return fits;
}

void MaskedBlocks::add_masked(ThreadPool& pool, Limb* sums, const std::uint8_t* written,
                              std::size_t value_count) const {
    const std::size_t chunk_bytes = form_.one.bytes(ring_.degree());
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
    pool.run(form_.chunk_count(value_count), static_cast<double>(ring_.element_words()) / 2, add_chunks);
}

void MaskedBlocks::write_sum(ThreadPool& pool, std::uint8_t* out, const Limb* sums,
                             std::size_t value_count) const {
    const std::size_t prime_count = ring_.primes().size();
    const std::size_t chunk_bytes = form_.sum.bytes(ring_.degree());
    const auto write_chunks = [&](std::size_t begin, std::size_t end) {
        std::array<Limb, kPiece * kMaxPrimes> words;
        const Rows<Limb> rows = rows_of(words.data(), kPiece, prime_count);
        for (std::size_t chunk = begin; chunk < end; ++chunk) {
            const std::size_t used = form_.used_in(chunk, value_count);
            const Limb* const from = sums + chunk * ring_.element_words();
            std::uint8_t* const to = out + chunk * chunk_bytes;
            for_pieces(used, [&](const Piece& piece) {
                for (std::size_t i = 0; i < prime_count; ++i) {
                    std::copy_n(from + i * used + piece.first, piece.count, rows[i]);
                    std::fill(rows[i] + piece.count, rows[i] + padded(piece.count), 0);
                }
                ring_.kernels().round_sums(rows.data(), piece.count, form_);
                const Rows<std::uint8_t> places = fields_of(to, form_.sum, used, piece);
                for (std::size_t i = 0; i < prime_count; ++i) {
                    ring_.kernels().pack(places[i], rows[i], piece.count, form_.sum.fields[i]);
                }
            });
        }
    };
    pool.run(form_.chunk_count(value_count), static_cast<double>(ring_.element_words()), write_chunks);
}

bool MaskedBlocks::unmask_sum(ThreadPool& pool, std::int64_t* values, std::int64_t* counts,
                              const Key& public_key, const Limb* secret, Limb first_chunk,
                              const std::uint8_t* written, std::size_t value_count) const {
    const Kernels& kernels = ring_.kernels();
    const std::size_t degree = ring_.degree();
    const std::size_t prime_count = ring_.primes().size();
    const std::size_t chunk_bytes = form_.sum.bytes(degree);
    const Masks masks(ring_, public_key, secret, first_chunk);
    std::atomic<bool> is_whole{true};
    const auto unmask_chunks = [&](std::size_t begin, std::size_t end) {
        SecretBuffer element(ring_.element_words());
        SecretArray<std::int64_t, kPieceLanes> lanes;
        std::array<Limb, kPiece * kMaxPrimes> words;
        const Rows<Limb> fields = rows_of(words.data(), kPiece, prime_count);
        for (std::size_t chunk = begin; chunk < end; ++chunk) {
            const std::size_t used = form_.used_in(chunk, value_count);
            const std::size_t chunk_values = form_.values_in(chunk, value_count);
            const std::uint8_t* const from = written + chunk * chunk_bytes;
            std::int64_t* const to = values + chunk * form_.values_per_chunk();
            std::int64_t behind = 0;
            masks.write(element.data(), chunk);
            for_pieces(used, [&](const Piece& piece) {
                const std::size_t stride = padded(piece.count);
                const Rows<const std::uint8_t> places = fields_of(from, form_.sum, used, piece);
                for (std::size_t i = 0; i < prime_count; ++i) {
                    kernels.unpack(fields[i], places[i], piece.count, form_.sum.fields[i]);
                }
                const Rows<Limb> rows = rows_of(element.data() + piece.first, degree, prime_count);
                if (!kernels.unmask(lanes.data(), fields.data(), rows.data(), piece.count, form_)) {
                    is_whole = false;
                }
                for (unsigned j = 0; j < form_.lanes; ++j) {
                    const LaneValues held(piece, j, used, chunk_values);
                    const std::int64_t* const row = lanes.data() + j * stride;
                    if (held.begin == 1) counts[chunk] = row[0];
                    if (held.begin < held.end) {
                        std::copy_n(row + held.begin, held.end - held.begin, to + held.value);
                    }
                    for (std::size_t n = held.end; n < piece.count; ++n) behind |= row[n];
                }
            });
            if (reveal(behind) != 0) is_whole = false;
        }
    };
    const double chunk_ns = ring_.coefficient_ns() * static_cast<double>(degree);
    pool.run(form_.chunk_count(value_count), chunk_ns, unmask_chunks);
    return is_whole;
}

}  // namespace hekat::ring
