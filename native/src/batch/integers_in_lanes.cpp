// Products of unsigned integers in AVX-512 IFMA instructions, eight at a time.
#include "batch/integers_in_lanes.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include "bigint/vector_layout.hpp"
#include "bigint/vector_ring.hpp"

namespace hekat {

using vector::kLanes;

bool fit_lanes(const Items& a, const Items& b) {
    return vector::words_for(std::max(a.limbs, b.limbs)) <= vector::kMaxVectorLimbs;
}

void multiply_integers_in_lanes(ThreadPool& pool, Limb* z, const Items& a, const Items& b,
                                std::size_t count) {
    const std::size_t a_words = vector::words_for(a.limbs);
    const std::size_t b_words = vector::words_for(b.limbs);
    const std::size_t z_words = a_words + b_words;
    const std::size_t z_limbs = a.limbs + b.limbs;
    const double item_ns = 0.2 * static_cast<double>(a.limbs) * static_cast<double>(b.limbs) + 50;
    const std::size_t groups = (count + kLanes - 1) / kLanes;
    pool.run(groups, kLanes * item_ns, [&](std::size_t begin, std::size_t end) {
        SecretBuffer memory(3 * kLanes * z_words);
        Limb* left = memory.data();
        Limb* right = left + kLanes * a_words;
        Limb* product = right + kLanes * b_words;
        Limb* rows = product + kLanes * z_words;
        for (std::size_t i = begin; i < end; ++i) {
            const Group group{i * kLanes, std::min(kLanes, count - i * kLanes), kLanes};
            split_into_digits(left, group.reads(a).data(), a.limbs, a_words, 1, rows);
            if (i == begin || !b.is_one) {
                split_into_digits(right, group.reads(b).data(), b.limbs, b_words, 1, rows);
            }
            vector::multiply(product, left, a_words, right, b_words);
            vector::clean(product, product, z_words);
            join_lanes(group.writes(z, z_limbs).data(), z_limbs, product, z_words, rows);
        }
    });
}

}  // namespace hekat

#else

namespace hekat {

bool fit_lanes(const Items&, const Items&) { return false; }

void multiply_integers_in_lanes(ThreadPool&, Limb*, const Items&, const Items&, std::size_t) {}

}  // namespace hekat

#endif
