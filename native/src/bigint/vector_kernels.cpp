// The multiply-add loops: blocks of up to ten limbs of one factor in registers, a window of sums that slides
// along the other.
#include "bigint/vector_kernels.hpp"

#include <array>
#include <utility>

#include "bigint/vector.hpp"

namespace hekat::vector {
namespace {

#if defined(HEKAT_SMALL_BLOCKS)
// For sanitizers: the same templates, which would take them minutes to compile at full size.
constexpr std::size_t kBlock = 4;
constexpr std::size_t kReduceBlock = 3;
constexpr std::size_t kShortReduceBlock = 2;
#else
// Limbs of a factor that stay in registers: ten, ten sums and two limbs of the other factor take 22 of 32.
constexpr std::size_t kBlock = 10;
// The same in a reduction: fewer, since the chain that makes the limbs needs registers too.
constexpr std::size_t kReduceBlock = 8;
// Short numbers go in smaller blocks: the first block's chain has nothing to run beside. As measured.
constexpr std::size_t kShortReduceBlock = 7;
#endif
constexpr std::size_t kShortLimbs = 36;

// Limb j of the factor that slides past: a vector number, or one number for all lanes.
struct Numbers {
    const Limb* x;
    HEKAT_IFMA_INLINE Vector operator[](std::size_t j) const { return load(x, j); }
};
struct Number {
    const Limb* x;
    HEKAT_IFMA_INLINE Vector operator[](std::size_t j) const { return spread(x[j]); }
};
// A vector number whose lowest bit counts as zero.
struct EvenNumbers {
    const Limb* x;
    HEKAT_IFMA_INLINE Vector operator[](std::size_t j) const {
        const Vector limb = load(x, j);
        return j == 0 ? limb & spread(~Limb{1}) : limb;
    }
};

// Which words of z a product is added to; the others count as zero and need not be set.
enum class Onto { kNothing, kLower, kAll };

// The state of a factor that slides past K limbs x: before step j slot (k + j) % K of the window is word j +
// k of z; the step adds the low halves of x_k b_j and the high halves of x_k b_(j-1). Word j is then complete
// and goes to z, and its slot takes word j + K.
template <std::size_t K, Onto kOnto, typename Factor>
struct Slide {
    Limb* z;
    Factor b;
    std::size_t count;  // limbs of b; z has count + K words
    std::size_t j;
    Vector previous;  // b_(j-1)
    Vector x[K];
    Vector window[K];
};

// Step j, whose slots start at Start: completes word j.
template <std::size_t Start, std::size_t K, Onto kOnto, typename Factor>
HEKAT_IFMA_INLINE void slide_step(Slide<K, kOnto, Factor>& state) {
    const Vector current = state.b[state.j];
#pragma GCC unroll 10
    for (std::size_t k = 0; k < K; ++k) {
        const std::size_t slot = (Start + k) % K;
        state.window[slot] = add_low(state.window[slot], state.x[k], current);
    }
#pragma GCC unroll 10
    for (std::size_t k = 0; k < K; ++k) {
        const std::size_t slot = (Start + k) % K;
        state.window[slot] = add_high(state.window[slot], state.x[k], state.previous);
    }
    store(state.z, state.j, state.window[Start]);
    state.window[Start] = kOnto == Onto::kNothing ? Vector{} : load(state.z, state.j + K);
    state.previous = current;
    ++state.j;
}

// The steps from j on whose slots start at Start, up to the end of the window; true when all is done.
template <std::size_t Start, std::size_t K, Onto kOnto, typename Factor>
HEKAT_IFMA_INLINE bool slide_window(Slide<K, kOnto, Factor>& state) {
    if (state.j == state.count) {
#pragma GCC unroll 10
        for (std::size_t k = 0; k < K; ++k) {
            const std::size_t slot = (Start + k) % K;
            store(state.z, state.j + k, add_high(state.window[slot], state.x[k], state.previous));
        }
        return true;
    }
    slide_step<Start>(state);
    if constexpr (Start + 1 < K) {
        return slide_window<Start + 1>(state);
    } else {
        return false;
    }
}

// All steps from j on; j = First (mod K) at first.
template <std::size_t First, std::size_t K, Onto kOnto, typename Factor>
HEKAT_IFMA_INLINE void slide(Slide<K, kOnto, Factor>& state) {
    if constexpr (First % K != 0) {
        if (slide_window<First % K>(state)) return;
    }
    while (!slide_window<0>(state)) {
    }
}

// z (count + K words) += x b for K limbs of x and count of b; onto kLower: z's upper K words count as zero.
template <std::size_t K, Onto kOnto, typename Factor>
HEKAT_IFMA void multiply_rows(Limb* z, const Limb* x, const Factor& b, std::size_t count) {
    const Vector zero{};
    Slide<K, kOnto, Factor> state{z, b, count, 1, b[0], {}, {}};
#pragma GCC unroll 10
    for (std::size_t k = 0; k < K; ++k) {
        state.x[k] = load(x, k);
        if (kOnto == Onto::kLower) store(z, count + k, zero);
    }
#pragma GCC unroll 10
    for (std::size_t k = 0; k < K; ++k) {
        state.window[k] = add_low(kOnto == Onto::kNothing ? zero : load(z, k), state.x[k], state.previous);
    }
    store(z, 0, state.window[0]);
    state.window[0] = kOnto == Onto::kNothing ? zero : load(z, K);
    slide<1>(state);
}

// z (2 K words) = x x for K limbs of x.
template <std::size_t K>
HEKAT_IFMA void square_block(Limb* z, const Limb* x_limbs) {
    const Vector zero{};
    Vector x[K];
#pragma GCC unroll 10
    for (std::size_t k = 0; k < K; ++k) x[k] = load(x_limbs, k);
#pragma GCC unroll 20
    for (std::size_t word = 0; word < 2 * K; ++word) {
        // The products of different limbs once, then twice, then the square.
        Vector low = zero;
        Vector high = zero;
#pragma GCC unroll 10
        for (std::size_t k = 0; k < K; ++k) {
            if (word > 2 * k && word - k < K) low = add_low(low, x[k], x[word - k]);
            if (word > 2 * k + 1 && word - 1 - k < K) high = add_high(high, x[k], x[word - 1 - k]);
        }
        const Vector both = (low + high) * 2;
        const Vector middle = x[word / 2];
        store(z, word, word % 2 == 0 ? add_low(both, middle, middle) : add_high(both, middle, middle));
    }
}

// The K limbs m that clear t's K lowest words, and the carry out of these: it goes into the highest of them,
// which is used up. A chain of multiply-adds: each waits for the one before.
template <std::size_t K>
HEKAT_IFMA_INLINE void clear_low_words(Limb* t, Limb* m, const Modulus& modulus) {
    const Number n{modulus.n};
    const Vector n_inverse = spread(modulus.n_inverse);
    Vector low[K];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < K; ++k) low[k] = load(t, k);
    Vector carry{};
#pragma GCC unroll 8
    for (std::size_t r = 0; r < K; ++r) {
        low[r] += carry;
        const Vector limb = add_low(Vector{}, low[r], n_inverse);
        store(m, r, limb);
        // low_r + lo(m_r n_0) is a multiple of 2^52: its carry is known before the product.
        carry = (low[r] + kLimbMask52) >> kLimbBits52;
        if (r + 1 < K) carry = add_high(carry, limb, n[0]);
#pragma GCC unroll 8
        for (std::size_t s = r + 1; s < K; ++s) {
            low[s] = add_low(low[s], limb, n[s - r]);
            if (s > r + 1) low[s] = add_high(low[s], limb, n[s - r - 1]);
        }
    }
    store(t, K - 1, carry);
}

// The first steps, whose slots start at 0, 1 and so on.
template <typename State, std::size_t... Starts>
HEKAT_IFMA_INLINE void first_steps(State& state, std::index_sequence<Starts...>) {
    (slide_step<Starts>(state), ...);
}

// A block of a reduction: t += m n for the K limbs m that `clear_low_words` found, which clears t's lowest K
// words; t has n.limbs + K words. As soon as the Next words above are complete, the next block's limbs are
// made of them: that chain runs beside the multiply-adds that are left here.
template <std::size_t K, std::size_t Next>
HEKAT_IFMA void reduce_rows(Limb* t, Limb* m, const Modulus& modulus) {
    Slide<K, Onto::kAll, Number> state{t, {modulus.n}, modulus.limbs, K, spread(modulus.n[0]), {}, {}};
#pragma GCC unroll 8
    for (std::size_t k = 0; k < K; ++k) {
        state.x[k] = load(m, k);
        state.window[k] = load(t, K + k);
    }
    state.window[0] += load(t, K - 1);
#pragma GCC unroll 8
    for (std::size_t j = 1; j < K; ++j) {
        const Vector current = state.b[j];
#pragma GCC unroll 8
        for (std::size_t k = K - j; k < K; ++k) {
            state.window[j + k - K] = add_low(state.window[j + k - K], state.x[k], current);
            state.window[j + k - K] = add_high(state.window[j + k - K], state.x[k], state.previous);
        }
        state.previous = current;
    }
    if constexpr (Next > 0) {
        first_steps(state, std::make_index_sequence<Next>{});
        clear_low_words<Next>(t + kLanes * K, m + kLanes * K, modulus);
    }
    slide<Next>(state);
}

using MultiplyRows = void (*)(Limb* z, const Limb* x, const Limb* b, std::size_t count);
using SquareBlock = void (*)(Limb* z, const Limb* x);
using ClearLowWords = void (*)(Limb* t, Limb* m, const Modulus& modulus);
using ReduceRows = void (*)(Limb* t, Limb* m, const Modulus& modulus);

template <std::size_t K, Onto kOnto, typename Factor>
HEKAT_IFMA void multiply_rows_by(Limb* z, const Limb* x, const Limb* b, std::size_t count) {
    multiply_rows<K, kOnto>(z, x, Factor{b}, count);
}

template <std::size_t K>
HEKAT_IFMA void clear_first_words(Limb* t, Limb* m, const Modulus& modulus) {
    clear_low_words<K>(t, m, modulus);
}

// What serves a block of i + 1 limbs.
template <Onto kOnto, typename Factor, std::size_t... Sizes>
constexpr std::array<MultiplyRows, kBlock> rows_of_sizes(std::index_sequence<Sizes...>) {
    return {multiply_rows_by<Sizes + 1, kOnto, Factor>...};
}
template <std::size_t... Sizes>
constexpr std::array<SquareBlock, kBlock> squares_of_sizes(std::index_sequence<Sizes...>) {
    return {square_block<Sizes + 1>...};
}
template <std::size_t... Sizes>
constexpr std::array<ClearLowWords, kReduceBlock> clears_of_sizes(std::index_sequence<Sizes...>) {
    return {clear_first_words<Sizes + 1>...};
}
// The same where the next block has as many limbs, one less, or where there is none.
template <std::size_t... Sizes>
constexpr std::array<std::array<ReduceRows, 3>, kReduceBlock> reductions_of_sizes(
    std::index_sequence<Sizes...>) {
    return {std::array<ReduceRows, 3>{reduce_rows<Sizes + 1, Sizes + 1>, reduce_rows<Sizes + 1, Sizes>,
                                      reduce_rows<Sizes + 1, 0>}...};
}

constexpr auto kSizes = std::make_index_sequence<kBlock>{};
constexpr std::array<MultiplyRows, kBlock> kRowsOnto[] = {rows_of_sizes<Onto::kNothing, Numbers>(kSizes),
                                                          rows_of_sizes<Onto::kLower, Numbers>(kSizes),
                                                          rows_of_sizes<Onto::kAll, Numbers>(kSizes)};
constexpr auto kEvenRows = rows_of_sizes<Onto::kAll, EvenNumbers>(kSizes);
constexpr auto kSquares = squares_of_sizes(kSizes);
constexpr auto kClears = clears_of_sizes(std::make_index_sequence<kReduceBlock>{});
constexpr auto kReductions = reductions_of_sizes(std::make_index_sequence<kReduceBlock>{});

// The nearly equal blocks of at most `most` limbs that `limbs` limbs are cut into, longer ones first.
class Blocks {
  public:
    Blocks(std::size_t limbs, std::size_t most)
        : count_((limbs + most - 1) / most), size_(limbs / count_), longer_(limbs % count_) {}

    std::size_t count() const { return count_; }
    std::size_t size(std::size_t i) const { return size_ + (i < longer_ ? 1 : 0); }

  private:
    std::size_t count_;
    std::size_t size_;
    std::size_t longer_;
};

void multiply_blocks(Limb* z, const Limb* a, std::size_t a_limbs, const Limb* b, std::size_t b_limbs,
                     Onto first, Onto others) {
    const Blocks blocks(a_limbs, kBlock);
    std::size_t at = 0;
    for (std::size_t i = 0; i < blocks.count(); ++i) {
        const auto& rows = kRowsOnto[static_cast<std::size_t>(i == 0 ? first : others)];
        rows[blocks.size(i) - 1](z + kLanes * at, a + kLanes * at, b, b_limbs);
        at += blocks.size(i);
    }
}

}  // namespace

void multiply(Limb* z, const Limb* a, const Limb* b, std::size_t limbs) { multiply(z, a, limbs, b, limbs); }

void multiply(Limb* z, const Limb* a, std::size_t a_limbs, const Limb* b, std::size_t b_limbs) {
    multiply_blocks(z, a, a_limbs, b, b_limbs, Onto::kNothing, Onto::kLower);
}

void multiply_onto_lower(Limb* z, const Limb* a, const Limb* b, std::size_t limbs) {
    multiply_blocks(z, a, limbs, b, limbs, Onto::kLower, Onto::kLower);
}

void multiply_onto(Limb* z, const Limb* a, const Limb* b, std::size_t limbs) {
    multiply_blocks(z, a, limbs, b, limbs, Onto::kAll, Onto::kAll);
}

void square(Limb* z, const Limb* a, std::size_t limbs, Limb* scratch) {
    const Blocks blocks(limbs, kBlock);
    std::size_t at = 0;
    for (std::size_t i = 0; i < blocks.count(); ++i) {
        kSquares[blocks.size(i) - 1](z + 2 * kLanes * at, a + kLanes * at);
        at += blocks.size(i);
    }
    if (blocks.count() == 1) return;
    // What is left: each block times twice the limbs above it. Of twice a number, the part above a limb
    // boundary is twice the limbs above it, but for the bit that comes over from below.
    twice(scratch, a, limbs);
    at = 0;
    for (std::size_t i = 0; i + 1 < blocks.count(); ++i) {
        const std::size_t size = blocks.size(i);
        const std::size_t above = at + size;
        kEvenRows[size - 1](z + kLanes * (at + above), a + kLanes * at, scratch + kLanes * above,
                            limbs - above);
        at = above;
    }
}

void reduce(Limb* t, Limb* m, const Modulus& modulus) {
    const Blocks blocks(modulus.limbs, modulus.limbs < kShortLimbs ? kShortReduceBlock : kReduceBlock);
    kClears[blocks.size(0) - 1](t, m, modulus);
    std::size_t at = 0;
    for (std::size_t i = 0; i < blocks.count(); ++i) {
        const std::size_t size = blocks.size(i);
        const std::size_t next = i + 1 == blocks.count() ? 2 : size - blocks.size(i + 1);
        kReductions[size - 1][next](t + kLanes * at, m + kLanes * at, modulus);
        at += size;
    }
}

HEKAT_IFMA void clean(Limb* z, const Limb* x, std::size_t limbs) {
    Vector carry = Vector{};
    for (std::size_t i = 0; i < limbs; ++i) {
        const Vector sum = load(x, i) + carry;
        store(z, i, sum & kLimbMask52);
        carry = sum >> kLimbBits52;
    }
}

HEKAT_IFMA void twice(Limb* z, const Limb* a, std::size_t limbs) {
    Vector below = Vector{};
    for (std::size_t i = 0; i < limbs; ++i) {
        const Vector x = load(a, i);
        store(z, i, ((x + x) & kLimbMask52) | (below >> (kLimbBits52 - 1)));
        below = x;
    }
}

HEKAT_IFMA void add(Limb* z, const Limb* x, const Limb* y, std::size_t limbs) {
    for (std::size_t i = 0; i < limbs; ++i) store(z, i, load(x, i) + load(y, i));
}

HEKAT_IFMA void subtract_from(Limb* z, const Limb* plain, const Limb* x, std::size_t limbs) {
    for (std::size_t i = 0; i < limbs; ++i) store(z, i, spread(plain[i]) - load(x, i));
}

HEKAT_IFMA void subtract_once(Limb* z, const Limb* x, const Limb* plain, Limb* taken, std::size_t limbs,
                              Limb* scratch) {
    Vector borrow = Vector{};  // 0 or 1
    for (std::size_t i = 0; i < limbs; ++i) {
        const Vector difference = load(x, i) - spread(plain[i]) - borrow;
        store(scratch, i, difference & kLimbMask52);
        borrow = difference >> (kLimbBits - 1);
    }
    const Vector keep = Vector{} - borrow;  // all ones where x < plain
    for (std::size_t i = 0; i < limbs; ++i) {
        store(z, i, (load(x, i) & keep) | (load(scratch, i) & ~keep));
    }
    store(taken, 0, 1 - borrow);
}

HEKAT_IFMA void spread(Limb* z, const Limb* x, std::size_t limbs) {
    for (std::size_t i = 0; i < limbs; ++i) store(z, i, spread(x[i]));
}

}  // namespace hekat::vector
