// Integers of 128 bits as two words, mod 2^128: compilers' own would lengthen carry chains elsewhere
// (carry.cuh).
#pragma once

#include "block.cuh"

namespace hekat {

struct Wide {
    u64 low;
    u64 high;
};

HEKAT_DEVICE Wide operator+(Wide x, Wide y) {
    const u64 low = x.low + y.low;
    return {low, x.high + y.high + (low < x.low)};
}
HEKAT_DEVICE Wide operator-(Wide x, Wide y) { return {x.low - y.low, x.high - y.high - (x.low < y.low)}; }
HEKAT_DEVICE Wide operator&(Wide x, Wide y) { return {x.low & y.low, x.high & y.high}; }
// By up to 63 bits.
HEKAT_DEVICE Wide operator<<(Wide x, u64 bits) {
    return {x.low << bits, (x.high << bits) | ((x.low >> 1) >> (63 - bits))};
}
HEKAT_DEVICE Wide operator>>(Wide x, u64 bits) {
    return {(x.low >> bits) | ((x.high << 1) << (63 - bits)), x.high >> bits};
}

HEKAT_DEVICE void set_integer(Wide& x, u64 low, u64 high) { x = {low, high}; }
HEKAT_DEVICE u64 low_word(Wide x) { return x.low; }
HEKAT_DEVICE u64 top_bit(Wide x) { return x.high >> 63; }
// x factor.
HEKAT_DEVICE Wide scale(Wide x, u64 factor) {
    return {x.low * factor, high_product(x.low, factor) + x.high * factor};
}

// The same of integers that one word holds, mod 2^64.
HEKAT_DEVICE void set_integer(u64& x, u64 low, u64) { x = low; }
HEKAT_DEVICE u64 low_word(u64 x) { return x; }
HEKAT_DEVICE u64 top_bit(u64 x) { return x >> 63; }
HEKAT_DEVICE u64 scale(u64 x, u64 factor) { return x * factor; }

}  // namespace hekat
