// What products modulo n need: n, and the powers of R modulo n or n^2. One group.
#include "residue.cuh"

using namespace hekat;

// constants: out, kWords + kPowers * kRowWords words; the first kWords of them, n, are there already.
//
// R and R^2 come from doubling 1: slower than dividing, but it shows nothing of n, which may be secret.
HEKAT_KERNEL(kBlockThreads) modulus_constants(u32* constants) {
    const ModulusConstants modulus = load_constants(constants);
    const bool is_first = group_index() == 0;
    u32* powers = constants + kWords;
    Residue power;
#pragma unroll
    for (int half = 0; half < kHalves; ++half) set_word(power.limbs + half * kLimbs, half == 0);
    Residue r_squared;
    for (int i = 1; i <= kPowers; ++i) {
        if (i <= 2) {
            for (int bit = 0; bit < 32 * kWords; ++bit) add_residues(power, power, power, modulus);
            r_squared = power;
        } else {
            multiply(power, power, r_squared, modulus);
        }
        if (is_first) store_residue(powers + (i - 1) * kRowWords, power);
    }
}
HEKAT_GROUP_KERNEL(modulus_constants)
