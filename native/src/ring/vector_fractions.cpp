// Fixed-point sums of residues times fractions, in digits of 52 bits, eight numbers at a time.
#include "ring/vector_prime.hpp"
#include "ring/vectors.hpp"

namespace hekat::ring::vectors {
namespace {

constexpr unsigned kDigitBits = 52;

// Sixteen halves of products below 2^52 and what is carried stay below 2^57.
template <std::size_t primes>
HEKAT_IFMA_INLINE void floor_some(Limb* low, Limb* high, const Limb* rows, std::size_t stride,
                                  std::size_t count, const FractionDigits& digits) {
    const unsigned bits = digits.bits;
    const Vector low_mask = spread(~Limb{0} >> (bits < 64 ? 64 - bits : 0));
    const Vector high_mask = spread(bits <= 64 ? 0 : ~Limb{0} >> (128 - bits));
    const Vector mask = spread(kMask52);
    for (std::size_t v = 0; v < count / 8; ++v) {
        Vector residues[primes];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < primes; ++i) residues[i] = load(rows + i * stride, v);
        Vector carry{};
        Vector next{};  // the upper halves of the digit before
        Vector whole[3] = {};
        const Limb* factor = digits.factors;
        for (std::size_t d = 0; d < digits.count; ++d, factor += primes) {
            Vector lower = next;
            next = Vector{};
#pragma GCC unroll 8
            for (std::size_t i = 0; i < primes; ++i) {
                const Vector of_prime = spread(factor[i]);
                lower = add_low(lower, residues[i], of_prime);
                next = add_high(next, residues[i], of_prime);
            }
            const Vector sum = lower + carry;
            carry = sum >> kDigitBits;
            if (d >= digits.behind) whole[d - digits.behind] = sum & mask;
        }
        store(low, v, (whole[0] | whole[1] << kDigitBits) & low_mask);
        store(high, v, (whole[1] >> (64 - kDigitBits) | whole[2] << (2 * kDigitBits - 64)) & high_mask);
    }
}

}  // namespace

HEKAT_IFMA void floor_fractions(Limb* low, Limb* high, const Limb* rows, std::size_t stride,
                                std::size_t count, const FractionDigits& digits) {
    switch (digits.prime_count) {
        case 1:
            return floor_some<1>(low, high, rows, stride, count, digits);
        case 2:
            return floor_some<2>(low, high, rows, stride, count, digits);
        case 3:
            return floor_some<3>(low, high, rows, stride, count, digits);
        case 4:
            return floor_some<4>(low, high, rows, stride, count, digits);
        case 5:
            return floor_some<5>(low, high, rows, stride, count, digits);
        case 6:
            return floor_some<6>(low, high, rows, stride, count, digits);
        case 7:
            return floor_some<7>(low, high, rows, stride, count, digits);
        default:
            return floor_some<8>(low, high, rows, stride, count, digits);
    }
}

}  // namespace hekat::ring::vectors
