// The parts of sums by bin, eight slots at a time: of each plaintext the blocks of one slice, in one vector
// for all eight lanes, so that no level of the transform turns vectors. The first six levels are a sum over
// the few places; the others run within registers, three at a time.
//
// Where a prime p has b bits, 48 or fewer, nothing is reduced on the way: what is reduced first is below
// p + 2^(b - 1) and a little, each level adds up to 2 p, and after seven all is below 15.5 2^b and a little,
// that is, below 2^52. What stands above those 52 bits is without meaning, and a product does not look at it.
#include "bigint/vector_transpose.hpp"
#include "ring/vector_prime.hpp"
#include "ring/vectors.hpp"

namespace hekat::ring::vectors {
namespace {

using vector::transpose;

constexpr unsigned kRoomyBits = 48;
// Sums of so many residues below 2^50, and a reduced one, are below 2^63.
constexpr std::uint32_t kMostTerms = 1 << 12;

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

// The factors of a slice's levels.
struct Tree {
    const Limb* values;
    const Limb* quotients;
};

// As many levels as halve `parts` to 1; node: the entry of the first in the slice's tree.
template <unsigned parts, bool roomy>
HEKAT_IFMA_INLINE void join_parts(Vector* x, std::size_t node, const Tree& tree, const VectorPrime& prime) {
    constexpr unsigned kHalf = parts / 2;
    const Vector w = load(tree.values, node);
    const Vector quotient = load(tree.quotients, node);
    for (unsigned i = 0; i < kHalf; ++i) join<roomy>(x[i], x[kHalf + i], w, quotient, prime);
    if constexpr (kHalf > 1) {
        join_parts<kHalf, roomy>(x, 2 * node, tree, prime);
        join_parts<kHalf, roomy>(x + kHalf, 2 * node + 1, tree, prime);
    }
}

// The first levels, on the sums over each group's layers.
template <unsigned parts, bool roomy>
HEKAT_IFMA_INLINE void join_layers(Limb* z, const SparsePlaintext& plaintext, std::size_t groups,
                                   const Limb* rows, const Tree& tree, const Reduction& reduction) {
    const std::uint8_t* next = plaintext.layers;
    for (std::size_t group = 0; group < groups; ++group) {
        Vector x[parts];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < parts; ++i) x[i] = Vector{};
        for (std::uint32_t left = plaintext.depths[group]; left != 0;) {
            const std::uint32_t some = left < kMostTerms ? left : kMostTerms;
            for (std::uint32_t layer = 0; layer < some; ++layer, next += parts) {
#pragma GCC unroll 8
                for (std::size_t i = 0; i < parts; ++i) x[i] += load(rows, next[i]);
            }
#pragma GCC unroll 8
            for (std::size_t i = 0; i < parts; ++i) x[i] = reduction(x[i]);
            left -= some;
        }
        join_parts<parts, roomy>(x, 1, tree, reduction.prime);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < parts; ++i) store(z, i * groups + group, x[i]);
    }
}

// The level of 8 blocks of 16 vectors.
template <bool roomy>
HEKAT_IFMA_INLINE void join_middle(Limb* z, const Tree& tree, const VectorPrime& prime) {
    for (std::size_t block = 0; block < 8; ++block, z += 8 * 16) {
        for (std::size_t j = 0; j < 8; ++j) {
            Vector x[2] = {load(z, j), load(z, 8 + j)};
            join_parts<2, roomy>(x, 8 + block, tree, prime);
            store(z, j, x[0]);
            store(z, 8 + j, x[1]);
        }
    }
}

// The last three levels.
template <bool roomy>
HEKAT_IFMA_INLINE void join_last(Limb* z, std::size_t vectors, const Tree& tree, const VectorPrime& prime) {
    for (std::size_t block = 0; block < vectors / 8; ++block, z += 8 * 8) {
        Vector x[8];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) x[i] = load(z, i);
        join_parts<8, roomy>(x, vectors / 8 + block, tree, prime);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) store(z, i, x[i]);
    }
}

template <bool roomy>
HEKAT_IFMA void transform_slice(Limb* z, const SparsePlaintext& plaintext, const PlaceLayout& layout,
                                const Limb* rows, const Tree& tree, const Reduction& reduction) {
    if (layout.members == 2) join_layers<2, roomy>(z, plaintext, layout.groups, rows, tree, reduction);
    if (layout.members == 4) join_layers<4, roomy>(z, plaintext, layout.groups, rows, tree, reduction);
    if (layout.members == 8) join_layers<8, roomy>(z, plaintext, layout.groups, rows, tree, reduction);
    if (layout.places == 128) join_middle<roomy>(z, tree, reduction.prime);
    join_last<roomy>(z, layout.places, tree, reduction.prime);
}

}  // namespace

HEKAT_IFMA void take_slice(Limb* z, std::size_t stride, const Limb* row, std::size_t slice,
                           const Prime& prime) {
    const std::size_t vectors = prime.degree / kBinParts;
    const Limb* const from = row + slice * vectors;
    for (std::size_t v = 0; v < vectors; v += 8) {
        Vector x[8];
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < 8; ++lane) x[lane] = load(from + lane * prime.degree / 8 + v, 0);
        transpose(x);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) store(z + (v + i) * stride, 0, x[i]);
    }
}

HEKAT_IFMA void transform_plaintext(Limb* z, const SparsePlaintext& plaintext, std::size_t slice,
                                    const BinFactors& factors, const Prime& prime) {
    const PlaceLayout layout(prime.degree);
    const std::size_t first = 8 * layout.places * slice;
    const Limb* const rows = factors.rows.data() + 8 * kBinRows * slice;
    const Tree tree{factors.nodes.values.data() + first, factors.nodes.quotients.data() + first};
    const Reduction reduction(prime);
    if (prime.bits <= kRoomyBits) {
        transform_slice<true>(z, plaintext, layout, rows, tree, reduction);
    } else {
        transform_slice<false>(z, plaintext, layout, rows, tree, reduction);
    }
}

namespace {

template <std::size_t components>
HEKAT_IFMA_INLINE void add_some_products(Limb* sums, const Limb* x, const Limb* elements,
                                         const BinProducts& products) {
    const std::size_t vectors = products.words / 8;
    for (std::size_t v = 0; v < vectors; ++v) {
        Vector low[components];
        Vector high[components];
#pragma GCC unroll 4
        for (std::size_t c = 0; c < components; ++c) {
            low[c] = load(sums, 2 * c);
            high[c] = load(sums, 2 * c + 1);
        }
        for (std::size_t k = 0; k < products.count; ++k) {
            const Vector factor = load(x + k * products.x_stride, v);
            const Limb* const element = elements + products.offsets[k];
#pragma GCC unroll 4
            for (std::size_t c = 0; c < components; ++c) {
                const Vector y = load(element, c);
                low[c] = add_low(low[c], factor, y);
                high[c] = add_high(high[c], factor, y);
            }
        }
#pragma GCC unroll 4
        for (std::size_t c = 0; c < components; ++c) {
            store(sums, 2 * c, low[c]);
            store(sums, 2 * c + 1, high[c]);
        }
        sums += products.sums_stride;
        elements += products.stride;
    }
}

}  // namespace

// Sums of up to 2^10 lower and upper halves stay below 2^63.
HEKAT_IFMA void add_products(Limb* sums, const Limb* x, const Limb* elements, const BinProducts& products) {
    std::size_t c = 0;
    for (; c + 3 <= products.components; c += 3, sums += 48, elements += 24) {
        add_some_products<3>(sums, x, elements, products);
    }
    if (products.components - c == 2) add_some_products<2>(sums, x, elements, products);
    if (products.components - c == 1) add_some_products<1>(sums, x, elements, products);
}

HEKAT_IFMA void put_slice(Limb* row, const Limb* sums, std::size_t stride, std::size_t slice, bool adds,
                          const Prime& tables) {
    const Reduction reduction(tables);
    const VectorPrime& prime = reduction.prime;
    const std::size_t vectors = tables.degree / kBinParts;
    const Factor carry = tables.factor((Limb{1} << 52) % tables.value);
    Limb* const to = row + slice * vectors;
    for (std::size_t v = 0; v < vectors; v += 8) {
        Vector x[8];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) {
            const Limb* const from = sums + (v + i) * stride;
            x[i] = reduction.canonical(load(from, 0), load(from, 1), carry);
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
