// Vector fields of a replicated collection that change while nodes apply what was committed before.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "engine/model/config.h"
#include "tests/cluster/cluster_rig.h"

namespace quiver::cluster {
namespace {

class FieldsOnlineTest : public ClusterRig {
 protected:
  static FieldSchema field(const std::string& name, std::uint32_t dim) {
    return {name, FieldKind::kDense, dim, DType::kF32, Metric::kDot, SparseModifier::kNone};
  }
  [[nodiscard]] Result<> add(const std::string& name, std::uint32_t dim) {
    return leader()->database().update_config("docs", [&](engine::CollectionConfig& config) {
      return engine::add_field(config, field(name, dim));
    });
  }
  [[nodiscard]] Result<> drop(const std::string& name) {
    return leader()->database().update_config("docs",
                                              [&](engine::CollectionConfig& config) -> Result<> {
                                                engine::drop_field(config, name);
                                                return {};
                                              });
  }
  static std::vector<FieldSchema> fields(TestNode& node) {
    return (*node.database().collection("docs"))->config()->fields;
  }
};

/// An entry is decoded with the fields of its time and applied when there are others.
TEST_F(FieldsOnlineTest, FieldsChangeWhileEntriesAreApplied) {
  TestNode* leads = leader();
  ASSERT_TRUE(leads->database().create_collection("docs", config(1)));
  std::atomic<bool> stop = false;
  std::vector<std::thread> writers;
  for (std::uint64_t t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      for (std::uint64_t i = 0; !stop; ++i) {
        EXPECT_TRUE(update(leads->database(), "docs", point(t * 1'000'000 + i, "a")));
      }
    });
  }
  for (std::uint32_t f = 0; f < 20; ++f) {
    EXPECT_TRUE(add("f" + std::to_string(f), 2 + f));
    if (f % 2 == 1) {
      EXPECT_TRUE(drop("f" + std::to_string(f - 1)));
    }
  }
  stop = true;
  for (auto& writer : writers) writer.join();
  auto last = point(99, "last");
  last.points[0].vectors.push_back({"f19", std::vector<float>(21, 1.0F)});
  ASSERT_TRUE(update(leads->database(), "docs", last));
  const auto expected = points(leads->database(), "docs");
  const auto expected_fields = fields(*leads);
  EXPECT_EQ(expected_fields.size(), 21U);
  for (const auto& node : nodes_) {
    EXPECT_TRUE(comes_true([&] { return points(node->database(), "docs") == expected; }));
    EXPECT_TRUE(comes_true([&] { return fields(*node) == expected_fields; }));
  }
}

TEST_F(FieldsOnlineTest, AConfigurationThatRowsCannotFollowIsRefused) {
  ASSERT_TRUE(leader()->database().create_collection("docs", config(1)));
  ASSERT_TRUE(update(leader()->database(), "docs", point(1, "a")));
  ASSERT_TRUE(add("extra", 3));
  TestNode* other = follower();
  ASSERT_TRUE(comes_true([&] { return fields(*other).size() == 2; }));
  const auto collection = *other->database().collection("docs");
  const auto before = collection->config();
  auto fewer = *before;
  fewer.fields.pop_back();
  auto different = *before;
  different.fields[1] = field("other", 7);
  for (const auto& wrong : {fewer, different}) {
    const auto refused = collection->adopt_config(wrong, [] { return Result<bool>(true); });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::kFailedPrecondition) << refused.error().message();
  }
  EXPECT_EQ(fields(*other), before->fields);
  ASSERT_TRUE(update(leader()->database(), "docs", point(2, "b")));
  EXPECT_TRUE(comes_true([&] { return points(other->database(), "docs").size() == 2; }));
  ASSERT_TRUE(drop("extra"));
  EXPECT_TRUE(comes_true([&] { return engine::is_dropped(fields(*other)[1]); }))
      << "a dropped field keeps its place";
}

}  // namespace
}  // namespace quiver::cluster
