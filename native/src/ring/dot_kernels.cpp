// Sums of products of rows in 128 bits, and their residues, in plain C++.
#include <bit>

#include "ring/portable.hpp"
#include "ring/scalar.hpp"

namespace hekat::ring::portable {

void add_terms(Limb* sums, std::size_t count, const Terms& terms) {
    const int shift = std::countr_zero(terms.x_repeat);
    for (std::size_t c = 0; c < terms.columns; ++c, sums += 2 * count) {
        for (std::size_t k = 0; k < terms.count; ++k) {
            const Limb* const x = terms.x + k * terms.x_stride;
            const Limb* const y = terms.y + k * terms.y_stride + c * terms.y_column_stride;
            for (std::size_t i = 0; i < count; ++i) {
                const Wide product = Wide{x[i >> shift]} * y[i];
                const Wide sum = (Wide{sums[count + i]} << 64 | sums[i]) + product;
                sums[i] = low_limb(sum);
                sums[count + i] = high_limb(sum);
            }
        }
    }
}

// Both halves by their factors, each below 2 p.
void reduce_terms(Limb* z, const Limb* sums, std::size_t count, const Prime& prime) {
    const Limb p = prime.value;
    const Factor one = prime.factor(1);
    const Factor carry = prime.factor(static_cast<Limb>((Wide{1} << 64) % p));
    for (std::size_t i = 0; i < count; ++i) {
        const Limb sum = multiply_by(sums[i], one, p) + multiply_by(sums[count + i], carry, p);
        z[i] = reduce_once(reduce_once(sum, 2 * p), p);
    }
}

}  // namespace hekat::ring::portable
