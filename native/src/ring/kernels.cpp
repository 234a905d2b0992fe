// The table of each path.
#include "ring/kernels.hpp"

#include "ring/portable.hpp"
#if defined(__x86_64__) && defined(__GNUC__)
#include "ring/vectors.hpp"
#endif

namespace hekat::ring {

const Kernels& kernels_of([[maybe_unused]] CpuPath path) {
    static constexpr Kernels kPortable{portable::key_stream,
                                       portable::sample_uniform,
                                       portable::sample_cbd,
                                       portable::keep_tries,
                                       portable::transform,
                                       portable::transform_first,
                                       portable::take_residues,
                                       portable::invert_transform,
                                       portable::invert_product,
                                       portable::add,
                                       portable::subtract,
                                       portable::multiply,
                                       portable::drop_prime,
                                       portable::find_quotients,
                                       portable::pack,
                                       portable::unpack,
                                       portable::unpack_onto,
                                       portable::mask,
                                       portable::round_sums,
                                       portable::unmask,
                                       1,
                                       portable::take_slice,
                                       portable::transform_plaintext,
                                       portable::add_products,
                                       portable::put_slice,
                                       portable::add_windows,
                                       portable::reduce,
                                       portable::invert_first,
                                       portable::add_terms,
                                       portable::reduce_terms,
                                       64,
                                       portable::floor_fractions};
#if defined(__x86_64__) && defined(__GNUC__)
    static constexpr Kernels kVectors{vectors::key_stream,
                                      vectors::sample_uniform,
                                      vectors::sample_cbd,
                                      vectors::keep_tries,
                                      vectors::transform,
                                      vectors::transform_first,
                                      vectors::take_residues,
                                      vectors::invert_transform,
                                      vectors::invert_product,
                                      vectors::add,
                                      vectors::subtract,
                                      vectors::multiply,
                                      vectors::drop_prime,
                                      vectors::find_quotients,
                                      vectors::pack,
                                      vectors::unpack,
                                      vectors::unpack_onto,
                                      vectors::mask,
                                      vectors::round_sums,
                                      vectors::unmask,
                                      kBinSlices,
                                      vectors::take_slice,
                                      vectors::transform_plaintext,
                                      vectors::add_products,
                                      vectors::put_slice,
                                      vectors::add_windows,
                                      vectors::reduce,
                                      vectors::invert_first,
                                      vectors::add_terms,
                                      vectors::reduce_terms,
                                      52,
                                      vectors::floor_fractions};
    if (path == CpuPath::kIfma) return kVectors;
#endif
    return kPortable;
}

}  // namespace hekat::ring
