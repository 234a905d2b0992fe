// Asks the processor (cpuid) and the operating system (xgetbv) once.
#include "cpu/features.hpp"

namespace hekat {
namespace {

// What cpuid's leaf 7 says in two of its registers, and which registers the system keeps for a process
// (xcr0).
struct Processor {
    unsigned int leaf7_b = 0;
    unsigned int leaf7_c = 0;
    unsigned int kept_state = 0;
};

#if defined(__x86_64__) && defined(__GNUC__)

constexpr bool kIsX86 = true;

struct CpuidRegisters {
    unsigned int a;
    unsigned int b;
    unsigned int c;
    unsigned int d;
};

CpuidRegisters cpuid(unsigned int leaf) {
    CpuidRegisters found{leaf, 0, 0, 0};
    __asm__ volatile("cpuid" : "+a"(found.a), "=b"(found.b), "+c"(found.c), "=d"(found.d));
    return found;
}

Processor examine() {
    constexpr unsigned int kOsxsave = 1U << 27;
    Processor found;
    if (cpuid(0).a < 7) return found;
    const CpuidRegisters leaf7 = cpuid(7);
    found.leaf7_b = leaf7.b;
    found.leaf7_c = leaf7.c;
    if ((cpuid(1).c & kOsxsave) != 0) {
        unsigned int high = 0;
        __asm__ volatile("xgetbv" : "=a"(found.kept_state), "=d"(high) : "c"(0));
    }
    return found;
}

#else

constexpr bool kIsX86 = false;

Processor examine() { return {}; }

#endif

// One thing a path needs: all bits of `bits` in one of the processor's words.
struct Need {
    CpuPath path;
    const char* name;
    unsigned int Processor::* word;
    unsigned int bits;
};

constexpr Need kNeeds[] = {
    {CpuPath::kX86, "avx2", &Processor::leaf7_b, 1U << 5},
    {CpuPath::kX86, "bmi2", &Processor::leaf7_b, 1U << 8},
    {CpuPath::kX86, "adx", &Processor::leaf7_b, 1U << 19},
    {CpuPath::kX86, "ymm registers kept by the system", &Processor::kept_state, 0x06},
    {CpuPath::kIfma, "avx512f", &Processor::leaf7_b, 1U << 16},
    {CpuPath::kIfma, "avx512dq", &Processor::leaf7_b, 1U << 17},
    {CpuPath::kIfma, "avx512bw", &Processor::leaf7_b, 1U << 30},
    {CpuPath::kIfma, "avx512vl", &Processor::leaf7_b, 1U << 31},
    {CpuPath::kIfma, "avx512ifma", &Processor::leaf7_b, 1U << 21},
    {CpuPath::kIfma, "avx512vbmi", &Processor::leaf7_c, 1U << 1},
    {CpuPath::kIfma, "avx512vpopcntdq", &Processor::leaf7_c, 1U << 14},
    {CpuPath::kIfma, "zmm registers kept by the system", &Processor::kept_state, 0xe6},
};

}  // namespace

const char* name_of(CpuPath path) {
    switch (path) {
        case CpuPath::kPortable:
            return "portable";
        case CpuPath::kX86:
            return "x86";
        case CpuPath::kIfma:
            return "ifma";
    }
    return "";
}

std::optional<CpuPath> path_named(std::string_view name) {
    for (const CpuPath path : kCpuPaths) {
        if (name == name_of(path)) return path;
    }
    return std::nullopt;
}

bool is_built(CpuPath path) {
    switch (path) {
        case CpuPath::kPortable:
            return true;
        case CpuPath::kX86:
        case CpuPath::kIfma:
            return kIsX86;
    }
    return false;
}

std::vector<const char*> lacks_for(CpuPath path) {
    static const Processor processor = examine();
    std::vector<const char*> lacking;
    for (const Need& need : kNeeds) {
        if (need.path <= path && (processor.*need.word & need.bits) != need.bits)
            lacking.push_back(need.name);
    }
    return lacking;
}

bool can_take(CpuPath path) { return is_built(path) && lacks_for(path).empty(); }

CpuPath fastest_path() {
    CpuPath fastest = CpuPath::kPortable;
    for (const CpuPath path : kCpuPaths) {
        if (can_take(path)) fastest = path;
    }
    return fastest;
}

}  // namespace hekat
