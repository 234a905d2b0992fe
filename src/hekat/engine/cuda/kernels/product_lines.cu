// Products of many residues: each group multiplies one line of them through, without correcting anything in
// between.
#include "residue.cuh"

using namespace hekat;

// out[i] = the product of a[members[k]] for k from offsets[i] to offsets[i + 1] - 1; an empty one is 1.
HEKAT_KERNEL(kBlockThreads)
product_lines(u32* out, const u32* a, const i64* members, const i64* offsets, u64 count,
              const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const bool is_in = group_index() < count;
    const u64 index = is_in ? group_index() : count - 1;
    const i64 end = offsets[index + 1];
    i64 at = offsets[index];
    Residue product = load_power_of_r(modulus, 1);
    if (at < end) product = load_residue(a + members[at] * kRowWords);
    // Lines of unequal length: the groups of a warp stay together until the longest of theirs is through.
#pragma unroll 1
    for (++at; any_in_warp(at < end); ++at) {
        Residue next = product;
        if (at < end) next = load_residue(a + members[at] * kRowWords);
        multiply(next, product, next, modulus);
        select_residue(product, at < end, next, product);
    }
    if (is_in) store_residue(out + index * kRowWords, product);
}
HEKAT_GROUP_KERNEL(product_lines)
