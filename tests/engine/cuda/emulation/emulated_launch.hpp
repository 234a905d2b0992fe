// How the emulation runs a kernel of groups: group after group.
#pragma once

#include "emulated_call.hpp"

namespace hekat {

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
