// The multiply-add loops: blocks of up to ten limbs of one factor in registers, a window of sums that slides along the
// other.
#include "bigint/vector_kernels.hpp"

#include <utility>

#include "bigint/vector.hpp"

namespace hekat::vector {
namespace {

// Limbs of a factor that stay in registers: ten, ten sums and two limbs of the other factor take 22 of 32.
constexpr std::size_t kBlock = 10;

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

// The state of a factor that slides past K limbs x: before step j slot (k + j) % K of the window is word j + k of z;
// the step adds the low halves of x_k b_j and the high halves of x_k b_(j-1). Word j is then complete and goes to z,
// and its slot takes word j + K.
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

// One block of a reduction: t += m n 2^0 for the K limbs m that clear t's K lowest words. t has n.limbs + K words.
template <std::size_t K>
HEKAT_IFMA void reduce_rows(Limb* t, Limb* m_limbs, const Modulus& modulus) {
    const Number n{modulus.n};
    const Vector n_inverse = spread(modulus.n_inverse);
    const Vector zero{};
    Slide<K, Onto::kAll, Number> state{t, n, modulus.limbs, K, n[0], {}, {}};
    Vector(&m)[K] = state.x;
    Vector low[K];
#pragma GCC unroll 10
    for (std::size_t k = 0; k < K; ++k) low[k] = load(t, k);
    Vector carry = zero;
#pragma GCC unroll 10
    for (std::size_t r = 0; r < K; ++r) {
        low[r] += carry;
        m[r] = add_low(zero, low[r], n_inverse);
        store(m_limbs, r, m[r]);
        // low_r + lo(m_r n_0) is a multiple of 2^52: its carry is known before the product.
        carry = (low[r] + kLimbMask52) >> kLimbBits52;
#pragma GCC unroll 10
        for (std::size_t s = r + 1; s < K; ++s) {
            low[s] = add_low(low[s], m[r], n[s - r]);
            if (s == r + 1) {
                carry = add_high(carry, m[r], n[0]);
            } else {
                low[s] = add_high(low[s], m[r], n[s - r - 1]);
            }
        }
    }
    Vector(&window)[K] = state.window;
#pragma GCC unroll 10
    for (std::size_t k = 0; k < K; ++k) window[k] = load(t, K + k);
    window[0] += carry;
#pragma GCC unroll 10
    for (std::size_t j = 1; j < K; ++j) {
        const Vector current = n[j];
#pragma GCC unroll 10
        for (std::size_t k = K - j; k < K; ++k) {
            window[j + k - K] = add_low(window[j + k - K], m[k], current);
            window[j + k - K] = add_high(window[j + k - K], m[k], state.previous);
        }
        state.previous = current;
    }
    slide<K>(state);
}

// Calls Work<K>::run for a size K <= kBlock known at run time.
template <template <std::size_t> class Work, typename... Arguments, std::size_t... Sizes>
void run_one_of(std::size_t size, std::index_sequence<Sizes...>, Arguments... arguments) {
    ((size == Sizes + 1 ? Work<Sizes + 1>::run(arguments...) : void()), ...);
}

template <template <std::size_t> class Work, typename... Arguments>
void run_block(std::size_t size, Arguments... arguments) {
    run_one_of<Work>(size, std::make_index_sequence<kBlock>{}, arguments...);
}

template <std::size_t K>
struct MultiplyRows {
    static void run(Limb* z, const Limb* x, const Limb* b, std::size_t count, Onto onto) {
        const Numbers factor{b};
        if (onto == Onto::kNothing) multiply_rows<K, Onto::kNothing>(z, x, factor, count);
        if (onto == Onto::kLower) multiply_rows<K, Onto::kLower>(z, x, factor, count);
        if (onto == Onto::kAll) multiply_rows<K, Onto::kAll>(z, x, factor, count);
    }
};
template <std::size_t K>
struct MultiplyEvenRows {
    static void run(Limb* z, const Limb* x, const Limb* b, std::size_t count) {
        multiply_rows<K, Onto::kAll>(z, x, EvenNumbers{b}, count);
    }
};
template <std::size_t K>
struct SquareBlock {
    static void run(Limb* z, const Limb* x) { square_block<K>(z, x); }
};
template <std::size_t K>
struct ReduceRows {
    static void run(Limb* t, Limb* m, const Modulus* modulus) { reduce_rows<K>(t, m, *modulus); }
};

// The nearly equal blocks that `limbs` limbs are cut into.
class Blocks {
  public:
    explicit Blocks(std::size_t limbs)
        : count_((limbs + kBlock - 1) / kBlock), size_(limbs / count_), longer_(limbs % count_) {}

    std::size_t count() const { return count_; }
    std::size_t size(std::size_t i) const { return size_ + (i < longer_ ? 1 : 0); }

  private:
    std::size_t count_;
    std::size_t size_;
    std::size_t longer_;
};

void multiply_blocks(Limb* z, const Limb* a, const Limb* b, std::size_t limbs, Onto first, Onto others) {
    const Blocks blocks(limbs);
    std::size_t at = 0;
    for (std::size_t i = 0; i < blocks.count(); ++i) {
        run_block<MultiplyRows>(blocks.size(i), z + kLanes * at, a + kLanes * at, b, limbs, i == 0 ? first : others);
        at += blocks.size(i);
    }
}

}  // namespace

void multiply(Limb* z, const Limb* a, const Limb* b, std::size_t limbs) {
    multiply_blocks(z, a, b, limbs, Onto::kNothing, Onto::kLower);
}

void multiply_onto_lower(Limb* z, const Limb* a, const Limb* b, std::size_t limbs) {
    multiply_blocks(z, a, b, limbs, Onto::kLower, Onto::kLower);
}

void multiply_onto(Limb* z, const Limb* a, const Limb* b, std::size_t limbs) {
    multiply_blocks(z, a, b, limbs, Onto::kAll, Onto::kAll);
}

void square(Limb* z, const Limb* a, std::size_t limbs, Limb* scratch) {
    const Blocks blocks(limbs);
    std::size_t at = 0;
    for (std::size_t i = 0; i < blocks.count(); ++i) {
        run_block<SquareBlock>(blocks.size(i), z + 2 * kLanes * at, a + kLanes * at);
        at += blocks.size(i);
    }
    if (blocks.count() == 1) return;
    // What is left: each block times twice the limbs above it. Of twice a number, the part above a limb boundary is
    // twice the limbs above it, but for the bit that comes over from below.
    twice(scratch, a, limbs);
    at = 0;
    for (std::size_t i = 0; i + 1 < blocks.count(); ++i) {
        const std::size_t size = blocks.size(i);
        run_block<MultiplyEvenRows>(size, z + kLanes * (2 * at + size), a + kLanes * at,
                                    scratch + kLanes * (at + size), limbs - at - size);
        at += size;
    }
}

void reduce(Limb* t, Limb* m, const Modulus& modulus) {
    const Blocks blocks(modulus.limbs);
    std::size_t at = 0;
    for (std::size_t i = 0; i < blocks.count(); ++i) {
        run_block<ReduceRows>(blocks.size(i), t + kLanes * at, m + kLanes * at, &modulus);
        at += blocks.size(i);
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
