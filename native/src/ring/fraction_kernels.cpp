// Fixed-point sums of residues times fractions, in digits of 64 bits, in plain C++.
#include "ring/portable.hpp"

namespace hekat::ring::portable {

// Eight products below 2^114 and what is carried stay below 2^128.
void floor_fractions(Limb* low, Limb* high, const Limb* rows, std::size_t stride, std::size_t count,
                     const FractionDigits& digits) {
    const unsigned bits = digits.bits;
    const Limb low_mask = ~Limb{0} >> (bits < 64 ? 64 - bits : 0);
    const Limb high_mask = bits <= 64 ? 0 : ~Limb{0} >> (128 - bits);
    for (std::size_t n = 0; n < count; ++n) {
        Wide sum = 0;
        Limb whole[2] = {};
        const Limb* factor = digits.factors;
        for (std::size_t d = 0; d < digits.count; ++d) {
            for (std::size_t i = 0; i < digits.prime_count; ++i)
                sum += Wide{rows[i * stride + n]} * *factor++;
            if (d >= digits.behind) whole[d - digits.behind] = low_limb(sum);
            sum >>= 64;
        }
        low[n] = whole[0] & low_mask;
        high[n] = whole[1] & high_mask;
    }
}

}  // namespace hekat::ring::portable
