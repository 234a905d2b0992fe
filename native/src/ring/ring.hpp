// A ring of polynomials for one path of arithmetic, and the operations on batches of its elements.
//
// An element is one row of N residues for each prime. Outputs are apart from inputs; keys are 32 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batch/thread_pool.hpp"
#include "bigint/secret_buffer.hpp"
#include "ring/kernels.hpp"

namespace hekat::ring {

inline constexpr std::size_t kKeyBytes = 32;
inline constexpr std::size_t kNonceBytes = 12;

// A key as words, wiped when it goes; and its streams.
class Key {
  public:
    explicit Key(const std::uint8_t* bytes);
    Stream stream(std::array<std::uint32_t, 3> nonce) const { return {words_.items.data(), nonce}; }
    // Of prime number `number`, or of kCbd or kGaussian, for a chunk.
    Stream stream(std::uint32_t number, Limb chunk) const;

    static constexpr std::uint32_t kCbd = ~std::uint32_t{0};
    static constexpr std::uint32_t kGaussian = kCbd - 1;

  private:
    SecretArray<std::uint32_t, kKeyBytes / 4> words_{};
};

class Ring {
  public:
    // One or two different primes below 2^50 that are 1 mod 2 degree, each with a primitive root of unity of
    // order 2 degree.
    Ring(std::size_t degree, const std::vector<Limb>& primes, const std::vector<Limb>& roots, CpuPath path);
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    std::size_t degree() const { return primes_[0].degree; }
    std::size_t element_words() const { return primes_.size() * degree(); }
    const std::vector<Prime>& primes() const { return primes_; }
    CpuPath path() const { return path_; }
    const Kernels& kernels() const { return kernels_; }
    // About what one coefficient takes in the kernels that take longest, with all primes.
    double coefficient_ns() const { return coefficient_ns_; }
    // About what a product of two residues takes that is added to a sum.
    double product_ns() const { return coefficient_ns_ / static_cast<double>(10 * primes_.size()); }

    // a (chunk_count elements): uniform, of the chunks from first_chunk on.
    void expand_uniform(ThreadPool& pool, Limb* a, const Key& key, Limb first_chunk,
                        std::size_t chunk_count) const;

    // z (count elements) from x, or from x and y; an operand of one element stands for all where `repeats`.
    struct Elements {
        const Limb* data;
        bool repeats;
    };
    void transform(ThreadPool& pool, Limb* z, const Limb* x, std::size_t count) const;
    // z (count elements) from the polynomials of integers (count, value_count), value_count from 1 to N.
    void transform_integers(ThreadPool& pool, Limb* z, const std::int64_t* values, std::size_t value_count,
                            std::size_t count) const;
    void invert_transform(ThreadPool& pool, Limb* z, const Limb* x, std::size_t count) const;
    void add(ThreadPool& pool, Limb* z, Elements x, Elements y, std::size_t count) const;
    void subtract(ThreadPool& pool, Limb* z, Elements x, Elements y, std::size_t count) const;
    void multiply(ThreadPool& pool, Limb* z, Elements x, Elements y, std::size_t count) const;

    // z (count elements) = the nearest integers to the numbers x over an odd prime, of x's residues mod the
    // ring's primes and, in `last` (count rows of N), mod that prime.
    void drop_prime(ThreadPool& pool, Limb* z, const Limb* x, const Limb* last, Limb dropped,
                    std::size_t count) const;

    // Not transformed: second (count elements) = second_sums, which are transformed, + v_i pair[0] + e_i;
    // first (count, components, primes, window) = first_sums, which are not, + the first coefficients of v_i
    // pair[1 + c]. pair: transformed elements; small: v_i and e_i, two rows of N for each i.
    struct Zeros {
        Limb* second;
        Limb* first;
        const Limb* second_sums;
        const Limb* first_sums;
        std::size_t components;
        std::size_t window;
    };
    void add_zeros(ThreadPool& pool, const Zeros& sums, const std::int8_t* small, const Limb* pair,
                   std::size_t count) const;

    // z (count, halves, an element), not transformed = x, which are transformed, + v_i pair[d] + e_(i, d).
    // pair: `halves` transformed elements; small: v_i and the e_i, 1 + halves rows of N for each i.
    void refresh(ThreadPool& pool, Limb* z, const Limb* x, const std::int8_t* small, const Limb* pair,
                 std::size_t halves, std::size_t count) const;

    // z (count, components, primes, window): the first coefficients of x_i y_c, x (count) and y (components)
    // transformed elements.
    void first_products(ThreadPool& pool, Limb* z, std::size_t window, const Limb* x, std::size_t count,
                        const Limb* y, std::size_t components) const;

  private:
    std::vector<Prime> primes_;
    CpuPath path_;
    const Kernels& kernels_;
    double coefficient_ns_;
};

// out (byte_count) = the key stream from block `counter` on, which does not wrap.
void write_key_stream(ThreadPool& pool, CpuPath path, std::uint8_t* out, const Stream& stream,
                      std::uint32_t counter, std::size_t byte_count);

// e (chunk_count rows of `degree`, a multiple of 128) of the chunks from first_chunk on.
void sample_cbd(ThreadPool& pool, CpuPath path, std::int8_t* e, const Key& key, Limb first_chunk,
                std::size_t chunk_count, std::size_t degree);

}  // namespace hekat::ring
