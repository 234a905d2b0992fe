// Words, and the macros by which one source is a kernel for the GPU and a function for the emulation.
#pragma once

#if defined(__CUDACC__)
#define HEKAT_DEVICE __device__ __forceinline__
// A kernel whose blocks have at most `threads` threads, 256 or fewer. All parameters are pointers or u64.
//
// The compiler is not told of them: it would spill a word or two to get down to a number of registers that
// one block more could run with. Blocks of 256 threads run with whatever it takes, 255 registers at most.
#define HEKAT_KERNEL(threads) extern "C" __global__ void
// Only the emulation needs to be told of a kernel by name.
#define HEKAT_GROUP_KERNEL(name)
#define HEKAT_BLOCK_KERNEL(name)
#else
#define HEKAT_DEVICE inline
#define HEKAT_KERNEL(threads) static void
#define HEKAT_GROUP_KERNEL(name) HEKAT_EMULATED_GROUP_KERNEL(name)
#define HEKAT_BLOCK_KERNEL(name) HEKAT_EMULATED_BLOCK_KERNEL(name)
#endif

namespace hekat {

using u8 = unsigned char;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;

static_assert(sizeof(u32) == 4 && sizeof(u64) == 8, "words of 32 and 64 bits");

// Threads of a block in kernels that work in groups.
constexpr int kBlockThreads = 128;

}  // namespace hekat
