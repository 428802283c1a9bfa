// Files of a running shard are placed as its configuration asks, also when it changes.
#include "engine/shard/state/memory_placing.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <fstream>

#include "tests/engine/shard/shard_rig.h"

namespace quiver::engine::testing {
namespace {

std::uint64_t locked_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmLck:")) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

bool counts_locked_pages() {
  const std::uint64_t before = locked_bytes();
  alignas(4096) static char page[4096];
  const bool counts = ::mlock(page, sizeof(page)) == 0 && locked_bytes() > before;
  (void)::munlock(page, sizeof(page));
  return counts;
}

class MemoryPlacingTest : public ShardRig {
 protected:
  void SetUp() override {
    if (!counts_locked_pages()) GTEST_SKIP() << "this system does not count locked pages";
    before_ = locked_bytes();
    config_->optimizer.seal_rows = kRows;
    ShardRig::SetUp();
  }
  void TearDown() override {
    if (!IsSkipped()) ShardRig::TearDown();
  }
  void fill(std::uint64_t from = 0) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = from; id < from + kRows; ++id) ids.push_back(id);
    ASSERT_TRUE(send(put_request(ids)));
    const std::size_t n = n_done(JobKind::kSeal);
    ASSERT_TRUE(comes_true([&] { return n_sealed() != 0 && n_done(JobKind::kSeal) >= n; }));
  }
  void set_ids(std::string_view memory) {
    config_ = std::make_shared<CollectionConfig>(*config_);
    config_->client_settings = fmt::format(R"({{"id_tracker":{{"memory":"{}"}}}})", memory);
    config_->memory = memory_plan_of(config_->client_settings, config_->fields, {});
  }
  [[nodiscard]] std::uint64_t n_locked() const { return locked_bytes() - before_; }

  static constexpr std::uint64_t kRows = 1000;
  static constexpr std::uint64_t kLeast = kRows * 24 - 2 * 4096;  ///< ids, without broken pages
  std::uint64_t before_ = 0;
};

TEST_F(MemoryPlacingTest, AChangeTakesEffectOnSegmentsThatAreThere) {
  fill();
  EXPECT_EQ(n_locked(), 0U);
  set_ids("pinned");
  set_config();
  EXPECT_TRUE(comes_true([&] { return n_locked() >= kLeast; })) << n_locked();
  EXPECT_EQ(shard_->memory_warning(), "");
  set_ids("cold");
  set_config();
  EXPECT_TRUE(comes_true([&] { return n_locked() == 0; })) << n_locked();
  for (std::uint64_t id = 0; id < kRows; ++id) ASSERT_TRUE(has(id));
}

TEST_F(MemoryPlacingTest, NewSegmentsAndThoseOfARestartArePinned) {
  set_ids("pinned");
  open();
  fill();
  EXPECT_TRUE(comes_true([&] { return n_locked() >= kLeast; })) << n_locked();
  fill(kRows);
  EXPECT_TRUE(comes_true([&] { return n_locked() >= 2 * kLeast; })) << n_locked();
  open();
  EXPECT_TRUE(comes_true([&] { return n_locked() >= 2 * kLeast; })) << n_locked();
  shard_.reset();
  EXPECT_EQ(n_locked(), 0U);
}

}  // namespace
}  // namespace quiver::engine::testing
