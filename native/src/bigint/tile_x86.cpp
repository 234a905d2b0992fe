// Tile products with mulx and the two carry chains of adcx and adox; selection with AVX2.
#include "bigint/tile.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <cstring>

namespace hekat {
namespace {

// The window of eight limbs w0..w7 += rdx * a; w0 is then finished (STORE) and its register takes the new top
// limb. Each low word goes down the carry flag's chain, each high word down the overflow flag's.
#define HEKAT_STEP(i, low, high) \
    "mulxq " #i                  \
    "*8(%[a]), %%rax, %%rbx\n\t" \
    "adcxq %%rax, %%" #low       \
    "\n\t"                       \
    "adoxq %%rbx, %%" #high "\n\t"

#define HEKAT_ROW(STORE, w0, w1, w2, w3, w4, w5, w6, w7)                                            \
    "xorl %%eax, %%eax\n\t" HEKAT_STEP(0, w0, w1) STORE HEKAT_STEP(1, w1, w2) HEKAT_STEP(2, w2, w3) \
        HEKAT_STEP(3, w3, w4) HEKAT_STEP(4, w4, w5) HEKAT_STEP(5, w5, w6)                           \
            HEKAT_STEP(6, w6, w7) "mulxq 7*8(%[a]), %%rax, %%" #w0                                  \
                                  "\n\t"                                                            \
                                  "movl $0, %%ebx\n\t"                                              \
                                  "adcxq %%rax, %%" #w7                                             \
                                  "\n\t"                                                            \
                                  "adoxq %%rbx, %%" #w0                                             \
                                  "\n\t"                                                            \
                                  "adcxq %%rbx, %%" #w0 "\n\t"

#define HEKAT_MULTIPLY(j, w0, ...) \
    "movq " #j "*8(%[b]), %%rdx\n\t" HEKAT_ROW("movq %%" #w0 ", " #j "*8(%[z])\n\t", w0, __VA_ARGS__)

#define HEKAT_REDUCE(j, w0, ...)   \
    "movq %[n_inverse], %%rdx\n\t" \
    "imulq %%" #w0                 \
    ", %%rdx\n\t"                  \
    "movq %%rdx, " #j "*8(%[m])\n\t" HEKAT_ROW("", w0, __VA_ARGS__)

// Eight rows; the window's registers come round to where they began.
#define HEKAT_EIGHT(KIND)                         \
    KIND(0, r8, r9, r10, r11, r12, r13, r14, r15) \
    KIND(1, r9, r10, r11, r12, r13, r14, r15, r8) \
    KIND(2, r10, r11, r12, r13, r14, r15, r8, r9) \
    KIND(3, r11, r12, r13, r14, r15, r8, r9, r10) \
    KIND(4, r12, r13, r14, r15, r8, r9, r10, r11) \
    KIND(5, r13, r14, r15, r8, r9, r10, r11, r12) \
    KIND(6, r14, r15, r8, r9, r10, r11, r12, r13) \
    KIND(7, r15, r8, r9, r10, r11, r12, r13, r14)

#define HEKAT_LOAD(from) \
    "movq 0*8(" from     \
    "), %%r8\n\t"        \
    "movq 1*8(" from     \
    "), %%r9\n\t"        \
    "movq 2*8(" from     \
    "), %%r10\n\t"       \
    "movq 3*8(" from     \
    "), %%r11\n\t"       \
    "movq 4*8(" from     \
    "), %%r12\n\t"       \
    "movq 5*8(" from     \
    "), %%r13\n\t"       \
    "movq 6*8(" from     \
    "), %%r14\n\t"       \
    "movq 7*8(" from "), %%r15\n\t"

#define HEKAT_STORE(to)   \
    "movq %%r8, 0*8(" to  \
    ")\n\t"               \
    "movq %%r9, 1*8(" to  \
    ")\n\t"               \
    "movq %%r10, 2*8(" to \
    ")\n\t"               \
    "movq %%r11, 3*8(" to \
    ")\n\t"               \
    "movq %%r12, 4*8(" to \
    ")\n\t"               \
    "movq %%r13, 5*8(" to \
    ")\n\t"               \
    "movq %%r14, 6*8(" to \
    ")\n\t"               \
    "movq %%r15, 7*8(" to ")\n\t"

#define HEKAT_WINDOW "rax", "rbx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory"

void multiply_row(Limb* z, Limb* w, const Limb* a, const Limb* b, std::size_t tiles) {
    if (tiles == 0) return;
    // Beside the window: the carry of window + z, worth 1 at the start of the next tile; window + carry <
    // 2^512.
    Limb carry = 0;
    __asm__ volatile(
        "movq %[w], %%rax\n\t"
        HEKAT_LOAD("%%rax")
        "1:\n\t"
        "xorl %%eax, %%eax\n\t"
        "subq %[carry], %%rax\n\t"  // carry flag = carry
        "adcq 0*8(%[z]), %%r8\n\t"
        "adcq 1*8(%[z]), %%r9\n\t"
        "adcq 2*8(%[z]), %%r10\n\t"
        "adcq 3*8(%[z]), %%r11\n\t"
        "adcq 4*8(%[z]), %%r12\n\t"
        "adcq 5*8(%[z]), %%r13\n\t"
        "adcq 6*8(%[z]), %%r14\n\t"
        "adcq 7*8(%[z]), %%r15\n\t"
        "movl $0, %%eax\n\t"
        "adcq $0, %%rax\n\t"
        "movq %%rax, %[carry]\n\t"
        HEKAT_EIGHT(HEKAT_MULTIPLY)
        "addq $64, %[z]\n\t"
        "addq $64, %[b]\n\t"
        "decq %[tiles]\n\t"
        "jnz 1b\n\t"
        "addq %[carry], %%r8\n\t"
        "adcq $0, %%r9\n\t"
        "adcq $0, %%r10\n\t"
        "adcq $0, %%r11\n\t"
        "adcq $0, %%r12\n\t"
        "adcq $0, %%r13\n\t"
        "adcq $0, %%r14\n\t"
        "adcq $0, %%r15\n\t"
        "movq %[w], %%rax\n\t"
        HEKAT_STORE("%%rax")
        : [z] "+r"(z), [b] "+r"(b), [tiles] "+m"(tiles), [carry] "+m"(carry)
        : [a] "r"(a), [w] "m"(w)
        : HEKAT_WINDOW);
}

void reduce_tile(Limb* m, Limb* w, const Limb* z, const Limb* n, Limb n_inverse) {
    __asm__ volatile(HEKAT_LOAD("%[z]") HEKAT_EIGHT(HEKAT_REDUCE) "movq %[w], %%rax\n\t" HEKAT_STORE("%%rax")
                     :
                     : [m] "r"(m), [w] "m"(w), [z] "r"(z), [a] "r"(n), [n_inverse] "m"(n_inverse)
                     : HEKAT_WINDOW);
}

// Register of limb k of a triangle, counted round: limbs 1..8 are r8..r15.
#define HEKAT_TRIANGLE_FIRST(j, low, high)  \
    "mulxq " #j "*8(%[a]), %%rax, %%" #high \
    "\n\t"                                  \
    "adcxq %%rax, %%" #low "\n\t"

// One row of the triangle: its first product ends the two lowest limbs of the window, which are stored.
#define HEKAT_TRIANGLE_ROW(i, STEPS, k0, w0, k1, w1, top) \
    "movq " #i                                            \
    "*8(%[a]), %%rdx\n\t"                                 \
    "xorl %%eax, %%eax\n\t" STEPS                         \
    "movl $0, %%eax\n\t"                                  \
    "adoxq %%rax, %%" #top                                \
    "\n\t"                                                \
    "adcxq %%rax, %%" #top                                \
    "\n\t"                                                \
    "movq %%" #w0 ", " #k0                                \
    "*8(%[z])\n\t"                                        \
    "movq %%" #w1 ", " #k1 "*8(%[z])\n\t"

// The last product of a row: its high word opens the limb above the window.
#define HEKAT_TRIANGLE_LAST(low, top) \
    "mulxq 7*8(%[a]), %%rax, %%" #top \
    "\n\t"                            \
    "adcxq %%rax, %%" #low "\n\t"

void multiply_triangle(Limb* z, const Limb* a) {
    __asm__ volatile(
        "movq 0*8(%[a]), %%rdx\n\t"
        "xorl %%ebx, %%ebx\n\t"
        "movq %%rbx, 0*8(%[z])\n\t"
        "mulxq 1*8(%[a]), %%r8, %%r9\n\t"
        HEKAT_TRIANGLE_FIRST(2, r9, r10)
        HEKAT_TRIANGLE_FIRST(3, r10, r11)
        HEKAT_TRIANGLE_FIRST(4, r11, r12)
        HEKAT_TRIANGLE_FIRST(5, r12, r13)
        HEKAT_TRIANGLE_FIRST(6, r13, r14)
        HEKAT_TRIANGLE_FIRST(7, r14, r15)
        "adcxq %%rbx, %%r15\n\t"
        "movq %%r8, 1*8(%[z])\n\t"
        "movq %%r9, 2*8(%[z])\n\t"
        // Window from here: limbs 3..8 in r10..r15; each row shortens it below by two and opens one above.
        HEKAT_TRIANGLE_ROW(1,
                           HEKAT_STEP(2, r10, r11) HEKAT_STEP(3, r11, r12) HEKAT_STEP(4, r12, r13)
                           HEKAT_STEP(5, r13, r14) HEKAT_STEP(6, r14, r15) HEKAT_TRIANGLE_LAST(r15, r8),
                           3, r10, 4, r11, r8)
        HEKAT_TRIANGLE_ROW(2,
                           HEKAT_STEP(3, r12, r13) HEKAT_STEP(4, r13, r14) HEKAT_STEP(5, r14, r15)
                           HEKAT_STEP(6, r15, r8) HEKAT_TRIANGLE_LAST(r8, r9),
                           5, r12, 6, r13, r9)
        HEKAT_TRIANGLE_ROW(3,
                           HEKAT_STEP(4, r14, r15) HEKAT_STEP(5, r15, r8) HEKAT_STEP(6, r8, r9)
                           HEKAT_TRIANGLE_LAST(r9, r10),
                           7, r14, 8, r15, r10)
        HEKAT_TRIANGLE_ROW(4, HEKAT_STEP(5, r8, r9) HEKAT_STEP(6, r9, r10) HEKAT_TRIANGLE_LAST(r10, r11), 9, r8, 10,
                           r9, r11)
        HEKAT_TRIANGLE_ROW(5, HEKAT_STEP(6, r10, r11) HEKAT_TRIANGLE_LAST(r11, r12), 11, r10, 12, r11, r12)
        HEKAT_TRIANGLE_ROW(6, HEKAT_TRIANGLE_LAST(r12, r13), 13, r12, 14, r13, r13)
        "movq $0, 15*8(%[z])\n\t"
        :
        : [z] "r"(z), [a] "r"(a)
        : HEKAT_WINDOW);
}

// Limbs 2k and 2k + 1: doubled down the carry flag's chain, the square added down the overflow flag's.
#define HEKAT_SQUARE(k)           \
    "movq " #k                    \
    "*8(%[a]), %%rdx\n\t"         \
    "mulxq %%rdx, %%r8, %%r9\n\t" \
    "movq 2*" #k                  \
    "*8(%[z]), %%rax\n\t"         \
    "movq 2*" #k                  \
    "*8+8(%[z]), %%rbx\n\t"       \
    "adcxq %%rax, %%rax\n\t"      \
    "adoxq %%r8, %%rax\n\t"       \
    "adcxq %%rbx, %%rbx\n\t"      \
    "adoxq %%r9, %%rbx\n\t"       \
    "movq %%rax, 2*" #k           \
    "*8(%[z])\n\t"                \
    "movq %%rbx, 2*" #k "*8+8(%[z])\n\t"

void double_and_add_squares(Limb* z, const Limb* a, std::size_t tiles) {
    if (tiles == 0) return;
    // Neither lea nor jrcxz changes a flag, so both chains run on through the loop.
    __asm__ volatile(
        "xorl %%eax, %%eax\n\t"
        "1:\n\t"
        HEKAT_SQUARE(0) HEKAT_SQUARE(1) HEKAT_SQUARE(2) HEKAT_SQUARE(3)
        HEKAT_SQUARE(4) HEKAT_SQUARE(5) HEKAT_SQUARE(6) HEKAT_SQUARE(7)
        "leaq 64(%[a]), %[a]\n\t"
        "leaq 128(%[z]), %[z]\n\t"
        "leaq -1(%%rcx), %%rcx\n\t"
        "jrcxz 2f\n\t"
        "jmp 1b\n\t"
        "2:\n\t"
        : [z] "+r"(z), [a] "+r"(a), "+c"(tiles)
        :
        : "rax", "rbx", "rdx", "r8", "r9", "cc", "memory");
}

#define HEKAT_ADDITIVE(OP, k)                  \
    "movq " #k "*8(%[a]), %%rax\n\t" OP " " #k \
    "*8(%[b]), %%rax\n\t"                      \
    "movq %%rax, " #k "*8(%[z])\n\t"

// z = a OP b over whole tiles with the carry flag passed on; the flag at the start is `carry`, at the end
// too.
#define HEKAT_ADDITIVE_LOOP(OP) \
    __asm__ volatile(                                                                                   \
        "negq %[carry]\n\t"                                                                           \
        "1:\n\t"                                                                                      \
        HEKAT_ADDITIVE(OP, 0) HEKAT_ADDITIVE(OP, 1) HEKAT_ADDITIVE(OP, 2) HEKAT_ADDITIVE(OP, 3)         \
        HEKAT_ADDITIVE(OP, 4) HEKAT_ADDITIVE(OP, 5) HEKAT_ADDITIVE(OP, 6) HEKAT_ADDITIVE(OP, 7)         \
        "leaq 64(%[a]), %[a]\n\t"                                                                     \
        "leaq 64(%[b]), %[b]\n\t"                                                                     \
        "leaq 64(%[z]), %[z]\n\t"                                                                     \
        "decq %[tiles]\n\t"                                                                           \
        "jnz 1b\n\t"                                                                                  \
        "sbbq %[carry], %[carry]\n\t"                                                                 \
        "negq %[carry]\n\t"                                                                           \
        : [z] "+r"(z), [a] "+r"(a), [b] "+r"(b), [tiles] "+r"(tiles), [carry] "+r"(carry)               \
        :                                                                                               \
        : "rax", "cc", "memory")

Limb add(Limb* z, const Limb* a, const Limb* b, Limb carry, std::size_t tiles) {
    if (tiles != 0) HEKAT_ADDITIVE_LOOP("adcq");
    return carry;
}

Limb subtract(Limb* z, const Limb* a, const Limb* b, std::size_t tiles) {
    Limb carry = 0;
    if (tiles != 0) HEKAT_ADDITIVE_LOOP("sbbq");
    return carry;
}

__attribute__((target("avx2"))) void select_entry(Limb* z, const Limb* entries, std::size_t entry_count,
                                                  std::size_t limb_count, Limb index) {
    const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(index));
    std::size_t start = 0;
    for (; start + 16 <= limb_count; start += 16) {
        __m256i sum[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                          _mm256_setzero_si256()};
        const Limb* at = entries + start;
        for (std::size_t entry = 0; entry < entry_count; ++entry, at += limb_count) {
            const __m256i mask =
                _mm256_cmpeq_epi64(_mm256_set1_epi64x(static_cast<long long>(entry)), wanted);
            for (std::size_t i = 0; i < 4; ++i) {
                const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 4 * i));
                sum[i] = _mm256_or_si256(sum[i], _mm256_and_si256(value, mask));
            }
        }
        for (std::size_t i = 0; i < 4; ++i) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(z + start + 4 * i), sum[i]);
        }
    }
    for (; start < limb_count; ++start) {
        Limb sum = 0;
        for (std::size_t entry = 0; entry < entry_count; ++entry) {
            sum |= entries[entry * limb_count + start] & mask_of_equal(entry, index);
        }
        z[start] = sum;
    }
}

}  // namespace

const TileKernels* x86_tile_kernels() {
    static constexpr TileKernels kernels{
        "x86-64 mulx, adx, avx2", multiply_row, reduce_tile, multiply_triangle,
        double_and_add_squares,   add,          subtract,    select_entry};
    return &kernels;
}

}  // namespace hekat

#else

namespace hekat {

const TileKernels* x86_tile_kernels() { return nullptr; }

}  // namespace hekat

#endif
