// The choice of a ring: pairs where the root of the modulus is known and worth it, one number elsewhere.
#include "bigint/make_ring.hpp"

#include "bigint/montgomery_pairs.hpp"
#include "bigint/tile.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include "bigint/vector_montgomery.hpp"
#include "bigint/vector_pairs.hpp"
#endif

namespace hekat {

std::unique_ptr<ResidueRing> make_ring(const Limb* n, std::size_t limb_count, const Limb* root,
                                       std::size_t root_limbs, CpuPath path) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (path == CpuPath::kIfma) {
        if (root != nullptr) return std::make_unique<VectorPairs>(root, root_limbs, limb_count);
        return std::make_unique<VectorMontgomery>(n, limb_count);
    }
#endif
    const TileKernels& kernels = tile_kernels(path);
    if (root != nullptr && MontgomeryPairs::serve(limb_count, root_limbs)) {
        return std::make_unique<MontgomeryPairs>(root, root_limbs, kernels);
    }
    return std::make_unique<Montgomery>(n, limb_count, kernels);
}

}  // namespace hekat
