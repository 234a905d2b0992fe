// Negacyclic transforms with values below 4 p in between (D. Harvey, Faster arithmetic for number-theoretic
// transforms, 2014, algorithms 3 and 4), twisted by the root's powers as it goes (Longa and Naehrig 2016).
#include <algorithm>

#include "ring/portable.hpp"
#include "ring/scalar.hpp"

namespace hekat::ring::portable {

void transform(Limb* a, const Prime& prime) { transform_first(a, prime.degree, prime); }

// Levels that join what stands with zeros copy it.
void transform_first(Limb* a, std::size_t first, const Prime& prime) {
    for (std::size_t i = first; i < prime.degree; i += first) std::copy_n(a, first, a + i);
    const Limb p = prime.value;
    const Limb* const factors = prime.forward.values.data();
    const Limb* const quotients = prime.forward.quotients.data();
    for (std::size_t blocks = prime.degree / first, half = first / 2; half > 0; blocks *= 2, half /= 2) {
        for (std::size_t i = 0; i < blocks; ++i) {
            Limb* const x = a + 2 * half * i;
            Limb* const y = x + half;
            const Limb w = factors[blocks + i];
            const Limb quotient = quotients[blocks + i];
            for (std::size_t j = 0; j < half; ++j) {
                const Limb reduced = reduce_once(x[j], 2 * p);
                const Limb product = multiply_by(y[j], w, quotient, p);
                x[j] = reduced + product;
                y[j] = reduced + 2 * p - product;
            }
        }
    }
    for (std::size_t j = 0; j < prime.degree; ++j) a[j] = reduce_once(reduce_once(a[j], 2 * p), p);
}

namespace {

// The levels of an inverse transform below blocks of `size`, to values below 2 p.
void invert_blocks(Limb* a, std::size_t size, const Prime& prime) {
    const Limb p = prime.value;
    const Limb* const factors = prime.inverse.values.data();
    const Limb* const quotients = prime.inverse.quotients.data();
    for (std::size_t blocks = prime.degree / 2, half = 1; half < size; blocks /= 2, half *= 2) {
        for (std::size_t i = 0; i < blocks; ++i) {
            Limb* const x = a + 2 * half * i;
            Limb* const y = x + half;
            const Limb w = factors[blocks + i];
            const Limb quotient = quotients[blocks + i];
            for (std::size_t j = 0; j < half; ++j) {
                const Limb difference = x[j] + 2 * p - y[j];
                x[j] = reduce_once(x[j] + y[j], 2 * p);
                y[j] = multiply_by(difference, w, quotient, p);
            }
        }
    }
}

}  // namespace

void invert_transform(Limb* a, const Prime& prime) {
    const Limb p = prime.value;
    const Limb* const factors = prime.inverse.values.data();
    const Limb* const quotients = prime.inverse.quotients.data();
    invert_blocks(a, prime.degree / 2, prime);
    // The last level, with 1 / N.
    const std::size_t half = prime.degree / 2;
    for (std::size_t j = 0; j < half; ++j) {
        const Limb sum = a[j] + a[j + half];
        const Limb difference = a[j] + 2 * p - a[j + half];
        a[j] = reduce_once(multiply_by(sum, factors[0], quotients[0], p), p);
        a[j + half] = reduce_once(multiply_by(difference, factors[1], quotients[1], p), p);
    }
}

// From blocks of the window's size on, each level adds the halves of a block onto its first coefficients.
void invert_first(Limb* z, std::size_t window, Limb* a, const Prime& prime) {
    if (window == prime.degree) {
        invert_transform(a, prime);
        std::copy_n(a, window, z);
        return;
    }
    const Limb p = prime.value;
    invert_blocks(a, window, prime);
    std::copy_n(a, window, z);
    for (std::size_t j = window; j < prime.degree; ++j) {
        Limb& sum = z[j % window];
        sum = reduce_once(sum + a[j], 2 * p);
    }
    const Limb w = prime.inverse.values.data()[0];
    const Limb quotient = prime.inverse.quotients.data()[0];
    for (std::size_t i = 0; i < window; ++i) z[i] = reduce_once(multiply_by(z[i], w, quotient, p), p);
}

void invert_product(Limb* a, const Limb* w, const Limb* quotients, const Prime& prime) {
    for (std::size_t i = 0; i < prime.degree; ++i) a[i] = multiply_by(a[i], w[i], quotients[i], prime.value);
    invert_transform(a, prime);
}

}  // namespace hekat::ring::portable
