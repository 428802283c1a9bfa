#include "engine/collections/catalog_gate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace quiver::engine {
namespace {

class CatalogGateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_catalog_gate_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    directory_ = open_real_directory(root_.string()).value();
    ASSERT_TRUE(gate_.open(*directory_, root_.string()));
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::filesystem::path root_;
  std::unique_ptr<Directory> directory_;
  CatalogGate gate_;
};

TEST_F(CatalogGateTest, OneProcessOwnsTheDirectory) {
  CatalogGate second;
  EXPECT_FALSE(second.open(*directory_, root_.string()));
}

TEST_F(CatalogGateTest, SuccessLeavesTheGateAlone) {
  EXPECT_TRUE(gate_.check_open());
  EXPECT_EQ(gate_.checked(Result<int>(3)).value(), 3);
  gate_.update();
  EXPECT_TRUE(gate_.check_open());
}

TEST_F(CatalogGateTest, TheGateClosesWhenTheDirectoryIsGone) {
  std::filesystem::remove_all(root_);
  const Result<> failed = fail(Code::kUnavailable, "not written");
  EXPECT_FALSE(gate_.checked(failed));
  const auto refused = gate_.check_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
  EXPECT_FALSE(gate_.writes()->check());
}

}  // namespace
}  // namespace quiver::engine
