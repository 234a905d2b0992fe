// Chinese remainders.
#include "ring/vector_double.hpp"

namespace hekat::ring::vectors {

HEKAT_IFMA void compose(Limb* const* rows, std::size_t stride, const MaskFormat& form) {
    const Vector lift = spread(form.lift);
    const Vector inverse = spread(form.inverse.value);
    const Vector quotient = spread(form.inverse.quotient);
    const Vector first = spread(form.primes[0]->value);
    const VectorPrime second(*form.primes[1]);
    for (std::size_t i = 0; i < stride / 8; ++i) {
        const Vector r0 = load(rows[0], i);
        const Vector product = multiply_by(load(rows[1], i) + lift - r0, inverse, quotient, second);
        const Vector h = reduce_once(product, second.p);
        store_double(rows, i, carry({add_low(r0, first, h), add_high(Vector{}, first, h)}));
    }
}

}  // namespace hekat::ring::vectors
