// Sums, differences and products of residues, slot by slot.
#include "ring/portable.hpp"
#include "ring/scalar.hpp"

namespace hekat::ring::portable {

void add(Limb* z, const Limb* a, const Limb* b, std::size_t count, const Prime& prime) {
    for (std::size_t i = 0; i < count; ++i) z[i] = reduce_once(a[i] + b[i], prime.value);
}

void subtract(Limb* z, const Limb* a, const Limb* b, std::size_t count, const Prime& prime) {
    for (std::size_t i = 0; i < count; ++i) z[i] = reduce_once(a[i] + prime.value - b[i], prime.value);
}

// Barrett: with a b / 2^(bits - 1) and the reciprocal both rounded down, the quotient is at most 3 too small.
void multiply(Limb* z, const Limb* a, const Limb* b, std::size_t count, const Prime& prime) {
    const Limb p = prime.value;
    for (std::size_t i = 0; i < count; ++i) {
        const Wide product = Wide{a[i]} * b[i];
        const Limb upper = low_limb(product >> (prime.bits - 1));
        const Limb quotient = low_limb(Wide{upper} * prime.reciprocal >> 52);
        z[i] = reduce_once(reduce_once(low_limb(product) - quotient * p, 2 * p), p);
    }
}

void drop_prime(Limb* z, const Limb* a, const Limb* last, std::size_t count, Limb dropped,
                const Factor& inverse, const Prime& prime) {
    const Limb p = prime.value;
    const Limb half = dropped / 2;
    const Factor one = prime.factor(1);
    const Limb above = half % p + 2 * p;
    for (std::size_t i = 0; i < count; ++i) {
        const Limb shifted = multiply_by(reduce_once(last[i] + half, dropped), one, p);
        z[i] = reduce_once(multiply_by(a[i] + above - shifted, inverse, p), p);
    }
}

// With 2^63 added an integer is not negative.
void take_residues(Limb* z, const std::int64_t* values, std::size_t count, const Prime& prime) {
    const Limb p = prime.value;
    const Factor one = prime.factor(1);
    const Limb negative = p - (Limb{1} << 63) % p;
    for (std::size_t i = 0; i < count; ++i) {
        const Limb shifted = static_cast<Limb>(values[i]) ^ Limb { 1 } << 63;
        z[i] = reduce_once(reduce_once(multiply_by(shifted, one, p) + negative, 2 * p), p);
    }
}

// floor(w 2^64 / p) in two digits of 32 bits, each estimated as in `multiply` and so at most 2 too small.
void find_quotients(Limb* quotients, const Limb* w, std::size_t count, const Prime& prime) {
    const Limb p = prime.value;
    for (std::size_t i = 0; i < count; ++i) {
        Limb rest = w[i];
        Limb quotient = 0;
        for (int step = 0; step < 2; ++step) {
            const Wide shifted = Wide{rest} << 32;
            const Limb upper = low_limb(shifted >> (prime.bits - 1));
            Limb digit = low_limb(Wide{upper} * prime.reciprocal >> 52);
            rest = low_limb(shifted) - digit * p;
            for (int correction = 0; correction < 2; ++correction) {
                const Limb reduced = rest - p;
                const Limb below = mask_of_bit(reduced >> 63);
                rest = reduced + (p & below);
                digit += 1 + below;
            }
            quotient = (quotient << 32) + digit;
        }
        quotients[i] = quotient;
    }
}

}  // namespace hekat::ring::portable
