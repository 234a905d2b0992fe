// Blocks of values masked, added and opened, chunk by chunk over the threads (hekat.engine.ring_interface).
#pragma once

#include <cstddef>
#include <cstdint>

#include "batch/thread_pool.hpp"
#include "ring/mask_format.hpp"
#include "ring/ring.hpp"

namespace hekat::ring {

class MaskedBlocks {
  public:
    // ring: kept by the caller.
    MaskedBlocks(const Ring& ring, unsigned lanes, unsigned lane_bits, unsigned dropped_bits,
                 unsigned sum_dropped_bits);

    const Ring& ring() const { return ring_; }
    const MaskFormat& form() const { return form_; }

    // out (form().written_bytes(form().one, value_count) bytes) = the masked values; secret: one transformed
    // element. Returns false, `out` being without meaning, where a value does not fit its lane.
    bool mask_values(ThreadPool& pool, std::uint8_t* out, const Key& public_key, const Limb* secret,
                     const Key& error_key, Limb first_chunk, const std::int32_t* values,
                     std::size_t value_count) const;

    // sums (form().field_count(value_count)) += the fields of one block of masked values.
    void add_masked(ThreadPool& pool, Limb* sums, const std::uint8_t* written, std::size_t value_count) const;

    // out (form().written_bytes(form().sum, value_count) bytes) = the written sum.
    void write_sum(ThreadPool& pool, std::uint8_t* out, const Limb* sums, std::size_t value_count) const;

    // values (value_count) and counts (one for each chunk) that a written sum holds. Returns false, both
    // being without meaning, where a lane behind the last value is not zero or a coefficient does not end
    // with its last digit.
    bool unmask_sum(ThreadPool& pool, std::int64_t* values, std::int64_t* counts, const Key& public_key,
                    const Limb* secret, Limb first_chunk, const std::uint8_t* written,
                    std::size_t value_count) const;

  private:
    class Masks;

    const Ring& ring_;
    MaskFormat form_;
};

}  // namespace hekat::ring
