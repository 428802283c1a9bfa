#include "engine/model/memory_plan.h"

#include <gtest/gtest.h>

#include "engine/model/config.h"

namespace quiver::engine {
namespace {

using enum MemoryPlacement;

const std::vector<FieldSchema> kFields = {
    {"a", FieldKind::kDense, 4, DType::kF32, Metric::kDot, SparseModifier::kNone},
    {"b", FieldKind::kMulti, 4, DType::kF32, Metric::kDot, SparseModifier::kNone},
    {"s", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kNone},
};

MemoryPlan plan_of(std::string_view settings) { return memory_plan_of(settings, kFields, {}); }

TEST(MemoryPlan, EverythingIsCachedAtFirst) {
  EXPECT_EQ(plan_of(""), MemoryPlan());
  EXPECT_EQ(plan_of("{}"), MemoryPlan());
  EXPECT_EQ(plan_of("not JSON"), MemoryPlan());
  EXPECT_EQ(plan_of(R"({"vectors":{"a":{"size":4,"on_disk":false,"memory":"cached"}},
                        "hnsw_config":{"on_disk":false},"on_disk_payload":false})"),
            MemoryPlan());
}

TEST(MemoryPlan, FieldsHaveTheirOwnPlacesOrThoseOfTheCollection) {
  const auto plan = plan_of(
      R"({"vectors":{"a":{"size":4,"on_disk":true,"hnsw_config":{"memory":"pinned"}},"b":{"size":4}},
          "sparse_vectors":{"s":{"index":{"on_disk":true}}},"hnsw_config":{"on_disk":true}})");
  EXPECT_EQ(plan.field("a"), (FieldPlacement{kCold, kPinned}));
  EXPECT_EQ(plan.field("b"), (FieldPlacement{kCached, kCold}));
  EXPECT_EQ(plan.field("s"), (FieldPlacement{kCold, kCold}));
  EXPECT_EQ(plan.field("unknown"), FieldPlacement());
}

TEST(MemoryPlan, MemoryOverridesTheOlderFlag) {
  const auto plan = plan_of(R"({"vectors":{"a":{"size":4,"on_disk":true,"memory":"cached"}},
                                "sparse_vectors":{"s":{"index":{"on_disk":true,"memory":"pinned"}}},
                                "on_disk_payload":true,"payload":{"memory":"cached"}})");
  EXPECT_EQ(plan.field("a").vectors, kCached);
  EXPECT_EQ(plan.field("s").index, kPinned);
  EXPECT_EQ(plan.payloads, kCached);
}

TEST(MemoryPlan, UnnamedVectorsHaveNoNameAroundThem) {
  EXPECT_EQ(plan_of(R"({"vectors":{"size":4,"memory":"cold"}})").field("a").vectors, kCold);
}

TEST(MemoryPlan, TheWarmerOfIndexAndCodesCounts) {
  const auto index_of = [](std::string_view settings) {
    return plan_of(settings).field("a").index;
  };
  EXPECT_EQ(index_of(R"({"quantization_config":{"scalar":{"type":"int8","memory":"pinned"}}})"),
            kPinned);
  EXPECT_EQ(index_of(R"({"hnsw_config":{"memory":"cold"},
                         "quantization_config":{"scalar":{"type":"int8","always_ram":true}}})"),
            kCached);
  EXPECT_EQ(index_of(R"({"hnsw_config":{"memory":"cold"},
                         "quantization_config":{"scalar":{"type":"int8","always_ram":false}}})"),
            kCold);
  EXPECT_EQ(index_of(R"({"hnsw_config":{"memory":"pinned"},
                         "quantization_config":{"binary":{"memory":"cold"}}})"),
            kPinned);
}

TEST(MemoryPlan, PayloadsIdsAndPayloadIndexes) {
  payload::FieldIndex cold;
  cold.key = "k";
  cold.client_settings = R"({"type":"keyword","on_disk":true})";
  payload::FieldIndex pinned;
  pinned.key = "p";
  pinned.client_settings = R"({"type":"integer","memory":"pinned"})";
  payload::FieldIndex usual;
  usual.key = "u";
  usual.client_settings = R"("keyword")";
  const auto plan = memory_plan_of(R"({"on_disk_payload":true,"id_tracker":{"memory":"pinned"}})",
                                   kFields, {cold, pinned, usual});
  EXPECT_EQ(plan.payloads, kCold);
  EXPECT_EQ(plan.ids, kPinned);
  EXPECT_EQ(plan.column("k"), kCold);
  EXPECT_EQ(plan.column("p"), kPinned);
  EXPECT_EQ(plan.column("u"), kCached);
}

TEST(MemoryPlan, FollowsFromAStoredConfiguration) {
  CollectionConfig config;
  config.fields = kFields;
  config.client_settings = R"({"id_tracker":{"memory":"pinned"}})";
  const auto read = parse_config(to_json(config));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->memory.ids, kPinned);
}

}  // namespace
}  // namespace quiver::engine
