// The parts of sums by bin, eight slots at a time: of each plaintext the blocks of one slice, in one vector
// for all eight lanes, so that no level of the transform turns vectors. The first six levels are a sum over
// the few places; the others run within registers, three at a time.
//
// Where a prime has 48 bits or fewer, residues below 16 p fit 52 bits and nothing is reduced on the way: what
// stands above those 52 bits is without meaning, and a product does not look at it.
#include "bigint/vector_transpose.hpp"
#include "ring/vector_prime.hpp"
#include "ring/vectors.hpp"

namespace hekat::ring::vectors {
namespace {

using vector::transpose;

constexpr unsigned kRoomyBits = 48;
// Sums of so many residues below 2^50, and a reduced one, are below 2^63.
constexpr std::size_t kMostPlaces = 1 << 12;

// Any x below 2^63 to below 3 p, in its low 52 bits; p takes part in it at most 2^13 times.
struct Reduction {
    HEKAT_IFMA_INLINE explicit Reduction(const Prime& tables)
        : prime(tables), reciprocal(spread(tables.reciprocal)), shift(tables.bits - 1) {}

    HEKAT_IFMA_INLINE Vector loose(Vector x) const {
        return add_low(x, add_high(Vector{}, x >> shift, reciprocal), prime.negative);
    }
    HEKAT_IFMA_INLINE Vector operator()(Vector x) const { return loose(x) & prime.mask; }
    HEKAT_IFMA_INLINE Vector canonical(Vector x) const {
        return reduce_once(reduce_once((*this)(x), prime.twice), prime.p);
    }

    VectorPrime prime;
    Vector reciprocal;
    unsigned shift;
};

// x, y = x + w y, x - w y. Roomy: each becomes larger by up to 2 p; else from below 4 p to below 4 p.
template <bool roomy>
HEKAT_IFMA_INLINE void join(Vector& x, Vector& y, Vector w, Vector quotient, const VectorPrime& prime) {
    if constexpr (roomy) {
        const Vector estimate = add_high(Vector{}, y, quotient);
        const Vector sum = add_low(add_low(x, y, w), estimate, prime.negative);
        y = x + x + prime.twice - sum;
        x = sum;
    } else {
        const Vector reduced = reduce_once(x, prime.twice);
        const Vector product = multiply_by(y, w, quotient, prime);
        x = reduced + product;
        y = reduced + prime.twice - product;
    }
}

// As many levels as halve `parts` to 1; node: the entry of the first in the slice's tree.
template <unsigned parts, bool roomy>
HEKAT_IFMA_INLINE void join_parts(Vector* x, std::size_t node, const Limb* values, const Limb* quotients,
                                  const VectorPrime& prime) {
    constexpr unsigned kHalf = parts / 2;
    const Vector w = load(values, node);
    const Vector quotient = load(quotients, node);
    for (unsigned i = 0; i < kHalf; ++i) join<roomy>(x[i], x[kHalf + i], w, quotient, prime);
    if constexpr (kHalf > 1) {
        join_parts<kHalf, roomy>(x, 2 * node, values, quotients, prime);
        join_parts<kHalf, roomy>(x + kHalf, 2 * node + 1, values, quotients, prime);
    }
}

// The levels of `blocks` blocks and the next ones on a slice of `vectors`.
template <unsigned parts, bool roomy>
HEKAT_IFMA_INLINE void join_pass(Limb* z, std::size_t vectors, std::size_t blocks, const Limb* values,
                                 const Limb* quotients, bool reduces, const Reduction& reduction) {
    const std::size_t step = vectors / blocks / parts;
    for (std::size_t block = 0; block < blocks; ++block, z += 8 * parts * step) {
        for (std::size_t j = 0; j < step; ++j) {
            Vector x[parts];
#pragma GCC unroll 8
            for (std::size_t i = 0; i < parts; ++i) {
                x[i] = load(z, i * step + j);
                if (reduces) x[i] = reduction(x[i]);
            }
            join_parts<parts, roomy>(x, blocks + block, values, quotients, reduction.prime);
#pragma GCC unroll 8
            for (std::size_t i = 0; i < parts; ++i) store(z, i * step + j, x[i]);
        }
    }
}

// The levels of a slice's blocks of `vectors` residues, 16 to 128.
template <bool roomy>
HEKAT_IFMA void join_slice(Limb* z, std::size_t vectors, const Limb* values, const Limb* quotients,
                           const Reduction& reduction) {
    std::size_t blocks = vectors / 8;
    if (vectors == 16) join_pass<2, roomy>(z, vectors, 1, values, quotients, true, reduction);
    if (vectors == 64) join_pass<8, roomy>(z, vectors, 1, values, quotients, true, reduction);
    if (vectors == 32 || vectors == 128) {
        join_pass<4, roomy>(z, vectors, 1, values, quotients, true, reduction);
    }
    if (vectors == 128) join_pass<4, roomy>(z, vectors, 4, values, quotients, false, reduction);
    // 3 p and six levels are below 16 p, and seven are not.
    const bool reduces = vectors == 128;
    if (roomy && reduces) {
        for (std::size_t v = 0; v < vectors; ++v) store(z, v, load(z, v) & reduction.prime.mask);
    }
    join_pass<8, roomy>(z, vectors, blocks, values, quotients, roomy && reduces, reduction);
}

}  // namespace

HEKAT_IFMA void take_slice(Limb* z, const Limb* row, std::size_t slice, const Prime& prime) {
    const std::size_t vectors = prime.degree / kBinParts;
    const Limb* const from = row + slice * vectors;
    for (std::size_t v = 0; v < vectors; v += 8) {
        Vector x[8];
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < 8; ++lane) x[lane] = load(from + lane * prime.degree / 8 + v, 0);
        transpose(x);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) store(z, v + i, x[i]);
    }
}

HEKAT_IFMA void transform_places(Limb* z, const Places& places, std::size_t slice, const BinFactors& factors,
                                 const Prime& tables) {
    const std::size_t vectors = tables.degree / kBinParts;
    const auto shift = static_cast<unsigned>(__builtin_ctzll(vectors));
    const Limb* const rows = factors.rows.data() + 8 * 2 * kBinParts * slice;
    const Reduction reduction(tables);
    for (std::size_t v = 0; v < vectors; ++v) store(z, v, Vector{});
    for (std::size_t i = 0; i < places.count; ++i) {
        const std::size_t place = places.data[i];
        const std::size_t v = place & (vectors - 1);
        store(z, v, load(z, v) + load(rows, place >> shift));
        if ((i + 1) % kMostPlaces == 0) {
            for (std::size_t j = 0; j < vectors; ++j) store(z, j, reduction(load(z, j)));
        }
    }
    const Limb* const values = factors.nodes.values.data() + 8 * vectors * slice;
    const Limb* const quotients = factors.nodes.quotients.data() + 8 * vectors * slice;
    if (tables.bits <= kRoomyBits) {
        join_slice<true>(z, vectors, values, quotients, reduction);
    } else {
        join_slice<false>(z, vectors, values, quotients, reduction);
    }
}

namespace {

template <std::size_t components>
HEKAT_IFMA_INLINE void add_some_products(Limb* sums, const Limb* x, const Limb* const* elements,
                                         std::size_t offset, std::size_t count, std::size_t words) {
    for (std::size_t v = 0; v < words / 8; ++v) {
        Vector low[components];
        Vector high[components];
        for (std::size_t c = 0; c < components; ++c) {
            low[c] = load(sums + 2 * c * words, v);
            high[c] = load(sums + (2 * c + 1) * words, v);
        }
        for (std::size_t k = 0; k < count; ++k) {
            const Vector factor = load(x + k * words, v);
            const Limb* const element = elements[k] + offset;
            for (std::size_t c = 0; c < components; ++c) {
                const Vector y = load(element + c * words, v);
                low[c] = add_low(low[c], factor, y);
                high[c] = add_high(high[c], factor, y);
            }
        }
        for (std::size_t c = 0; c < components; ++c) {
            store(sums + 2 * c * words, v, low[c]);
            store(sums + (2 * c + 1) * words, v, high[c]);
        }
    }
}

}  // namespace

// Sums of up to 2^10 lower and upper halves stay below 2^63.
HEKAT_IFMA void add_products(Limb* sums, const Limb* x, const Limb* const* elements, std::size_t count,
                             std::size_t components, std::size_t words) {
    std::size_t c = 0;
    for (; c + 3 <= components; c += 3) {
        add_some_products<3>(sums + 2 * c * words, x, elements, c * words, count, words);
    }
    if (components - c == 2) add_some_products<2>(sums + 2 * c * words, x, elements, c * words, count, words);
    if (components - c == 1) add_some_products<1>(sums + 2 * c * words, x, elements, c * words, count, words);
}

HEKAT_IFMA void put_slice(Limb* row, const Limb* sums, std::size_t slice, bool adds, const Prime& tables) {
    const Reduction reduction(tables);
    const VectorPrime& prime = reduction.prime;
    const std::size_t vectors = tables.degree / kBinParts;
    const Factor carry = tables.factor((Limb{1} << 52) % tables.value);
    Limb* const to = row + slice * vectors;
    for (std::size_t v = 0; v < vectors; v += 8) {
        Vector x[8];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) {
            const Vector low = load(sums, v + i);
            const Vector high = reduction(load(sums, vectors + v + i) + (low >> 52));
            x[i] = reduction.canonical((low & prime.mask) + multiply_by(high, carry, prime));
        }
        transpose(x);
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < 8; ++lane) {
            Limb* const place = to + lane * tables.degree / 8 + v;
            store(place, 0, adds ? reduce_once(x[lane] + load(place, 0), prime.p) : x[lane]);
        }
    }
}

}  // namespace hekat::ring::vectors
