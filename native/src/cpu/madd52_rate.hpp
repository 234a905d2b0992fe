// How fast this processor multiplies and adds 52-bit words: what the vector path's speed is measured against.
#pragma once

namespace hekat {

// 512-bit vpmadd52 instructions a nanosecond of the calling thread's processor time, the best of five
// measurements; about 50 ms. 0 where the processor or the build has no AVX-512 IFMA.
double madd52_per_ns();

}  // namespace hekat
