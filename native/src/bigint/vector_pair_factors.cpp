// Eight products of pairs by factors at a time.
#include "bigint/vector_pair_factors.hpp"

#include <algorithm>
#include <cstring>

#include "bigint/vector_pairs.hpp"

namespace hekat {

using vector::kLanes;

namespace {

// Clean limbs to a sum, so that its words stay below 2^64.
constexpr std::size_t kMostTerms = std::size_t{1} << (kLimbBits - vector::kLimbBits52);

}  // namespace

VectorPairFactors::VectorPairFactors(const VectorPairs& ring, const Constants& constants, std::size_t n_bits)
    : ring_(ring), constants_(constants), most_factors_(kMostTerms) {
    // n < 2^n_bits: 2 k n <= R for k up to 2^(spare - 1).
    const std::size_t spare = vector::kLimbBits52 * limbs() - n_bits;
    if (spare <= kLimbBits - vector::kLimbBits52) most_factors_ = std::size_t{1} << (spare - 1);
}

double VectorPairFactors::product_ns() const { return 0.8 * ring_.product_ns(); }

void VectorPairFactors::begin(Limb* z, Limb* sum, const Limb* factor) const {
    std::memcpy(z, factor, sum_words() * sizeof(Limb));
    std::memset(z + sum_words(), 0, sum_words() * sizeof(Limb));
    std::memcpy(sum, factor + sum_words(), sum_words() * sizeof(Limb));
}

void VectorPairFactors::multiply(Limb* z, Limb* sum, const Limb* factor, Limb* scratch,
                                 const Fetch& next) const {
    const std::size_t half = sum_words();
    Limb* t0 = scratch;
    Limb* t1 = t0 + 2 * half;
    Limb* m = t1 + 2 * half;
    next.part(0, 4);
    vector::multiply(t0, z, factor, limbs());
    next.part(1, 4);
    vector::reduce(t0, m, constants_.n);
    next.part(2, 4);
    vector::subtract_from(t1, constants_.lift, m, limbs());
    vector::multiply_onto_lower(t1, z + half, factor, limbs());
    next.part(3, 4);
    vector::reduce(t1, m, constants_.n);
    vector::clean(z, t0 + half, limbs());
    vector::clean(z + half, t1 + half, limbs());
    vector::add(sum, sum, factor + half, limbs());
}

void VectorPairFactors::enter_sum(Limb* sum, const Limb* const* values, std::size_t value_limbs,
                                  Limb* scratch) const {
    split_into_digits(sum, values, value_limbs, limbs(), 1, scratch);
}

void VectorPairFactors::settle(Limb* z, Limb* sum, Limb* scratch) const {
    const std::size_t half = sum_words();
    Limb* product = scratch + 3 * half;
    Limb taken[kLanes];
    vector::clean(sum, sum, limbs());
    multiply_halves(product, sum, constants_.r_squared, scratch);
    multiply_halves(product, product, z, scratch);
    vector::add(z + half, z + half, product, limbs());
    vector::clean(z + half, z + half, limbs());
    vector::subtract_once(z + half, z + half, constants_.twice_n, taken, limbs(), scratch);
    std::memset(sum, 0, half * sizeof(Limb));
}

void VectorPairFactors::make(Limb* z, const Limb* x, const Limb* inverses, Limb* scratch) const {
    // x0 is x R mod n, so its inverse is 1 / x divided by R.
    if (z != x) std::memcpy(z, x, sum_words() * sizeof(Limb));
    multiply_halves(z + sum_words(), x + sum_words(), inverses, scratch);
}

void VectorPairFactors::begin_inverses(Limb* inverses) const {
    std::memset(inverses, 0, sum_words() * sizeof(Limb));
    std::fill_n(inverses, kLanes, Limb{1});
}

void VectorPairFactors::multiply_inverses(Limb* inverses, const Limb* one_over_b, Limb* scratch) const {
    multiply_halves(inverses, inverses, one_over_b, scratch);
}

void VectorPairFactors::multiply_halves(Limb* z, const Limb* x, const Limb* y, Limb* scratch) const {
    Limb* m = scratch + 2 * sum_words();
    vector::multiply(scratch, x, y, limbs());
    vector::reduce(scratch, m, constants_.n);
    vector::clean(z, scratch + sum_words(), limbs());
}

}  // namespace hekat
