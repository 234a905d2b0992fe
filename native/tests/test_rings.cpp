// What every ring promises: the same residues at rest, in work and as values, lane by lane.
#include "bigint/group.hpp"
#include "rings.hpp"

namespace {

using namespace hekat;
using hekat::test::append;
using hekat::test::check;
using hekat::test::item;
using hekat::test::Limbs;
using hekat::test::RingCase;
using hekat::test::Source;

// A ring with scratch, on groups of different values in every lane.
class Groups {
  public:
    explicit Groups(const RingCase& ring) : ring_(ring), scratch_(ring.ring.scratch_count()) {}

    Limb* scratch() { return scratch_.data(); }
    std::size_t lanes() const { return ring_.ring.lanes(); }

    Limbs enter(const Limbs& values) {
        const std::size_t limbs = values.size() / lanes();
        Limbs z(ring_.ring.width());
        ring_.ring.enter(z.data(), reads_of(values.data(), limbs, lanes(), lanes()).data(), limbs, scratch());
        return z;
    }

    Limbs leave(const Limbs& x) {
        Limbs values(lanes() * ring_.limbs());
        ring_.ring.leave(writes_of(values.data(), ring_.limbs(), lanes(), lanes()).data(), x.data(),
                         scratch());
        return values;
    }

    Limbs scatter(const Limbs& x) {
        Limbs rows(lanes() * ring_.row());
        ring_.ring.scatter(writes_of(rows.data(), ring_.row(), lanes(), lanes()).data(), x.data());
        return rows;
    }

    Limbs gather(const Limbs& rows) {
        Limbs z(ring_.ring.width());
        ring_.ring.gather(z.data(), reads_of(rows.data(), ring_.row(), lanes(), lanes()).data());
        return z;
    }

    Limbs multiply(const Limbs& a, const Limbs& b) {
        Limbs z(ring_.ring.width());
        ring_.ring.multiply(z.data(), a.data(), b.data(), scratch());
        return z;
    }

  private:
    const RingCase& ring_;
    Limbs scratch_;
};

void test_values(const RingCase& ring, Source& source) {
    Groups groups(ring);
    const std::size_t lanes = groups.lanes();
    for (std::size_t limbs = 1; limbs <= 2 * ring.limbs(); ++limbs) {
        const Limbs values = source.limbs(lanes * limbs);
        Limbs expected;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            append(expected, ring.book.reduce(item(values, limbs, lane)));
        }
        check(groups.leave(groups.enter(values)) == expected, "enter and leave in " + ring.name);
    }
    // A nullptr is skipped.
    const Limbs x = groups.enter(ring.values(lanes, source));
    Limbs last(ring.limbs(), 1);
    Limbs last_row(ring.row(), 1);
    WritePointers value{};
    WritePointers row{};
    value[lanes - 1] = last.data();
    row[lanes - 1] = last_row.data();
    ring.ring.leave(value.data(), x.data(), groups.scratch());
    ring.ring.scatter(row.data(), x.data());
    check(last == item(groups.leave(x), ring.limbs(), lanes - 1), "one value leaves " + ring.name);
    check(last_row == item(groups.scatter(x), ring.row(), lanes - 1), "one row leaves " + ring.name);
}

void test_products(const RingCase& ring, Source& source) {
    Groups groups(ring);
    for (int round = 0; round < 20; ++round) {
        const Limbs a = ring.values(groups.lanes(), source);
        const Limbs b = ring.values(groups.lanes(), source);
        const Limbs x = groups.enter(a);
        const Limbs y = groups.enter(b);
        Limbs products;
        Limbs squares;
        for (std::size_t lane = 0; lane < groups.lanes(); ++lane) {
            const Limbs left = item(a, ring.limbs(), lane);
            append(products, ring.book.multiply(left, item(b, ring.limbs(), lane)));
            append(squares, ring.book.multiply(left, left));
        }
        check(groups.leave(groups.multiply(x, y)) == products, "multiply in " + ring.name);
        Limbs z = x;
        ring.ring.multiply(z.data(), z.data(), y.data(), groups.scratch());
        check(groups.leave(z) == products, "multiply in place of the left in " + ring.name);
        z = y;
        ring.ring.multiply(z.data(), x.data(), z.data(), groups.scratch());
        check(groups.leave(z) == products, "multiply in place of the right in " + ring.name);
        z = x;
        ring.ring.square(z.data(), z.data(), groups.scratch());
        check(groups.leave(z) == squares, "square in place in " + ring.name);
        ring.ring.square(z.data(), x.data(), groups.scratch());
        check(groups.leave(z) == squares, "square in " + ring.name);
        check(groups.leave(groups.gather(groups.scatter(x))) == a, "scatter and gather in " + ring.name);
        check(groups.leave(groups.multiply(x, {ring.ring.one(), ring.ring.one() + ring.ring.width()})) == a,
              "one in " + ring.name);
    }
    Limbs ones;
    for (std::size_t lane = 0; lane < groups.lanes(); ++lane) {
        append(ones, {ring.ring.one_row(), ring.ring.one_row() + ring.row()});
    }
    for (std::size_t lane = 0; lane < groups.lanes(); ++lane) {
        check(item(groups.leave(groups.gather(ones)), ring.limbs(), lane) == ring.book.one(),
              "one at rest in " + ring.name);
    }
}

void test_inverse(const RingCase& ring, Source& source) {
    Groups groups(ring);
    for (const bool is_unit : {true, false}) {
        Limbs value(ring.limbs(), 0);
        value[0] = is_unit ? Limb{1} << (source.limb() % 60) : 0;
        Limbs values;
        for (std::size_t lane = 0; lane < groups.lanes(); ++lane) append(values, value);
        const Limbs x = groups.enter(values);
        Limbs row = item(groups.scatter(x), ring.row(), 0);
        check(ring.ring.invert(row.data(), row.data()) == is_unit, "invert finds the units of " + ring.name);
        if (!is_unit) continue;
        Limbs rows;
        for (std::size_t lane = 0; lane < groups.lanes(); ++lane) append(rows, row);
        check(item(groups.leave(groups.multiply(x, groups.gather(rows))), ring.limbs(), 0) == ring.book.one(),
              "x times its inverse is one in " + ring.name);
    }
}

void test_tables(const RingCase& ring, Source& source) {
    Groups groups(ring);
    const std::size_t lanes = groups.lanes();
    for (const std::size_t entry_count : {2U, 4U, 32U}) {
        Limbs values;
        Limbs table;
        Limbs shared(ring.ring.shared_table_words(entry_count));
        for (std::size_t j = 0; j < entry_count; ++j) {
            const Limbs entry = ring.values(lanes, source);
            append(values, entry);
            append(table, groups.enter(entry));
            const Limbs rows = groups.scatter(groups.enter(entry));
            ring.ring.put_shared(shared.data(), entry_count, j, rows.data());
        }
        for (std::size_t round = 0; round < entry_count; ++round) {
            Limbs indices(lanes);
            Limbs own;
            Limbs first;
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                indices[lane] = lane == 0 ? round : source.limb() % entry_count;
                append(own, item(values, ring.limbs(), indices[lane] * lanes + lane));
                append(first, item(values, ring.limbs(), indices[lane] * lanes));
            }
            Limbs z(ring.ring.width());
            ring.ring.select(z.data(), table.data(), entry_count, indices.data());
            check(groups.leave(z) == own, "select in " + ring.name);
            ring.ring.pick_vartime(z.data(), table.data(), indices.data());
            check(groups.leave(z) == own, "pick_vartime in " + ring.name);
            // Two groups, the second with the indices turned round.
            Limbs both = indices;
            both.insert(both.end(), indices.rbegin(), indices.rend());
            Limbs found(2 * z.size());
            ring.ring.select_shared(found.data(), shared.data(), entry_count, both.data(), 2);
            check(groups.leave(item(found, z.size(), 0)) == first, "select_shared in " + ring.name);
            Limbs turned;
            for (std::size_t lane = lanes; lane-- > 0;) append(turned, item(first, ring.limbs(), lane));
            check(groups.leave(item(found, z.size(), 1)) == turned, "select_shared again in " + ring.name);
        }
    }
}

}  // namespace

int main() {
    Source source(5);
    hekat::test::for_rings(source, [&](const RingCase& ring) {
        test_values(ring, source);
        test_products(ring, source);
        test_inverse(ring, source);
        test_tables(ring, source);
    });
    return hekat::test::verdict();
}
