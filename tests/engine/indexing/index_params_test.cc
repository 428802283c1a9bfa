#include <gtest/gtest.h>

#include "engine/indexing/index_params.h"
#include "engine/indexing/indexes.h"
#include "engine/segment/segment_file.h"
#include "index/dense/osq/params.h"
#include "index/dense/params.h"
#include "index/exact/type.h"
#include "tests/engine/indexing/copied_index.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

TEST(IndexParams, FromKindTypeAndEffort) {
  const FieldSchema sparse{"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};
  const auto parse = [&](const SearchParams& params) {
    const auto parsed = index_params(kCopied, sparse, params);
    EXPECT_TRUE(parsed) << parsed.error().to_string();
    return *parsed->as<CopiedSearchParams>().value();
  };
  SearchParams params;
  EXPECT_EQ(parse(params).effort, 1U);
  params.hnsw_ef = 99;
  EXPECT_EQ(parse(params).effort, 99U);
  params.index["sparse"]["effort"] = std::int64_t{5};
  params.index["sparse"]["loud"] = true;
  params.index["dense"]["nonsense"] = true;
  params.index["no such index"]["nonsense"] = true;
  EXPECT_EQ(parse(params).effort, 5U);
  EXPECT_TRUE(parse(params).loud);
  params.index["copied"]["effort"] = std::int64_t{6};
  EXPECT_EQ(parse(params).effort, 6U) << "the type's name is the more special";
}

TEST(IndexParams, OversamplingIsForTypesThatHaveIt) {
  const FieldSchema dense{"", FieldKind::kDense, 4, DType::kF32, Metric::kDot, {}};
  SearchParams params;
  params.oversampling = 2.5;
  params.hnsw_ef = 7;
  const auto copied = index_params(kCopied, dense, params);
  ASSERT_TRUE(copied) << copied.error().to_string();
  EXPECT_EQ(copied->as<CopiedSearchParams>().value()->effort, 7U);
  const auto* ivf = default_index(dense);
  auto parsed = index_params(*ivf, dense, params);
  ASSERT_TRUE(parsed) << parsed.error().to_string();
  EXPECT_EQ(parsed->as<index::dense::DenseSearchParams>().value()->oversampling, 2.5);
  params.index["ivf"]["oversampling"] = 3.0;
  params.index["dense"]["nprobe"] = std::int64_t{5};
  parsed = index_params(*ivf, dense, params);
  ASSERT_TRUE(parsed) << parsed.error().to_string();
  EXPECT_EQ(parsed->as<index::dense::DenseSearchParams>().value()->oversampling, 3.0);
  EXPECT_EQ(parsed->as<index::dense::DenseSearchParams>().value()->nprobe, 5U);
}

/// While another type is being built, the old index gets what it knows.
TEST(IndexParams, AnIndexOfAnotherTypeGetsItsOwn) {
  const FieldSchema dense{"", FieldKind::kDense, 4, DType::kF32, Metric::kDot, {}};
  const auto* ivf = default_index(dense);
  const auto* osq = index::find_index_type("osq");
  SearchParams params;
  params.hnsw_ef = 300;
  params.index["osq"]["rerank_factor"] = 3.0;
  const auto wanted = index_params(*osq, dense, params).value();
  const auto effort_of = [&] {
    const auto present = params_for_present(*ivf, *osq, wanted, dense, params);
    return present.as<index::dense::DenseSearchParams>().value()->effort;
  };
  EXPECT_EQ(effort_of(), 300U);
  params.index["dense"]["rerank_factor"] = 3.0;  // of the new type only
  EXPECT_EQ(effort_of(), 0U);
  const auto same = params_for_present(*osq, *osq, wanted, dense, params);
  EXPECT_TRUE(same.as<index::dense::osq::OsqSearchParams>());
  const auto exact = params_for_present(*flat_index(), *osq, wanted, dense, params);
  EXPECT_TRUE(exact.as<index::dense::osq::OsqSearchParams>());
}

TEST(IndexParams, UnknownOnesAreNamedBesideTheKnown) {
  const FieldSchema sparse{"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};
  SearchParams params;
  params.index["sparse"]["querycut"] = std::int64_t{5};
  const auto parsed = index_params(kCopied, sparse, params);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code(), Code::kInvalidArgument);
  for (const char* name : {"querycut", "effort", "loud"}) {
    EXPECT_NE(parsed.error().message().find(name), std::string::npos) << parsed.error().message();
  }
}

TEST(IndexParams, FieldsThatAreSearchedExactlyTakeThoseOfTheirKind) {
  for (const FieldKind kind : {FieldKind::kDense, FieldKind::kMulti}) {
    for (const Metric metric : {Metric::kEuclid, Metric::kManhattan}) {
      const FieldSchema schema{"", kind, 4, DType::kF32, metric, {}};
      const char* group = kind == FieldKind::kDense ? "dense" : "multi";
      const char* name = kind == FieldKind::kDense ? "nprobe" : "candidates";
      SearchParams params;
      params.index[group][name] = std::int64_t{5};
      const auto known = index_params(*default_index(schema), schema, params);
      EXPECT_TRUE(known) << known.error().to_string();
      EXPECT_TRUE(index_params(*flat_index(), schema, params));
      params.index[group]["nonsense"] = true;
      const auto unknown = index_params(*flat_index(), schema, params);
      ASSERT_FALSE(unknown);
      EXPECT_EQ(unknown.error().code(), Code::kInvalidArgument);
      EXPECT_NE(unknown.error().message().find(name), std::string::npos)
          << unknown.error().message();
      params.index.erase(group);
      params.index["flat"]["nonsense"] = true;
      EXPECT_FALSE(index_params(*flat_index(), schema, params));
    }
  }
}

TEST(IndexParams, EffortIsForThoseThatHaveIt) {
  const FieldSchema dense{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, {}};
  SearchParams params;
  params.hnsw_ef = 128;
  EXPECT_TRUE(index_params(index::kFlat, dense, params));
  params.hnsw_ef = ~std::uint64_t{0};
  EXPECT_TRUE(index_params(kCopied, dense, params)) << "too large for this type: it is a hint";
}

}  // namespace
}  // namespace quiver::engine::testing
