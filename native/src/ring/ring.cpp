// Elements shared out over the threads, a row of residues at a time.
#include "ring/ring.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hekat::ring {
namespace {

constexpr std::size_t kStreamPiece = 4096;  // bytes, a multiple of a block's

double kernels_ns(CpuPath path) { return path == CpuPath::kIfma ? 5 : 60; }

}  // namespace

Key::Key(const std::uint8_t* bytes) { std::memcpy(words_.data(), bytes, kKeyBytes); }

Stream Key::stream(std::uint32_t number, Limb chunk) const {
    return stream({number, static_cast<std::uint32_t>(chunk), static_cast<std::uint32_t>(chunk >> 32)});
}

Ring::Ring(std::size_t degree, const std::vector<Limb>& primes, const std::vector<Limb>& roots, CpuPath path)
    : primes_{},
      path_(path),
      kernels_(kernels_of(path)),
      coefficient_ns_(kernels_ns(path) * static_cast<double>(primes.size())) {
    for (std::size_t i = 0; i < primes.size(); ++i) primes_.emplace_back(primes[i], roots[i], degree, path);
}

void Ring::expand_uniform(ThreadPool& pool, Limb* a, const Key& key, Limb first_chunk,
                          std::size_t chunk_count) const {
    const double item_ns = coefficient_ns_ * static_cast<double>(degree());
    pool.run(chunk_count, item_ns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t chunk = begin; chunk < end; ++chunk) {
            for (std::size_t i = 0; i < primes_.size(); ++i) {
                kernels_.sample_uniform(a + chunk * element_words() + i * degree(), primes_[i],
                                        key.stream(static_cast<std::uint32_t>(i), first_chunk + chunk));
            }
        }
    });
}

namespace {

using Combine = void (*)(Limb*, const Limb*, const Limb*, std::size_t, const Prime&);

void combine(ThreadPool& pool, const Ring& ring, Combine operation, Limb* z, Ring::Elements x,
             Ring::Elements y, std::size_t count) {
    const std::size_t degree = ring.degree();
    const std::size_t words = ring.element_words();
    pool.run(count, static_cast<double>(words), [&](std::size_t begin, std::size_t end) {
        for (std::size_t e = begin; e < end; ++e) {
            for (std::size_t i = 0; i < ring.primes().size(); ++i) {
                operation(z + e * words + i * degree, x.data + (x.repeats ? 0 : e * words) + i * degree,
                          y.data + (y.repeats ? 0 : e * words) + i * degree, degree, ring.primes()[i]);
            }
        }
    });
}

void change(ThreadPool& pool, const Ring& ring, void (*operation)(Limb*, const Prime&), Limb* z,
            const Limb* x, std::size_t count) {
    const std::size_t degree = ring.degree();
    const double item_ns = ring.coefficient_ns() * static_cast<double>(degree);
    pool.run(count, item_ns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t e = begin; e < end; ++e) {
            Limb* const element = z + e * ring.element_words();
            std::memcpy(element, x + e * ring.element_words(), ring.element_words() * sizeof(Limb));
            for (std::size_t i = 0; i < ring.primes().size(); ++i) {
                operation(element + i * degree, ring.primes()[i]);
            }
        }
    });
}

}  // namespace

void Ring::transform(ThreadPool& pool, Limb* z, const Limb* x, std::size_t count) const {
    change(pool, *this, kernels_.transform, z, x, count);
}

void Ring::transform_integers(ThreadPool& pool, Limb* z, const std::int64_t* values, std::size_t value_count,
                              std::size_t count) const {
    const std::size_t first = std::max(std::bit_ceil(value_count), kLeastFirst);
    const double item_ns = coefficient_ns_ * static_cast<double>(degree());
    pool.run(count, item_ns, [&](std::size_t begin, std::size_t end) {
        SecretBuffer padded_values(first);
        auto* const held = reinterpret_cast<std::int64_t*>(padded_values.data());
        for (std::size_t e = begin; e < end; ++e) {
            std::copy_n(values + e * value_count, value_count, held);
            for (std::size_t i = 0; i < primes_.size(); ++i) {
                Limb* const row = z + e * element_words() + i * degree();
                kernels_.take_residues(row, held, first, primes_[i]);
                kernels_.transform_first(row, first, primes_[i]);
            }
        }
    });
}

void Ring::invert_transform(ThreadPool& pool, Limb* z, const Limb* x, std::size_t count) const {
    change(pool, *this, kernels_.invert_transform, z, x, count);
}

void Ring::add(ThreadPool& pool, Limb* z, Elements x, Elements y, std::size_t count) const {
    combine(pool, *this, kernels_.add, z, x, y, count);
}

void Ring::subtract(ThreadPool& pool, Limb* z, Elements x, Elements y, std::size_t count) const {
    combine(pool, *this, kernels_.subtract, z, x, y, count);
}

void Ring::multiply(ThreadPool& pool, Limb* z, Elements x, Elements y, std::size_t count) const {
    combine(pool, *this, kernels_.multiply, z, x, y, count);
}

void Ring::drop_prime(ThreadPool& pool, Limb* z, const Limb* x, const Limb* last, Limb dropped,
                      std::size_t count) const {
    std::vector<Factor> inverses;
    for (const Prime& prime : primes_)
        inverses.push_back(prime.factor(inverse_vartime(dropped, prime.value)));
    pool.run(count, static_cast<double>(element_words()), [&](std::size_t begin, std::size_t end) {
        for (std::size_t e = begin; e < end; ++e) {
            for (std::size_t i = 0; i < primes_.size(); ++i) {
                const std::size_t at = e * element_words() + i * degree();
                kernels_.drop_prime(z + at, x + at, last + e * degree(), degree(), dropped, inverses[i],
                                    primes_[i]);
            }
        }
    });
}

namespace {

void take_residues(Limb* z, const std::int8_t* small, std::size_t count, Limb p) {
    for (std::size_t n = 0; n < count; ++n) {
        const auto value = static_cast<std::int64_t>(small[n]);
        z[n] = static_cast<Limb>(value) + (p & static_cast<Limb>(value >> 63));
    }
}

}  // namespace

void Ring::add_zeros(ThreadPool& pool, const Zeros& sums, const std::int8_t* small, const Limb* pair,
                     std::size_t count) const {
    const std::size_t components = sums.components;
    const double item_ns = coefficient_ns_ * static_cast<double>(degree() * (components + 2));
    pool.run(count, item_ns, [&](std::size_t begin, std::size_t end) {
        SecretBuffer v(degree());
        SecretBuffer e(degree());
        SecretBuffer first(sums.window);
        for (std::size_t i = begin; i < end; ++i) {
            ThreadPool::checkpoint();
            for (std::size_t number = 0; number < primes_.size(); ++number) {
                const Prime& prime = primes_[number];
                const Limb* const of_prime = pair + number * degree();
                take_residues(v.data(), small + 2 * i * degree(), degree(), prime.value);
                take_residues(e.data(), small + (2 * i + 1) * degree(), degree(), prime.value);
                kernels_.transform(v.data(), prime);
                Limb* const row = sums.second + i * element_words() + number * degree();
                kernels_.multiply(row, v.data(), of_prime, degree(), prime);
                kernels_.add(row, row, sums.second_sums + i * element_words() + number * degree(), degree(),
                             prime);
                kernels_.invert_transform(row, prime);
                kernels_.add(row, row, e.data(), degree(), prime);
                for (std::size_t c = 0; c < components; ++c) {
                    kernels_.multiply(e.data(), v.data(), of_prime + (1 + c) * element_words(), degree(),
                                      prime);
                    kernels_.invert_first(first.data(), sums.window, e.data(), prime);
                    const std::size_t at = ((i * components + c) * primes_.size() + number) * sums.window;
                    for (std::size_t n = 0; n < sums.window; ++n) {
                        const Limb sum = first.data()[n] + sums.first_sums[at + n];
                        const Limb difference = sum - prime.value;
                        sums.first[at + n] = difference + (prime.value & mask_of_bit(difference >> 63));
                    }
                }
            }
        }
    });
}

void Ring::refresh(ThreadPool& pool, Limb* z, const Limb* x, const std::int8_t* small, const Limb* pair,
                   std::size_t halves, std::size_t count) const {
    const double item_ns = coefficient_ns_ * static_cast<double>(degree() * (halves + 2));
    pool.run(count, item_ns, [&](std::size_t begin, std::size_t end) {
        SecretBuffer v(degree());
        SecretBuffer e(degree());
        for (std::size_t i = begin; i < end; ++i) {
            ThreadPool::checkpoint();
            const std::int8_t* const own = small + i * (1 + halves) * degree();
            for (std::size_t number = 0; number < primes_.size(); ++number) {
                const Prime& prime = primes_[number];
                take_residues(v.data(), own, degree(), prime.value);
                kernels_.transform(v.data(), prime);
                for (std::size_t d = 0; d < halves; ++d) {
                    const std::size_t at = (i * halves + d) * element_words() + number * degree();
                    const Limb* const of_half = pair + d * element_words() + number * degree();
                    kernels_.multiply(z + at, v.data(), of_half, degree(), prime);
                    kernels_.add(z + at, z + at, x + at, degree(), prime);
                    kernels_.invert_transform(z + at, prime);
                    take_residues(e.data(), own + (1 + d) * degree(), degree(), prime.value);
                    kernels_.add(z + at, z + at, e.data(), degree(), prime);
                }
            }
        }
    });
}

void Ring::first_products(ThreadPool& pool, Limb* z, std::size_t window, const Limb* x, std::size_t count,
                          const Limb* y, std::size_t components) const {
    const double item_ns = coefficient_ns_ * static_cast<double>(degree() * components);
    pool.run(count, item_ns, [&](std::size_t begin, std::size_t end) {
        SecretBuffer product(degree());
        for (std::size_t i = begin; i < end; ++i) {
            ThreadPool::checkpoint();
            Limb* to = z + i * components * primes_.size() * window;
            for (std::size_t c = 0; c < components; ++c) {
                for (std::size_t number = 0; number < primes_.size(); ++number, to += window) {
                    const std::size_t at = number * degree();
                    kernels_.multiply(product.data(), x + i * element_words() + at,
                                      y + c * element_words() + at, degree(), primes_[number]);
                    kernels_.invert_first(to, window, product.data(), primes_[number]);
                }
            }
        }
    });
}

void write_key_stream(ThreadPool& pool, CpuPath path, std::uint8_t* out, const Stream& stream,
                      std::uint32_t counter, std::size_t byte_count) {
    const Kernels& kernels = kernels_of(path);
    constexpr std::size_t kPieceBlocks = kStreamPiece / kBlockBytes;
    const std::size_t pieces = (byte_count + kStreamPiece - 1) / kStreamPiece;
    const double piece_ns = kernels_ns(path) / 25 * kStreamPiece;
    pool.run(pieces, piece_ns, [&](std::size_t begin, std::size_t end) {
        SecretBuffer last(kStreamPiece / sizeof(Limb));
        for (std::size_t piece = begin; piece < end; ++piece) {
            const std::size_t bytes = std::min(kStreamPiece, byte_count - piece * kStreamPiece);
            const std::uint32_t first = counter + static_cast<std::uint32_t>(piece * kPieceBlocks);
            std::uint8_t* const to = out + piece * kStreamPiece;
            if (bytes == kStreamPiece) {
                kernels.key_stream(to, stream, first, kPieceBlocks);
            } else {
                auto* const held = reinterpret_cast<std::uint8_t*>(last.data());
                kernels.key_stream(held, stream, first, (bytes + kBlockBytes - 1) / kBlockBytes);
                std::memcpy(to, held, bytes);
            }
        }
    });
}

void sample_cbd(ThreadPool& pool, CpuPath path, std::int8_t* e, const Key& key, Limb first_chunk,
                std::size_t chunk_count, std::size_t degree) {
    const Kernels& kernels = kernels_of(path);
    pool.run(
        chunk_count, kernels_ns(path) * static_cast<double>(degree), [&](std::size_t begin, std::size_t end) {
            for (std::size_t chunk = begin; chunk < end; ++chunk) {
                kernels.sample_cbd(e + chunk * degree, degree, key.stream(Key::kCbd, first_chunk + chunk));
            }
        });
}

}  // namespace hekat::ring
