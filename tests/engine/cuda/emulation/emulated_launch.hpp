// How the emulation runs a kernel: parameters come as 64-bit words and are turned into pointers and numbers.
#pragma once

#include <utility>

namespace hekat {

template <class... Parameters, std::size_t... I>
inline void call_kernel(void (*kernel)(Parameters...), const u64* parameters, std::index_sequence<I...>) {
    kernel((Parameters)parameters[I]...);
}

template <class... Parameters>
inline void run_groups(void (*kernel)(Parameters...), u64 group_count, const u64* parameters) {
    for (u64 group = 0; group < group_count; ++group) {
        emulated_group = group;
        call_kernel(kernel, parameters, std::index_sequence_for<Parameters...>());
    }
}

}  // namespace hekat

#define HEKAT_EMULATED_GROUP_KERNEL(name)                                         \
    extern "C" void run_##name(hekat::u64 group_count, const hekat::u64* words) { \
        hekat::run_groups(&name, group_count, words);                             \
    }
