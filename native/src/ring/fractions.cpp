// Constants by long division, in digits of as many bits as a path's kernel multiplies; pieces over the
// threads.
#include "ring/fractions.hpp"

#include <algorithm>
#include <bit>

#include "bigint/secret_buffer.hpp"

namespace hekat::ring {
namespace {

constexpr std::size_t kPiece = 512;
constexpr double kFactorNs = 1;  // a digit of one factor

// (q / p)^-1 mod p.
Limb find_weight(const std::vector<Limb>& primes, Limb p) {
    Limb others = 1;
    for (const Limb other : primes) {
        if (other != p) others = multiply_vartime(others, other % p, p);
    }
    return inverse_vartime(others, p);
}

}  // namespace

Fractions::Fractions(const std::vector<Limb>& primes, unsigned bits, CpuPath path)
    : kernels_(kernels_of(path)), factors_{}, digits_{primes.size(), 0, 0, bits, nullptr} {
    const unsigned digit_bits = kernels_.fraction_digit_bits;
    unsigned behind_bits = 0;  // of q times the sum of the primes, or more
    Limb sum = 0;
    for (const Limb p : primes) {
        behind_bits += static_cast<unsigned>(std::bit_width(p));
        sum += p;
    }
    behind_bits += static_cast<unsigned>(std::bit_width(sum));
    digits_.behind = (behind_bits + digit_bits - 1) / digit_bits;
    digits_.count = digits_.behind + (bits + digit_bits - 1) / digit_bits;
    factors_.resize(digits_.count * primes.size());
    const unsigned top_bits = (bits - 1) % digit_bits + 1;
    const Limb digit_mask = ~Limb{0} >> (64 - digit_bits);
    for (std::size_t i = 0; i < primes.size(); ++i) {
        const Limb p = primes[i];
        Limb rest = find_weight(primes, p);
        for (std::size_t d = digits_.count; d-- > 0;) {
            const Wide shifted = Wide{rest} << (d + 1 == digits_.count ? top_bits : digit_bits);
            factors_[d * primes.size() + i] = static_cast<Limb>(shifted / p);
            rest = static_cast<Limb>(shifted % p);
        }
        // Up: where all digits are at their end, to the next power, which counts nowhere.
        Limb carry = rest == 0 ? 0 : 1;
        for (std::size_t d = 0; d < digits_.count; ++d) {
            Limb& digit = factors_[d * primes.size() + i];
            digit = (digit + carry) & digit_mask;
            carry = carry != 0 && digit == 0 ? 1 : 0;
        }
    }
    digits_.factors = factors_.data();
}

void Fractions::floor(ThreadPool& pool, Limb* z, const Limb* residues, std::size_t count) const {
    const std::size_t primes = prime_count();
    const std::size_t pieces = (count + kPiece - 1) / kPiece;
    const double piece_ns = kFactorNs * static_cast<double>(kPiece * factors_.size());
    pool.run(pieces, piece_ns, [&](std::size_t begin, std::size_t end) {
        SecretBuffer rows(kPiece * primes);
        SecretBuffer limbs(kPiece * 2);
        for (std::size_t piece = begin; piece < end; ++piece) {
            const std::size_t first = piece * kPiece;
            const std::size_t here = std::min(kPiece, count - first);
            for (std::size_t n = 0; n < here; ++n) {
                for (std::size_t i = 0; i < primes; ++i) {
                    rows.data()[i * kPiece + n] = residues[(first + n) * primes + i];
                }
            }
            kernels_.floor_fractions(limbs.data(), limbs.data() + kPiece, rows.data(), kPiece, padded(here),
                                     digits_);
            for (std::size_t n = 0; n < here; ++n) {
                z[2 * (first + n)] = limbs.data()[n];
                z[2 * (first + n) + 1] = limbs.data()[kPiece + n];
            }
        }
    });
}

}  // namespace hekat::ring
