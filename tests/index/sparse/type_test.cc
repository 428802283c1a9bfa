#include "index/sparse/type.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "index/sparse/params.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint64_t kSparseTypeSeed = 125;
const FieldSchema kSparseTypeField{"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};

sparse::SparseSearchOptions search_options(const KeyValues& values) {
  const auto params = kSeismic.parse_search(values);
  EXPECT_TRUE(params) << params.error().to_string();
  const auto options = params->as<sparse::SparseSearchOptions>();
  EXPECT_TRUE(options);
  return **options;
}

TEST(SparseType, IsForSparseFields) {
  EXPECT_EQ(kSeismic.name, "seismic");
  for (const FieldSchema& field : all_schemas(8)) {
    EXPECT_EQ(kSeismic.supports(field), field.kind == FieldKind::kSparse) << describe(field);
  }
}

TEST(SparseType, EffortStandsForThreeParameters) {
  const auto usual = search_options({{"effort", std::int64_t{128}}});
  EXPECT_DOUBLE_EQ(usual.postings, 0.25);
  EXPECT_EQ(usual.blocks.query_cut, 10U);
  EXPECT_FLOAT_EQ(usual.blocks.heap_factor, 0.9F);
  EXPECT_EQ(search_options({{"effort", std::int64_t{512}}}).postings, 1);
  const auto much = search_options({{"effort", std::int64_t{1'000'000}}});
  EXPECT_EQ(much.postings, 1);
  EXPECT_EQ(much.blocks.query_cut, 64U);
  EXPECT_FLOAT_EQ(much.blocks.heap_factor, 0.6F);
  const auto given = search_options({{"postings", 0.5}, {"query_cut", std::int64_t{3}}});
  EXPECT_EQ(given.postings, 0.5);
  EXPECT_EQ(given.blocks.query_cut, 3U);
}

TEST(SparseType, MethodsAndCodecsAreNamed) {
  const std::pair<const char*, sparse::Method> methods[] = {{"auto", sparse::Method::kAuto},
                                                            {"scan", sparse::Method::kScan},
                                                            {"blocks", sparse::Method::kBlocks},
                                                            {"exact", sparse::Method::kExact}};
  for (const auto& [name, method] : methods) {
    EXPECT_EQ(search_options({{"method", name}}).method, method);
  }
  const auto search = kSeismic.parse_search({{"method", "guess"}});
  ASSERT_FALSE(search);
  EXPECT_NE(search.error().message().find("auto, scan, blocks or exact"), std::string::npos);
  for (const char* codec : {"u8", "gaps", "f16", "f32"}) {
    EXPECT_TRUE(kSeismic.parse_build({{"codec", codec}})) << codec;
  }
  const auto build = kSeismic.parse_build({{"codec", "u4"}});
  ASSERT_FALSE(build);
  EXPECT_NE(build.error().message().find("u8, gaps, f16 or f32"), std::string::npos);
}

TEST(SparseType, FilesOfOtherRowsOrNoneAreNoIndex) {
  Random random(kSparseTypeSeed);
  const auto column = random_column(kSparseTypeField, {.n_rows = 20}, random);
  const auto other = random_column(kSparseTypeField, {.n_rows = 21}, random);
  const auto directory = make_memory_directory();
  EXPECT_FALSE(kSeismic.open(*directory, column));
  const Cancel cancel;
  ASSERT_TRUE(kSeismic.build(column, {}, {nullptr, cancel, 1, nullptr}, *directory));
  EXPECT_TRUE(kSeismic.open(*directory, column));
  const auto opened = kSeismic.open(*directory, other);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace quiver::index::testing
