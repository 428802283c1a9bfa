#include <gtest/gtest.h>

#include "base/io/file.h"
#include "index/sparse/lists/growing.h"
#include "index/sparse/lists/impact_lists.h"
#include "index/sparse/lists/range_builder.h"
#include "index/sparse/params.h"
#include "index/sparse/searcher.h"
#include "index/sparse/type.h"
#include "tests/index/documented.h"
#include "tests/index/sparse/lists/scan_support.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

using sparse::GrowingLists;

FieldColumn first_rows(const FieldColumn& column, std::uint32_t n) {
  FieldColumn first = column;
  first.n_rows = n;
  first.present = column.present.subspan(0, n);
  first.n_present = 0;
  for (const std::uint8_t here : first.present) first.n_present += here;
  const SparseColumn& rows = column.sparse();
  first.values = SparseColumn{rows.offsets.subspan(0, n + 1), rows.indices, rows.values};
  return first;
}

TEST_P(SeismicScan, GrowingListsGiveTheBitsOfBruteForce) {
  Random random(kSeed + 6);
  const auto column = zipf_column(20'000, 800, GetParam(), random);
  GrowingLists lists;
  std::uint32_t n = 0;
  while (n < column.n_rows) {
    n = std::min<std::uint32_t>(column.n_rows,
                                n + 1 + static_cast<std::uint32_t>(random() % 3'000));
    const auto so_far = first_rows(column, n);
    lists.extend(so_far);
    const auto searcher = lists.searcher(so_far);
    const FlatSearcher flat(so_far);
    for (const unsigned one_in : {1U, 3U}) {
      const PreparedQuery query =
          make_query(column.schema, zipf_vector(1 + random() % 20, 800, GetParam(), random));
      const Bitset allowed = random_filter(n, one_in, random);
      const auto filter = one_in == 1 ? RowFilter::all(n) : RowFilter::of(allowed);
      ASSERT_TRUE(same(find(*searcher, query, {}, filter, 20), find(flat, query, {}, filter, 20)))
          << n << " rows, 1/" << one_in;
    }
  }
}

TEST(SeismicScanEdges, GrowingListsTellOfThemselves) {
  Random random(kSeed + 9);
  const auto column = zipf_column(3'000, 80, Signs::kPositive, random);
  GrowingLists lists;
  EXPECT_TRUE(lists.searcher(first_rows(column, 0))->describe().facts.empty());
  lists.extend(column);
  const auto facts = lists.searcher(column)->describe().facts;
  const index::Facts wanted{{"rows_in_lists", std::int64_t{2048}}, {"groups", std::int64_t{2}}};
  EXPECT_EQ(facts, wanted);
}

}  // namespace
}  // namespace quiver::index::testing
