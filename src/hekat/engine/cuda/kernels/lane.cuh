// The words that the threads of a group hold, and what they tell each other: on the GPU, or emulated by a
// compiler.
//
// A group of kThreads threads of one warp works on one number. A Lane is one 32-bit word of every thread of
// the group. On the GPU it is a uint32_t, each thread having its own; emulated it is an array of kThreads
// words, worked on in lockstep. Control flow is uniform over the warp, and what is the same in all threads of
// a group is a plain u32: so the emulation is exact.
//
// Compile options: HEKAT_THREADS (threads of a group: 1, 2, 4, 8, 16 or 32) and HEKAT_LIMBS (32-bit limbs
// that each thread holds of a number: even).
#pragma once

#include "words.cuh"

#ifndef HEKAT_THREADS
#define HEKAT_THREADS 1
#endif
#ifndef HEKAT_LIMBS
#define HEKAT_LIMBS 2
#endif

namespace hekat {

constexpr int kThreads = HEKAT_THREADS;
constexpr int kLimbs = HEKAT_LIMBS;
// 32-bit words of a number: R = 2^(32 kWords).
constexpr int kWords = kThreads * kLimbs;

static_assert(kThreads >= 1 && kThreads <= 32 && (kThreads & (kThreads - 1)) == 0,
              "a group is part of a warp");
static_assert(kLimbs >= 2 && kLimbs % 2 == 0, "products come in pairs of columns");

}  // namespace hekat

#if defined(__CUDACC__)
#include "lane_on_device.cuh"
#else
#include HEKAT_EMULATED_LANE
#endif
