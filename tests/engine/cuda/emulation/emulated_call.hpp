// How the emulation calls a kernel: parameters come as 64-bit words and are turned into pointers and numbers.
#pragma once

#include <cstddef>
#include <utility>

namespace hekat {

template <class... Parameters, std::size_t... I>
inline void call_kernel(void (*kernel)(Parameters...), const u64* parameters, std::index_sequence<I...>) {
    kernel((Parameters)parameters[I]...);
}

}  // namespace hekat
