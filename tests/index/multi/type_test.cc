#include "index/multi/type.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "index/multi/searcher.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint64_t kMultiTypeSeed = 111;
const FieldSchema kMultiTypeField{"", FieldKind::kMulti, 8, DType::kF32, Metric::kDot, {}};

TEST(MultiType, IsForMultiVectorsByProducts) {
  EXPECT_EQ(kMulti.name, "multi");
  for (const FieldSchema& field : all_schemas(8)) {
    const bool is_product = field.metric == Metric::kDot || field.metric == Metric::kCosine;
    EXPECT_EQ(kMulti.supports(field), field.kind == FieldKind::kMulti && is_product)
        << describe(field);
  }
}

TEST(MultiType, ReadsWhatDecides) {
  const std::pair<const char*, multi::Rerank> names[] = {{"full", multi::Rerank::kFull},
                                                         {"codes", multi::Rerank::kCodes},
                                                         {"none", multi::Rerank::kNone}};
  for (const auto& [name, rerank] : names) {
    const auto params = kMulti.parse_search({{"rerank", name}, {"candidates", std::int64_t{9}}});
    ASSERT_TRUE(params) << name;
    const auto options = params->as<multi::MultiSearchOptions>();
    ASSERT_TRUE(options);
    EXPECT_EQ((*options)->rerank, rerank);
    EXPECT_EQ((*options)->params.candidates, 9U);
  }
  EXPECT_FALSE(kMulti.parse_search({{"rerank", "both"}}));
  EXPECT_FALSE(kMulti.parse_search({{"nprobe", std::int64_t{3}}})) << "of another type";
}

TEST(MultiType, AnEmptyDirectoryIsNoIndex) {
  Random random(kMultiTypeSeed);
  const auto column = random_column(kMultiTypeField, {.n_rows = 5}, random);
  EXPECT_FALSE(kMulti.open(*make_memory_directory(), column));
}

}  // namespace
}  // namespace quiver::index::testing
