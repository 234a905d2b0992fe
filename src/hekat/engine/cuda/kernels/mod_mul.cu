// Products of residues, one by one.
#include "residue.cuh"

using namespace hekat;

// out[i out_step] = a[i a_step] b[i b_step] for i below count; a step is in residues, 0 where one serves all.
HEKAT_KERNEL(kBlockThreads)
mod_mul(u32* out, u64 out_step, const u32* a, u64 a_step, const u32* b, u64 b_step, u64 count,
        const u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const bool is_in = group_index() < count;
    const u64 index = is_in ? group_index() : count - 1;
    Residue x = load_residue(a + index * a_step * kRowWords);
    const Residue y = load_residue(b + index * b_step * kRowWords);
    multiply(x, x, y, modulus);
    if (is_in) store_residue(out + index * out_step * kRowWords, x);
}
HEKAT_GROUP_KERNEL(mod_mul)
