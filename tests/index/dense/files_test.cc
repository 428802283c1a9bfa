#include <gtest/gtest.h>

#include "encoders/transforms/rotation.h"
#include "index/dense/graph/beam.h"
#include "index/dense/graph/graph.h"
#include "index/dense/graph/links.h"
#include "index/dense/lists/search/lists_files.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/graph/graph_support.h"

namespace quiver::index::testing {
namespace {

/// docs/decisions/0023.
TEST(GraphRule, OnlyWhereListsWouldReadMuchMore) {
  Random random(kSeed);
  const auto has_graph = [](const FieldColumn& column, const KeyValues& values) {
    const IvfIndex index(column, values);
    return dense::Graph::exists(*index.directory);
  };
  const KeyValues automatic{{"degree", std::int64_t{16}}};
  const auto schema = dense_schema(64, Metric::kCosine);
  const FieldColumn hard = scattered(schema, 10'000, random);
  EXPECT_TRUE(has_graph(hard, automatic));
  EXPECT_FALSE(has_graph(hard, {{"graph", "never"}}));
  EXPECT_FALSE(has_graph(hard, {{"degree", std::int64_t{16}}, {"bits", std::int64_t{2}}}))
      << "codes of one's own are for little memory";
  std::vector<std::optional<PlainVector>> equal(10'000);
  for (std::uint32_t row = 0; row < equal.size(); ++row) {
    const float* values = reinterpret_cast<const float*>(hard.dense().rows().row(row));
    if (row % 500 == 0) values = reinterpret_cast<const float*>(hard.dense().rows().row(0));
    equal[row] =
        PlainVector{.values = std::vector<float>(values, values + schema.dim), .indices = {}};
  }
  EXPECT_FALSE(has_graph(make_column(schema, equal), automatic)) << "20 equal rows";
  Clumps clumps(schema, 100, random);
  const FieldColumn easy = clumps.column(7000);
  EXPECT_FALSE(has_graph(easy, automatic));
  EXPECT_TRUE(has_graph(easy, with_graph()));
  EXPECT_FALSE(has_graph(scattered(dense_schema(64), 7000, random), automatic))
      << "Dot, and rows of different lengths";
}

TEST(GraphParams, AreRefusedWithWhatWasWanted) {
  const auto error_of = [](const KeyValues& values) {
    const auto parsed = ivf_type().parse_build(values);
    EXPECT_FALSE(parsed);
    return parsed ? std::string() : parsed.error().message();
  };
  EXPECT_EQ(error_of({{"graph", "yes"}}), "graph is \"yes\", must be auto, always or never");
  EXPECT_EQ(error_of({{"degree", std::int64_t{24}}}), "degree is 24, must be a multiple of 16");
  EXPECT_EQ(error_of({{"graph", "always"}, {"refine_bits", std::int64_t{0}}}),
            "graph is \"always\" and refine_bits 0: a graph needs second codes, 8");
}

}  // namespace
}  // namespace quiver::index::testing
