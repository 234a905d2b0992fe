// Negacyclic transforms, eight coefficients at a time and several levels in one pass over them. Levels that
// join coefficients 64 or more apart run two or three at a time; the last six levels run within blocks of 64,
// three of them on transposed blocks, so that lanes never meet. Values are below 4 p in between (see
// transform.cpp).
#include <algorithm>

#include "bigint/vector_transpose.hpp"
#include "ring/vector_prime.hpp"
#include "ring/vectors.hpp"

namespace hekat::ring::vectors {
namespace {

using vector::transpose;

constexpr std::size_t kBlock = 64;

// x, y = x + w y, x - w y: from below 4 p to below 4 p.
HEKAT_IFMA_INLINE void join(Vector& x, Vector& y, Vector w, Vector quotient, const VectorPrime& prime) {
    const Vector reduced = reduce_once(x, prime.twice);
    const Vector product = multiply_by(y, w, quotient, prime);
    x = reduced + product;
    y = reduced + prime.twice - product;
}

// x, y = x + y, w (x - y): from below 2 p to below 2 p.
HEKAT_IFMA_INLINE void part(Vector& x, Vector& y, Vector w, Vector quotient, const VectorPrime& prime) {
    const Vector difference = x + prime.twice - y;
    x = reduce_once(x + y, prime.twice);
    y = multiply_by(difference, w, quotient, prime);
}

// The same with 1 / N, to canonical residues.
HEKAT_IFMA_INLINE void part_last(Vector& x, Vector& y, const Factors& factors, const VectorPrime& prime) {
    const Limb* const w = factors.values.data();
    const Limb* const quotient = factors.quotients.data();
    const Vector difference = x + prime.twice - y;
    x = reduce_once(multiply_by(x + y, spread(w[0]), spread(quotient[0]), prime), prime.p);
    y = reduce_once(multiply_by(difference, spread(w[1]), spread(quotient[1]), prime), prime.p);
}

// As many levels as halve `parts` to 1, within a block that its entry of the tables stands for; x: one vector
// from each of its parts. The block's halves have the entries 2 entry and 2 entry + 1.
template <unsigned parts>
HEKAT_IFMA_INLINE void join_parts(Vector* x, std::size_t entry, const Factors& factors,
                                  const VectorPrime& prime) {
    constexpr unsigned kHalf = parts / 2;
    const Vector w = spread(factors.values.data()[entry]);
    const Vector quotient = spread(factors.quotients.data()[entry]);
    for (unsigned i = 0; i < kHalf; ++i) join(x[i], x[kHalf + i], w, quotient, prime);
    if constexpr (kHalf > 1) {
        join_parts<kHalf>(x, 2 * entry, factors, prime);
        join_parts<kHalf>(x + kHalf, 2 * entry + 1, factors, prime);
    }
}

// The inverse; is_last: the block is the whole.
template <unsigned parts, bool is_last>
HEKAT_IFMA_INLINE void part_parts(Vector* x, std::size_t entry, const Factors& factors,
                                  const VectorPrime& prime) {
    constexpr unsigned kHalf = parts / 2;
    if constexpr (kHalf > 1) {
        part_parts<kHalf, false>(x, 2 * entry, factors, prime);
        part_parts<kHalf, false>(x + kHalf, 2 * entry + 1, factors, prime);
    }
    if constexpr (is_last) {
        for (unsigned i = 0; i < kHalf; ++i) part_last(x[i], x[kHalf + i], factors, prime);
    } else {
        const Vector w = spread(factors.values.data()[entry]);
        const Vector quotient = spread(factors.quotients.data()[entry]);
        for (unsigned i = 0; i < kHalf; ++i) part(x[i], x[kHalf + i], w, quotient, prime);
    }
}

template <unsigned parts>
HEKAT_IFMA void join_pass(Limb* a, std::size_t blocks, const Prime& tables) {
    const VectorPrime prime(tables);
    const std::size_t part_words = tables.degree / blocks / parts;
    for (std::size_t block = 0; block < blocks; ++block, a += parts * part_words) {
        for (std::size_t j = 0; j < part_words / 8; ++j) {
            Vector x[parts];
#pragma GCC unroll 8
            for (std::size_t i = 0; i < parts; ++i) x[i] = load(a + i * part_words, j);
            join_parts<parts>(x, blocks + block, tables.forward, prime);
#pragma GCC unroll 8
            for (std::size_t i = 0; i < parts; ++i) store(a + i * part_words, j, x[i]);
        }
    }
}

template <unsigned parts, bool is_last>
HEKAT_IFMA void part_pass(Limb* a, std::size_t blocks, const Prime& tables) {
    const VectorPrime prime(tables);
    const std::size_t part_words = tables.degree / blocks / parts;
    for (std::size_t block = 0; block < blocks; ++block, a += parts * part_words) {
        for (std::size_t j = 0; j < part_words / 8; ++j) {
            Vector x[parts];
#pragma GCC unroll 8
            for (std::size_t i = 0; i < parts; ++i) x[i] = load(a + i * part_words, j);
            part_parts<parts, is_last>(x, blocks + block, tables.inverse, prime);
#pragma GCC unroll 8
            for (std::size_t i = 0; i < parts; ++i) store(a + i * part_words, j, x[i]);
        }
    }
}

// The entries of a level for vector c of block `block`, where each lane is a block of eight.
struct LaneFactors {
    HEKAT_IFMA_INLINE LaneFactors(const Factors& factors, std::size_t level, std::size_t vector)
        : w(load(factors.values.data() + level, vector)),
          quotient(load(factors.quotients.data() + level, vector)) {}

    Vector w;
    Vector quotient;
};

HEKAT_IFMA void join_blocks(Limb* a, const Prime& tables) {
    const VectorPrime prime(tables);
    const Factors& factors = tables.forward;
    const std::size_t degree = tables.degree;
    for (std::size_t block = 0; block < degree / kBlock; ++block) {
        Limb* const from = a + block * kBlock;
        Vector x[8];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) x[i] = load(from, i);
        join_parts<8>(x, degree / kBlock + block, factors, prime);
        transpose(x);
        const LaneFactors eighths(factors, degree / 8, block);
#pragma GCC unroll 4
        for (std::size_t i = 0; i < 4; ++i) join(x[i], x[4 + i], eighths.w, eighths.quotient, prime);
#pragma GCC unroll 2
        for (std::size_t c = 0; c < 2; ++c) {
            const LaneFactors quarters(factors, degree / 4, 2 * block + c);
            join(x[4 * c], x[4 * c + 2], quarters.w, quarters.quotient, prime);
            join(x[4 * c + 1], x[4 * c + 3], quarters.w, quarters.quotient, prime);
        }
#pragma GCC unroll 4
        for (std::size_t c = 0; c < 4; ++c) {
            const LaneFactors halves(factors, degree / 2, 4 * block + c);
            join(x[2 * c], x[2 * c + 1], halves.w, halves.quotient, prime);
        }
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) x[i] = reduce_once(reduce_once(x[i], prime.twice), prime.p);
        transpose(x);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) store(from, i, x[i]);
    }
}

// Of a block's eight vectors: turned, so that each lane is a block of eight, with their levels done.
HEKAT_IFMA_INLINE void part_lanes(Vector (&x)[8], std::size_t block, const Prime& tables,
                                  const VectorPrime& prime) {
    const Factors& factors = tables.inverse;
    transpose(x);
#pragma GCC unroll 4
    for (std::size_t c = 0; c < 4; ++c) {
        const LaneFactors halves(factors, tables.degree / 2, 4 * block + c);
        part(x[2 * c], x[2 * c + 1], halves.w, halves.quotient, prime);
    }
#pragma GCC unroll 2
    for (std::size_t c = 0; c < 2; ++c) {
        const LaneFactors quarters(factors, tables.degree / 4, 2 * block + c);
        part(x[4 * c], x[4 * c + 2], quarters.w, quarters.quotient, prime);
        part(x[4 * c + 1], x[4 * c + 3], quarters.w, quarters.quotient, prime);
    }
    const LaneFactors eighths(factors, tables.degree / 8, block);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) part(x[i], x[4 + i], eighths.w, eighths.quotient, prime);
}

// multiply(x, block) is called on each block's eight vectors first.
template <typename Multiply>
HEKAT_IFMA_INLINE void part_blocks(Limb* a, const Prime& tables, const Multiply& multiply) {
    const VectorPrime prime(tables);
    const Factors& factors = tables.inverse;
    const std::size_t degree = tables.degree;
    for (std::size_t block = 0; block < degree / kBlock; ++block) {
        Limb* const from = a + block * kBlock;
        Vector x[8];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) x[i] = load(from, i);
        multiply(x, block, prime);
        part_lanes(x, block, tables, prime);
        transpose(x);
        part_parts<8, false>(x, degree / kBlock + block, factors, prime);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) store(from, i, x[i]);
    }
}

struct NoFactors {
    HEKAT_IFMA_INLINE void operator()(Vector (&)[8], std::size_t, const VectorPrime&) const {}
};

struct SlotFactors {
    const Limb* w;
    const Limb* quotients;

    HEKAT_IFMA_INLINE void operator()(Vector (&x)[8], std::size_t block, const VectorPrime& prime) const {
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) {
            x[i] = multiply_by(x[i], load(w, 8 * block + i), load(quotients, 8 * block + i), prime);
        }
    }
};

// The levels of 1 to N/128 blocks are 4 to 7: in threes, and in twos where that leaves none over. From
// `blocks` on they are fewer.

void join_upper_levels(Limb* a, std::size_t blocks, const Prime& prime) {
    const std::size_t most = prime.degree / kBlock;
    while (blocks < most) {
        const std::size_t left = most / blocks;
        if (left == 2) {
            join_pass<2>(a, blocks, prime);
            blocks *= 2;
        } else if (left == 4 || left == 16) {
            join_pass<4>(a, blocks, prime);
            blocks *= 4;
        } else {
            join_pass<8>(a, blocks, prime);
            blocks *= 8;
        }
    }
}

void part_upper_levels(Limb* a, const Prime& prime) {
    for (std::size_t blocks = prime.degree / kBlock; blocks > 1;) {
        if (blocks == 4) {
            part_pass<4, true>(a, blocks /= 4, prime);
        } else if (blocks == 8) {
            part_pass<8, true>(a, blocks /= 8, prime);
        } else if (blocks == 16) {
            part_pass<4, false>(a, blocks /= 4, prime);
        } else {
            part_pass<8, false>(a, blocks /= 8, prime);
        }
    }
}

}  // namespace

void transform(Limb* a, const Prime& prime) { transform_first(a, prime.degree, prime); }

// Levels that join what stands with zeros copy it.
void transform_first(Limb* a, std::size_t first, const Prime& prime) {
    for (std::size_t i = first; i < prime.degree; i += first) std::copy_n(a, first, a + i);
    join_upper_levels(a, prime.degree / first, prime);
    join_blocks(a, prime);
}

HEKAT_IFMA void invert_transform(Limb* a, const Prime& prime) {
    part_blocks(a, prime, NoFactors{});
    part_upper_levels(a, prime);
}

// From blocks of eight, or of 64, on, each level adds the halves of a block onto its first coefficients. The
// last factor is 1 / N.
HEKAT_IFMA void invert_first(Limb* z, std::size_t window, Limb* a, const Prime& tables) {
    if (window > kBlock) {
        invert_transform(a, tables);
        std::copy_n(a, window, z);
        return;
    }
    const VectorPrime prime(tables);
    Vector sums[8] = {};
    if (window <= 8) {
        Vector lanes[8] = {};
        for (std::size_t block = 0; block < tables.degree / kBlock; ++block) {
            Vector x[8];
#pragma GCC unroll 8
            for (std::size_t i = 0; i < 8; ++i) x[i] = load(a + block * kBlock, i);
            part_lanes(x, block, tables, prime);
#pragma GCC unroll 8
            for (std::size_t i = 0; i < 8; ++i) lanes[i] = reduce_once(lanes[i] + x[i], prime.twice);
        }
        transpose(lanes);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) sums[0] = reduce_once(sums[0] + lanes[i], prime.twice);
    } else {
        part_blocks(a, tables, NoFactors{});
        for (std::size_t block = 0; block < tables.degree / kBlock; ++block) {
#pragma GCC unroll 8
            for (std::size_t i = 0; i < 8; ++i) {
                sums[i] = reduce_once(sums[i] + load(a + block * kBlock, i), prime.twice);
            }
        }
    }
    Limb first[kBlock];
    const Vector w = spread(tables.inverse.values.data()[0]);
    const Vector quotient = spread(tables.inverse.quotients.data()[0]);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < 8; ++i) {
        store(first, i, reduce_once(multiply_by(sums[i], w, quotient, prime), prime.p));
    }
    std::copy_n(first, window, z);
}

HEKAT_IFMA void invert_product(Limb* a, const Limb* w, const Limb* quotients, const Prime& prime) {
    part_blocks(a, prime, SlotFactors{w, quotients});
    part_upper_levels(a, prime);
}

}  // namespace hekat::ring::vectors
