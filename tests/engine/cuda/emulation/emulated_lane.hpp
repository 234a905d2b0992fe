// A Lane in the emulation: the words of all threads of a group in one array; a launch runs group after group.
#pragma once

#include <cstdint>
#include <utility>

namespace hekat {

struct Lane {
    u32 words[kThreads];

    Lane() = default;
    // The same word in all threads.
    Lane(u32 word) {
        for (u32& own : words) own = word;
    }
};

template <class Function>
inline Lane each(Function function) {
    Lane result;
    for (int t = 0; t < kThreads; ++t) result.words[t] = function(t);
    return result;
}

inline Lane operator+(const Lane& a, const Lane& b) {
    return each([&](int t) { return a.words[t] + b.words[t]; });
}
inline Lane operator-(const Lane& a, const Lane& b) {
    return each([&](int t) { return a.words[t] - b.words[t]; });
}
inline Lane operator*(const Lane& a, const Lane& b) {
    return each([&](int t) { return a.words[t] * b.words[t]; });
}
inline Lane operator&(const Lane& a, const Lane& b) {
    return each([&](int t) { return a.words[t] & b.words[t]; });
}
inline Lane operator|(const Lane& a, const Lane& b) {
    return each([&](int t) { return a.words[t] | b.words[t]; });
}
inline Lane operator^(const Lane& a, const Lane& b) {
    return each([&](int t) { return a.words[t] ^ b.words[t]; });
}
inline Lane operator~(const Lane& a) {
    return each([&](int t) { return ~a.words[t]; });
}
inline Lane& operator|=(Lane& a, const Lane& b) { return a = a | b; }
inline Lane& operator&=(Lane& a, const Lane& b) { return a = a & b; }

inline thread_local u64 emulated_group = 0;

inline Lane thread_index() {
    return each([](int t) { return static_cast<u32>(t); });
}
inline u64 group_index() { return emulated_group; }
inline Lane broadcast(const Lane& word, u32 source) { return Lane(word.words[source]); }
inline u32 read_thread(const Lane& word, u32 source) { return word.words[source]; }
inline Lane from_above(const Lane& word) {
    return each([&](int t) { return t + 1 < kThreads ? word.words[t + 1] : 0; });
}
inline Lane from_below(const Lane& word) {
    return each([&](int t) { return t > 0 ? word.words[t - 1] : 0; });
}
inline u32 ballot(const Lane& flag) {
    u32 bits = 0;
    for (int t = 0; t < kThreads; ++t) bits |= static_cast<u32>(flag.words[t] != 0) << t;
    return bits;
}
inline Lane own_bit(u64 bits) {
    return each([&](int t) { return static_cast<u32>(bits >> t) & 1; });
}
inline bool any_in_warp(bool flag) { return flag; }
inline Lane is_equal(const Lane& a, const Lane& b) {
    return each([&](int t) { return static_cast<u32>(a.words[t] == b.words[t]); });
}
inline Lane select(const Lane& flag, const Lane& a, const Lane& b) {
    return each([&](int t) { return flag.words[t] != 0 ? a.words[t] : b.words[t]; });
}

inline void load_some_limbs(Lane* limbs, const u32* row, u64 word_count) {
    for (int i = 0; i < kLimbs; ++i) {
        limbs[i] = each([&](int t) {
            const u64 at = static_cast<u64>(t) * kLimbs + i;
            return at < word_count ? row[at] : 0;
        });
    }
}
inline void load_limbs(Lane* limbs, const u32* row) { load_some_limbs(limbs, row, kWords); }
inline void store_some_limbs(u32* row, const Lane* limbs, u64 word_count) {
    for (int i = 0; i < kLimbs; ++i) {
        for (int t = 0; t < kThreads; ++t) {
            const u64 at = static_cast<u64>(t) * kLimbs + i;
            if (at < word_count) row[at] = limbs[i].words[t];
        }
    }
}
inline void store_limbs(u32* row, const Lane* limbs) { store_some_limbs(row, limbs, kWords); }
inline u32 read_bits(const u32* words, u64 word_count, u64 first, u32 bits) {
    const u64 at = first >> 5;
    const u64 low = at < word_count ? words[at] : 0;
    const u64 high = at + 1 < word_count ? words[at + 1] : 0;
    return static_cast<u32>((high << 32 | low) >> (first & 31)) & ((1u << bits) - 1);
}

}  // namespace hekat

#include "emulated_launch.hpp"
