// Products of residues, one by one.
#include "residue.cuh"

using namespace hekat;

// out[i] = a[i a_step] b[i b_step] for i below count; a step is 1, or 0 where one residue serves all.
HEKAT_KERNEL(kBlockThreads)
mod_mul(u32* out, const u32* a, u64 a_step, const u32* b, u64 b_step, u64 count, const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const u64 index = group_index() < count ? group_index() : count - 1;
    Residue x = load_residue(a + index * a_step * kRowWords);
    const Residue y = load_residue(b + index * b_step * kRowWords);
    multiply(x, x, y, modulus);
    if (group_index() < count) store_residue(out + index * kRowWords, x);
}
HEKAT_GROUP_KERNEL(mod_mul)
