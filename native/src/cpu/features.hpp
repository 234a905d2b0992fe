// The paths native arithmetic can take, and what this processor and its system have of what each needs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace hekat {

// Slowest first; each needs all that the ones before it need.
enum class CpuPath { kPortable, kX86, kIfma };

inline constexpr CpuPath kCpuPaths[] = {CpuPath::kPortable, CpuPath::kX86, CpuPath::kIfma};

// "portable", "x86", "ifma".
const char* name_of(CpuPath path);
std::optional<CpuPath> path_named(std::string_view name);

// True where this build holds the path's code.
bool is_built(CpuPath path);

// What the path needs and this processor, or its operating system, lacks; empty: nothing.
std::vector<const char*> lacks_for(CpuPath path);

// True where the path can be taken here: built, and nothing lacks.
bool can_take(CpuPath path);

// The fastest path that can be taken here.
CpuPath fastest_path();

}  // namespace hekat
