// Blocks masked, added and opened against the same by integers of 128 bits, made of single operations.
#include <algorithm>
#include <cstring>

#include "ring/masked_blocks.hpp"
#include "ring_cases.hpp"

namespace {

using namespace hekat;
using hekat::ring::Kernels;
using hekat::ring::Key;
using hekat::ring::MaskedBlocks;
using hekat::ring::MaskFormat;
using hekat::ring::Ring;
using hekat::ring::SignedWide;
using hekat::ring::WrittenLayout;
using hekat::test::check;
using hekat::test::Limbs;
using hekat::test::Source;

using Bytes = std::vector<std::uint8_t>;

struct Case {
    std::size_t degree;
    std::vector<Limb> primes;
    unsigned lanes, lane_bits, dropped, sum_dropped;
};

std::vector<Case> make_cases() {
    const Limb top = test::find_prime((Limb{1} << 50) - 1, 1024, false);
    const Limb next = test::find_prime(top - 2, 1024, false);
    const Limb middle = test::find_prime(Limb{3} << 45, 1024, true);
    const Limb above = test::find_prime((Limb{1} << 49) + 1, 1024, true);
    return {
        {2048, {1125899906826241}, 2, 20, 4, 6},                  // A16-16
        {2048, {1125899906826241}, 3, 13, 4, 7},                  // A8-32
        {4096, {4398046486529, 4398046240769}, 3, 23, 7, 13},     // C16-128
        {4096, {140737488273409, 70368743669761}, 2, 39, 7, 13},  // C32-128
        {1024, {top}, 1, 44, 0, 0},
        {1024, {12289}, 1, 8, 0, 1},
        {1024, {above}, 8, 5, 1, 0},
        {1024, {middle}, 8, 5, 3, 2},
        {1024, {top, next}, 8, 12, 1, 1},   // a delta of 4 bits
        {1024, {next, top}, 2, 44, 0, 3},   // the first prime the smaller
        {1024, {12289, top}, 1, 44, 9, 0},  // of unlike primes
        {1024, {top, 12289}, 6, 8, 0, 9},
        {1024, {middle, above}, 3, 29, 2, 5},
    };
}

std::string name_of_case(const Case& c, CpuPath path) {
    std::string name = "degree " + std::to_string(c.degree) + ", primes";
    for (const Limb p : c.primes) name.append(" ").append(std::to_string(p));
    return name + ", " + std::to_string(c.lanes) + " lanes of " + std::to_string(c.lane_bits) +
           " bits, path " + name_of(path);
}

Wide power_of_two(unsigned bits) { return Wide{1} << bits; }

Wide product(Wide a, Wide b, Wide q) {
    Wide z = 0;
    for (int bit = 127; bit >= 0; --bit) {
        z = 2 * z % q;
        if ((b >> bit & 1) != 0) z = (z + a) % q;
    }
    return z;
}

// One ring, format and secret; everything is done coefficient by coefficient.
class Oracle {
  public:
    Oracle(const Ring& ring, const MaskFormat& form, const Limbs& secret)
        : ring_(ring), form_(form), secret_(secret) {}

    // a s of one chunk, mod q.
    std::vector<Wide> masks(const Key& key, Limb chunk) const {
        const Kernels& kernels = ring_.kernels();
        std::vector<Wide> masks(ring_.degree(), 0);
        const Wide q = form_.modulus;
        for (std::size_t i = 0; i < ring_.primes().size(); ++i) {
            const ring::Prime& prime = ring_.primes()[i];
            Limbs a(ring_.degree());
            kernels.sample_uniform(a.data(), prime, key.stream(static_cast<std::uint32_t>(i), chunk));
            kernels.multiply(a.data(), a.data(), secret_.data() + i * a.size(), a.size(), prime);
            kernels.invert_transform(a.data(), prime);
            const Wide rest = q / prime.value;
            const Wide weight =
                rest * ring::inverse_vartime(static_cast<Limb>(rest % prime.value), prime.value);
            for (std::size_t n = 0; n < a.size(); ++n)
                masks[n] = (masks[n] + product(weight % q, a[n], q)) % q;
        }
        return masks;
    }

    // Appends the fields of `coefficients`, packed.
    void write(Bytes& bytes, const std::vector<Wide>& coefficients, const WrittenLayout& layout) const {
        const unsigned low_bits = layout.fields[0].width;
        for (std::size_t i = 0; i < layout.fields.size(); ++i) {
            Limbs fields;
            for (const Wide x : coefficients) {
                const Wide rounded = (x + power_of_two(layout.dropped) / 2) >> layout.dropped;
                fields.push_back(
                    static_cast<Limb>(i == 0 ? rounded % power_of_two(low_bits) : rounded >> low_bits));
                if (layout.fields.size() == 1) fields.back() = static_cast<Limb>(rounded);
            }
            Bytes packed(layout.fields[i].bytes(fields.size()));
            ring::kernels_of(CpuPath::kPortable)
                .pack(packed.data(), fields.data(), fields.size(), layout.fields[i]);
            bytes.insert(bytes.end(), packed.begin(), packed.end());
        }
    }

    Bytes mask(const Key& public_key, const Key& error_key, Limb first,
               const std::vector<std::int32_t>& values) const {
        Bytes bytes;
        for (std::size_t chunk = 0; chunk < form_.chunk_count(values.size()); ++chunk) {
            const std::size_t used = form_.used_in(chunk, values.size());
            std::vector<std::int8_t> errors(ring_.degree());
            ring_.kernels().sample_cbd(errors.data(), errors.size(),
                                       error_key.stream(Key::kCbd, first + chunk));
            std::vector<Wide> coefficients = masks(public_key, first + chunk);
            coefficients.resize(used);
            for (std::size_t n = 0; n < used; ++n) {
                SignedWide m = 0;
                for (unsigned j = form_.lanes; j-- > 0;) {
                    const std::size_t lane = j * used + n;
                    const std::size_t at = chunk * form_.values_per_chunk() + lane - 1;
                    const bool is_value = lane <= form_.values_in(chunk, values.size());
                    m = m * (SignedWide{1} << form_.lane_bits) + (lane == 0 ? 1 : is_value ? values[at] : 0);
                }
                SignedWide x =
                    static_cast<SignedWide>(coefficients[n]) + errors[n] + m * SignedWide(form_.delta);
                const auto q = static_cast<SignedWide>(form_.modulus);
                coefficients[n] = static_cast<Wide>((x % q + q) % q);
            }
            write(bytes, coefficients, form_.one);
        }
        return bytes;
    }

    Bytes sum(const Limbs& sums, std::size_t value_count) const {
        Bytes bytes;
        const Limb* next = sums.data();
        const Wide q = form_.modulus;
        for (std::size_t chunk = 0; chunk < form_.chunk_count(value_count); ++chunk) {
            const std::size_t used = form_.used_in(chunk, value_count);
            std::vector<Wide> coefficients(used, 0);
            for (std::size_t i = 0; i < form_.primes.size(); ++i) {
                const Wide weight =
                    power_of_two(form_.one.dropped + (i == 0 ? 0 : form_.one.fields[0].width)) % q;
                for (Wide& x : coefficients) x = (x + product(weight, *next++, q)) % q;
            }
            write(bytes, coefficients, form_.sum);
        }
        return bytes;
    }

  private:
    const Ring& ring_;
    const MaskFormat& form_;
    const Limbs& secret_;
};

Limbs make_secret(const Ring& ring, Source& source) {
    std::vector<std::int64_t> s(ring.degree());
    for (std::int64_t& x : s) x = static_cast<std::int64_t>(source.limb() % 43) - 21;
    Limbs secret;
    for (const ring::Prime& prime : ring.primes()) {
        Limbs row;
        for (const std::int64_t x : s)
            row.push_back(static_cast<Limb>(x + static_cast<std::int64_t>(prime.value)) % prime.value);
        ring.kernels().transform(row.data(), prime);
        secret.insert(secret.end(), row.begin(), row.end());
    }
    return secret;
}

std::vector<std::int32_t> make_values(const MaskFormat& form, std::size_t count, Source& source) {
    const std::int64_t most =
        std::min<std::int64_t>((std::int64_t{1} << (form.lane_bits - 1)) - 1, (std::int64_t{1} << 31) - 1);
    std::vector<std::int32_t> values(count);
    for (std::int32_t& x : values) {
        const Limb kind = source.limb() % 4;
        const std::int64_t some =
            static_cast<std::int64_t>(source.limb() % static_cast<Limb>(2 * most + 1)) - most;
        x = static_cast<std::int32_t>(kind == 0 ? most : kind == 1 ? -most : some);
    }
    return values;
}

void test_case(const Case& c, CpuPath path, Source& source) {
    std::vector<Limb> roots;
    for (const Limb p : c.primes) roots.push_back(test::find_root(p, c.degree));
    const Ring ring(c.degree, c.primes, roots, path);
    const MaskedBlocks blocks(ring, c.lanes, c.lane_bits, c.dropped, c.sum_dropped);
    const MaskFormat& form = blocks.form();
    const std::string name = name_of_case(c, path);
    ThreadPool pool(2, [] { return true; });
    const Limbs secret = make_secret(ring, source);
    const Oracle oracle(ring, form, secret);
    const Key public_key = test::make_key(3);
    const Key error_key = test::make_key(4);
    const Limb first = Limb{7} << 32;
    const std::size_t full = form.values_per_chunk();
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, c.lanes * 5 - std::size_t{1},
                                    c.lanes * 9 + std::size_t{1}, full - 1, full, full + 1, 2 * full + 77}) {
        const std::vector<std::int32_t> values = make_values(form, count, source);
        Bytes written(form.written_bytes(form.one, count));
        check(blocks.mask_values(pool, written.data(), public_key, secret.data(), error_key, first,
                                 values.data(), count),
              name + ": values fit");
        check(written == oracle.mask(public_key, error_key, first, values), name + ": masked");

        Limbs sums(form.field_count(count));
        blocks.add_masked(pool, sums.data(), written.data(), count);
        Bytes sum(form.written_bytes(form.sum, count));
        blocks.write_sum(pool, sum.data(), sums.data(), count);
        check(sum == oracle.sum(sums, count), name + ": a sum of one");

        // Where the errors of masking and rounding stay below delta / 2, values come back.
        const Limb dropped = (Limb{1} << c.dropped >> 1) + (Limb{1} << c.sum_dropped >> 1);
        std::vector<std::int64_t> opened(count);
        std::vector<std::int64_t> counts(form.chunk_count(count));
        if (2 * (21 + dropped) < form.delta) {
            check(blocks.unmask_sum(pool, opened.data(), counts.data(), public_key, secret.data(), first,
                                    sum.data(), count),
                  name + ": opens");
            check(std::equal(opened.begin(), opened.end(), values.begin()), name + ": values");
            check(std::all_of(counts.begin(), counts.end(), [](std::int64_t x) { return x == 1; }),
                  name + ": counts");
        }

        const Limbs any = source.limbs(sums.size());
        blocks.write_sum(pool, sum.data(), any.data(), count);
        check(sum == oracle.sum(any, count), name + ": any sum");
    }
}

// What phases open to: those at every edge of the digits, by masks that are known.
void test_opening(const Case& c, CpuPath path, Source& source) {
    std::vector<Limb> roots;
    for (const Limb p : c.primes) roots.push_back(test::find_root(p, c.degree));
    const Ring ring(c.degree, c.primes, roots, path);
    const MaskedBlocks blocks(ring, c.lanes, c.lane_bits, c.dropped, c.sum_dropped);
    const MaskFormat& form = blocks.form();
    const Wide q = form.modulus;
    const auto delta = static_cast<SignedWide>(form.delta);
    const SignedWide least = -static_cast<SignedWide>(form.offset);
    const SignedWide most = least + static_cast<SignedWide>(power_of_two(c.lanes * c.lane_bits)) - 1;
    std::vector<SignedWide> phases;
    const auto half = static_cast<SignedWide>(q / 2);
    for (const SignedWide m : {SignedWide{0}, SignedWide{1}, SignedWide{-1}, least, least - 1, most, most + 1,
                               least + 1, most - 1}) {
        for (const SignedWide off : {-(delta / 2) - 1, -(delta / 2), -(delta / 2) + 1, SignedWide{0},
                                     delta / 2 - 1, delta / 2, delta / 2 + 1}) {
            phases.push_back(m * delta + off);
        }
    }
    phases.insert(phases.end(), {half, half - 1, -half, -half + 1, SignedWide{0}});
    for (int i = 0; i < 200; ++i)
        phases.push_back(static_cast<SignedWide>((Wide{source.limb()} << 64 | source.limb()) % q) - half);
    for (const SignedWide phase : phases) {
        if (phase > half || phase < -half) continue;
        // One coefficient: what is written rounds, so the mask takes up what its rounding loses.
        const std::size_t used = 1;
        const Wide written = (Wide{source.limb()} << 64 | source.limb()) % (q >> c.sum_dropped);
        const Wide mask =
            static_cast<Wide>((static_cast<SignedWide>((written << c.sum_dropped) % q) - phase) %
                                  static_cast<SignedWide>(q) +
                              static_cast<SignedWide>(q)) %
            q;
        Limbs residues[2], fields[2];
        Limb* residue_rows[2] = {};
        Limb* field_rows[2] = {};
        for (std::size_t i = 0; i < c.primes.size(); ++i) {
            residues[i].assign(8, static_cast<Limb>(mask % c.primes[i]));
            const unsigned width = form.sum.fields[0].width;
            const Wide part = i == 1                 ? written >> width
                              : c.primes.size() == 1 ? written
                                                     : written % power_of_two(width);
            fields[i].assign(8, static_cast<Limb>(part));
            residue_rows[i] = residues[i].data();
            field_rows[i] = fields[i].data();
        }
        std::vector<std::int64_t> lanes(8 * c.lanes);
        const bool is_whole = ring.kernels().unmask(lanes.data(), field_rows, residue_rows, used, form);
        SignedWide m = (2 * phase + delta) / (2 * delta);
        if ((2 * phase + delta) % (2 * delta) < 0) --m;
        check(is_whole == (m >= least && m <= most), name_of_case(c, path) + ": whole or not");
        if (!is_whole) continue;
        SignedWide digits = 0;
        for (unsigned j = c.lanes; j-- > 0;) digits = digits * (SignedWide{1} << c.lane_bits) + lanes[8 * j];
        check(digits == m, name_of_case(c, path) + ": digits");
    }
}

void test_refusals(CpuPath path) {
    const Ring ring(2048, {1125899906826241}, {test::find_root(1125899906826241, 2048)}, path);
    const MaskedBlocks blocks(ring, 2, 20, 4, 6);
    const MaskFormat& form = blocks.form();
    ThreadPool pool(2, [] { return true; });
    Source source(5);
    const Limbs secret = make_secret(ring, source);
    const Key key = test::make_key(6);
    const std::size_t count = 5000;
    Bytes written(form.written_bytes(form.one, count));
    for (const std::int32_t beyond :
         {1 << 19, -(1 << 19), 1 << 20, std::int32_t{2147483647}, -2147483647 - 1}) {
        for (const std::size_t at : {std::size_t{0}, std::size_t{4094}, std::size_t{4095}, count - 1}) {
            std::vector<std::int32_t> values(count, (1 << 19) - 1);
            values[at] = beyond;
            check(!blocks.mask_values(pool, written.data(), key, secret.data(), key, 0, values.data(), count),
                  "a value that does not fit is told");
        }
    }
    // One value more than is opened: in the same coefficients, so that the bytes are as many.
    const std::vector<std::int32_t> values(count, 1);
    blocks.mask_values(pool, written.data(), key, secret.data(), key, 0, values.data(), count);
    check(form.written_bytes(form.one, count) == form.written_bytes(form.one, count - 1), "as many bytes");
    Limbs sums(form.field_count(count));
    blocks.add_masked(pool, sums.data(), written.data(), count);
    Bytes sum(form.written_bytes(form.sum, count));
    blocks.write_sum(pool, sum.data(), sums.data(), count);
    std::vector<std::int64_t> opened(count);
    std::vector<std::int64_t> counts(form.chunk_count(count));
    const auto opens = [&](std::size_t value_count) {
        return blocks.unmask_sum(pool, opened.data(), counts.data(), key, secret.data(), 0, sum.data(),
                                 value_count);
    };
    check(opens(count), "all values open");
    check(!opens(count - 1), "a value behind the last is told");
}

}  // namespace

int main() {
    Source source(13);
    for (const CpuPath path : test::ring_paths()) {
        for (const Case& c : make_cases()) {
            test_case(c, path, source);
            test_opening(c, path, source);
        }
        test_refusals(path);
    }
    return test::verdict();
}
