// The queue: waiting products as pointers, run as one group.
#include "bigint/product_queue.hpp"

#include <algorithm>

namespace hekat {

ProductQueue::ProductQueue(const ResidueRing& ring)
    : ring_(ring), memory_(ring.scratch_count() + 2 * ring.width()) {}

void ProductQueue::multiply(Limb* z, const Limb* a, const Limb* b) {
    // That z is a factor of a waiting product does no harm: a group is read before it is written.
    if (is_awaited(a) || is_awaited(b) || is_awaited(z)) flush();
    if (ring_.lanes() > 1) {
        Fetch soon(ring_.row_limbs());
        soon.add(a);
        soon.add(b);
        soon.part(0, 1);
    }
    left_[count_] = a;
    right_[count_] = b;
    results_[count_] = z;
    if (++count_ == ring_.lanes()) flush();
}

void ProductQueue::flush() {
    if (count_ == 0) return;
    std::fill(left_.data() + count_, left_.data() + kMaxLanes, left_[0]);
    std::fill(right_.data() + count_, right_.data() + kMaxLanes, right_[0]);
    std::fill(results_.data() + count_, results_.data() + kMaxLanes, nullptr);
    Limb* a = memory_.data() + ring_.scratch_count();
    Limb* b = a + ring_.width();
    ring_.gather(a, left_.data());
    if (left_ == right_) {
        ring_.square(a, a, memory_.data());
    } else {
        ring_.gather(b, right_.data());
        ring_.multiply(a, a, b, memory_.data());
    }
    ring_.scatter(results_.data(), a);
    count_ = 0;
}

bool ProductQueue::is_awaited(const Limb* row) const {
    return std::find(results_.data(), results_.data() + count_, row) != results_.data() + count_;
}

}  // namespace hekat
