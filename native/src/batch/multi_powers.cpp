// Batches of products of many powers: which method, how cut up, and the inverses that minus signs need.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "batch/inversion.hpp"
#include "batch/powers.hpp"
#include "bigint/integer.hpp"
#include "bigint/multi_power.hpp"

namespace hekat {
namespace {

constexpr std::size_t kMaxTableBytes = std::size_t{256} << 20;
constexpr std::size_t kMinBlockTerms = 64;
constexpr double kMaxTaskNs = 1e8;

// Everything one call works on.
class MultiPower {
  public:
    MultiPower(ThreadPool& pool, const ResidueRing& modulus, const Limb* bases, const Limb* exponents,
               std::size_t exponent_limbs, const bool* negative, std::size_t base_count,
               std::size_t result_count)
        : pool_(pool),
          modulus_(modulus),
          narrow_bases_(bases),
          exponents_(exponents),
          exponent_limbs_(exponent_limbs),
          negative_(negative),
          base_count_(base_count),
          result_count_(result_count),
          bases_(base_count * modulus.width()),
          inverses_(negative == nullptr ? 0 : base_count * modulus.width()) {
        for (std::size_t i = 0; i < base_count; ++i) {
            modulus.widen(bases_.data() + i * modulus.width(), bases + i * modulus.limb_count());
        }
    }

    // Inverts, in one batch, the bases that have a minus sign. Returns the first that has no inverse.
    std::optional<std::size_t> invert_bases() {
        std::vector<std::size_t> marked;
        for (std::size_t i = 0; negative_ != nullptr && i < base_count_; ++i) {
            const bool* signs = negative_ + i * result_count_;
            if (std::any_of(signs, signs + result_count_, [](bool sign) { return sign; }))
                marked.push_back(i);
        }
        const std::size_t limbs = modulus_.limb_count();
        std::vector<Limb> x(marked.size() * limbs);
        for (std::size_t k = 0; k < marked.size(); ++k) {
            std::memcpy(x.data() + k * limbs, narrow_bases_ + marked[k] * limbs, limbs * sizeof(Limb));
        }
        std::vector<Limb> inverse(x.size());
        const auto culprit = invert_residues(pool_, modulus_, inverse.data(), x.data(), marked.size());
        if (culprit) return marked[*culprit];
        for (std::size_t k = 0; k < marked.size(); ++k) {
            modulus_.widen(inverses_.data() + marked[k] * modulus_.width(), inverse.data() + k * limbs);
        }
        return std::nullopt;
    }

    void multiply(Limb* z) {
        plan();
        if (use_straus_) fill_tables();
        partials_ = std::vector<Limb>(block_count_ * result_count_ * modulus_.width());
        pool_.run(block_count_ * result_count_, task_ns_, [&](std::size_t begin, std::size_t end) {
            SecretBuffer scratch(scratch_count());
            for (std::size_t task = begin; task < end; ++task) multiply_block(task, scratch.data());
        });
        join(z);
    }

  private:
    PowerTerms terms(std::size_t result, std::size_t first, std::size_t count) const {
        const std::size_t at = first * result_count_ + result;
        return {bases_.data() + first * modulus_.width(),
                negative_ == nullptr ? nullptr : inverses_.data() + first * modulus_.width(),
                exponents_ + at * exponent_limbs_,
                exponent_limbs_,
                result_count_ * exponent_limbs_,
                negative_ == nullptr ? nullptr : negative_ + at,
                result_count_,
                count};
    }

    // Chooses method and window, and how many blocks the terms of a result are cut into: enough to keep every
    // thread busy and every task short, and no more, since each block has squarings or buckets of its own.
    void plan() {
        bits_ = 0;
        for (std::size_t j = 0; j < result_count_; ++j) {
            bits_ = std::max(bits_, max_exponent_bits(terms(j, 0, base_count_)));
        }
        const double product = product_ns(modulus_);
        const double whole_ns =
            pippenger_products(base_count_, bits_, pippenger_window_bits(base_count_, bits_)) * product;
        const auto for_time = static_cast<std::size_t>(std::ceil(whole_ns / kMaxTaskNs));
        const std::size_t for_threads =
            pool_.thread_count() == 1 ? 1 : (4 * pool_.thread_count() + result_count_ - 1) / result_count_;
        const std::size_t most = std::max<std::size_t>(1, base_count_ / kMinBlockTerms);
        const std::size_t wanted = std::min(std::max(for_time, for_threads), most);
        block_terms_ = std::max<std::size_t>(1, (base_count_ + wanted - 1) / wanted);
        block_count_ = std::max<std::size_t>(1, (base_count_ + block_terms_ - 1) / block_terms_);
        const unsigned straus = straus_window_bits(block_terms_, bits_, result_count_);
        const unsigned pippenger = pippenger_window_bits(block_terms_, bits_);
        const double straus_cost = straus_products(block_terms_, bits_, result_count_, straus);
        const double pippenger_cost = pippenger_products(block_terms_, bits_, pippenger);
        const std::size_t table_limbs =
            (base_count_ << straus) * modulus_.width() * (negative_ == nullptr ? 1 : 2);
        use_straus_ = straus_cost <= pippenger_cost && table_limbs * sizeof(Limb) <= kMaxTableBytes;
        window_bits_ = use_straus_ ? straus : pippenger;
        task_ns_ = (use_straus_ ? straus_cost : pippenger_cost) * product;
    }

    void fill_tables() {
        const std::size_t table_limbs = modulus_.width() << window_bits_;
        powers_ = std::vector<Limb>(base_count_ * table_limbs);
        if (negative_ != nullptr) inverse_powers_ = std::vector<Limb>(base_count_ * table_limbs);
        const double table_ns = product_ns(modulus_) * static_cast<double>(2U << window_bits_);
        pool_.run(base_count_, table_ns, [&](std::size_t begin, std::size_t end) {
            SecretBuffer scratch(modulus_.scratch_count());
            for (std::size_t i = begin; i < end; ++i) {
                fill_powers(modulus_, powers_.data() + i * table_limbs, bases_.data() + i * modulus_.width(),
                            window_bits_, scratch.data());
                if (negative_ == nullptr) continue;
                fill_powers(modulus_, inverse_powers_.data() + i * table_limbs,
                            inverses_.data() + i * modulus_.width(), window_bits_, scratch.data());
            }
        });
    }

    std::size_t scratch_count() const {
        const std::size_t buckets = use_straus_ ? 0 : std::size_t{1} << window_bits_;
        return modulus_.scratch_count() + (buckets + 2) * modulus_.width();
    }

    void multiply_block(std::size_t task, Limb* scratch) {
        const std::size_t result = task % result_count_;
        const std::size_t first = task / result_count_ * block_terms_;
        const std::size_t count = std::min(block_terms_, base_count_ - first);
        Limb* z = partials_.data() + task * modulus_.width();
        if (!use_straus_) {
            multiply_powers_pippenger(modulus_, z, terms(result, first, count), window_bits_, bits_, scratch,
                                      ThreadPool::checkpoint);
            return;
        }
        const std::size_t at = (first << window_bits_) * modulus_.width();
        const PowerTables tables{powers_.data() + at,
                                 negative_ == nullptr ? nullptr : inverse_powers_.data() + at, window_bits_};
        multiply_powers_straus(modulus_, z, terms(result, first, count), tables, bits_, scratch,
                               ThreadPool::checkpoint);
    }

    // z_j = the product of result j's partial products.
    void join(Limb* z) {
        SecretBuffer scratch(modulus_.scratch_count());
        for (std::size_t j = 0; j < result_count_; ++j) {
            Limb* product = partials_.data() + j * modulus_.width();
            for (std::size_t block = 1; block < block_count_; ++block) {
                const Limb* partial = partials_.data() + (block * result_count_ + j) * modulus_.width();
                modulus_.multiply(product, product, partial, scratch.data());
            }
            modulus_.narrow(z + j * modulus_.limb_count(), product);
        }
    }

    ThreadPool& pool_;
    const ResidueRing& modulus_;
    const Limb* narrow_bases_;
    const Limb* exponents_;
    std::size_t exponent_limbs_;
    const bool* negative_;
    std::size_t base_count_;
    std::size_t result_count_;
    SecretBuffer bases_;
    SecretBuffer inverses_;

    std::size_t bits_ = 0;
    std::size_t block_terms_ = 1;
    std::size_t block_count_ = 1;
    bool use_straus_ = false;
    unsigned window_bits_ = 1;
    double task_ns_ = 0;
    std::vector<Limb> powers_{};
    std::vector<Limb> inverse_powers_{};
    std::vector<Limb> partials_{};
};

}  // namespace

std::optional<std::size_t> multiply_powers(ThreadPool& pool, const ResidueRing& modulus, Limb* z,
                                           const Limb* bases, const Limb* exponents,
                                           std::size_t exponent_limbs, const bool* negative,
                                           std::size_t base_count, std::size_t result_count) {
    MultiPower work(pool, modulus, bases, exponents, exponent_limbs, negative, base_count, result_count);
    if (const auto culprit = work.invert_bases()) return culprit;
    if (result_count > 0) work.multiply(z);
    return std::nullopt;
}

}  // namespace hekat
