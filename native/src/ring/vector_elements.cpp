// Sums, differences and products of residues, eight slots at a time.
#include "ring/vector_prime.hpp"
#include "ring/vectors.hpp"

namespace hekat::ring::vectors {

HEKAT_IFMA void add(Limb* z, const Limb* a, const Limb* b, std::size_t count, const Prime& prime) {
    const Vector p = spread(prime.value);
    for (std::size_t i = 0; i < count / 8; ++i) store(z, i, reduce_once(load(a, i) + load(b, i), p));
}

HEKAT_IFMA void subtract(Limb* z, const Limb* a, const Limb* b, std::size_t count, const Prime& prime) {
    const Vector p = spread(prime.value);
    for (std::size_t i = 0; i < count / 8; ++i) store(z, i, reduce_once(load(a, i) + p - load(b, i), p));
}

// Barrett, as in elements.cpp: 2 a times b shifted to 52 bits has a b / 2^(bits - 1) as its upper half.
HEKAT_IFMA void multiply(Limb* z, const Limb* a, const Limb* b, std::size_t count, const Prime& tables) {
    const VectorPrime prime(tables);
    const Vector reciprocal = spread(tables.reciprocal);
    const unsigned shift = 52 - tables.bits;
    for (std::size_t i = 0; i < count / 8; ++i) {
        const Vector x = load(a, i);
        const Vector y = load(b, i);
        const Vector upper = add_high(Vector{}, x + x, y << shift);
        const Vector quotient = add_high(Vector{}, upper, reciprocal);
        const Vector rest = add_low(add_low(Vector{}, x, y), quotient, prime.negative) & prime.mask;
        store(z, i, reduce_once(reduce_once(rest, prime.twice), prime.p));
    }
}

HEKAT_IFMA void drop_prime(Limb* z, const Limb* a, const Limb* last, std::size_t count, Limb dropped,
                           const Factor& inverse, const Prime& tables) {
    const Reduction reduction(tables);
    const VectorPrime& prime = reduction.prime;
    const Vector half = spread(dropped / 2);
    const Vector modulus = spread(dropped);
    const Vector above = spread(dropped / 2 % tables.value + 2 * tables.value);
    for (std::size_t i = 0; i < count / 8; ++i) {
        const Vector shifted = reduction(reduce_once(load(last, i) + half, modulus));
        const Vector rest = load(a, i) + above - reduce_once(shifted, prime.twice);
        store(z, i, reduce_once(multiply_by(rest, inverse, prime), prime.p));
    }
}

// With 2^63 added an integer is not negative; its upper half is brought down first.
HEKAT_IFMA void take_residues(Limb* z, const std::int64_t* values, std::size_t count, const Prime& tables) {
    const Reduction reduction(tables);
    const Factor upper = tables.factor((Limb{1} << 32) % tables.value);
    const Vector negative = spread(tables.value - (Limb{1} << 63) % tables.value);
    const Vector sign = spread(Limb{1} << 63);
    for (std::size_t i = 0; i < count / 8; ++i) {
        const Vector shifted = load(reinterpret_cast<const Limb*>(values), i) ^ sign;
        const Vector high = multiply_by(reduction(shifted >> 32), upper, reduction.prime);
        store(z, i, reduction.canonical(high + (shifted & 0xffffffff) + negative));
    }
}

// floor(w 2^52 / p), by an estimate that is at most 2 too small: 2 w shifted is w 2^52 / 2^(bits - 1).
HEKAT_IFMA void find_quotients(Limb* quotients, const Limb* w, std::size_t count, const Prime& tables) {
    const VectorPrime prime(tables);
    const Vector reciprocal = spread(tables.reciprocal);
    const unsigned shift = 53 - tables.bits;
    for (std::size_t i = 0; i < count / 8; ++i) {
        const Vector shifted = load(w, i) << shift;  // below 2^53
        const Vector even = shifted & prime.mask;
        // The product by 2^52 of what the mask takes away.
        const Vector top = (shifted >> 52) * reciprocal;
        Vector quotient = add_high(top, even, reciprocal);
        Vector rest = add_low(Vector{}, quotient, prime.negative) & prime.mask;
#pragma GCC unroll 2
        for (int correction = 0; correction < 2; ++correction) {
            const Vector reduced = rest - prime.p;
            quotient += (reduced >> 63) ^ 1;
            rest = least(rest, reduced);
        }
        store(quotients, i, quotient);
    }
}

}  // namespace hekat::ring::vectors
