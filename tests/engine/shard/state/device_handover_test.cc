// What takes the place of segments on devices is there before searches see it. No search runs here,
// so nothing else would have it copied.
#include "engine/shard/state/device_handover.h"

#include <numeric>

#include "gpu/devices.h"
#include "tests/engine/shard/shard_rig.h"

namespace quiver::engine::testing {
namespace {

class DeviceHandoverTest : public ShardRig {
 protected:
  void SetUp() override {
    open_devices(0);
    config_->optimizer.seal_rows = kRows;
    config_->optimizer.max_threads = 0;  // until the segments are on the device
    config_->optimizer.index_min_bytes = 1ULL << 40;
    ShardRig::SetUp();
  }
  void TearDown() override {
    ShardRig::TearDown();
    devices_.reset();
  }
  void open_devices(std::uint64_t memory_bytes) {
    gpu::Options options;
    options.devices = "emulated";
    options.min_bytes = 0;
    options.memory_bytes = memory_bytes;
    devices_ = gpu::Devices::open(options).value();
    context_.devices = devices_.get();
  }
  /// Those of the i-th segment.
  static std::vector<std::uint64_t> ids_of(std::uint64_t i) {
    std::vector<std::uint64_t> ids(kRows);
    std::iota(ids.begin(), ids.end(), i * kRows);
    return ids;
  }
  /// As many segments as are merged by their number.
  void fill_segments() {
    for (std::uint64_t i = 0; i < kSegments; ++i) {
      ASSERT_TRUE(send(put_request(ids_of(i))));
      ASSERT_TRUE(comes_true([&] { return n_sealed() == i + 1; }));
    }
  }
  void hold_all(gpu::Held held) {
    const Cancel cancel;
    for (const auto& segment : shard_->snapshot()->segments) {
      EXPECT_TRUE(segment.data->searchers[0]->hold(*devices_, held, cancel));
    }
  }
  void change(const std::function<void(CollectionConfig&)>& change) {
    config_ = std::make_shared<CollectionConfig>(*config_);
    change(*config_);
    set_config();
  }
  void merge(const std::function<void(CollectionConfig&)>& also = [](CollectionConfig&) {}) {
    change([&](CollectionConfig& config) {
      config.optimizer.max_threads = 1;
      also(config);
    });
    EXPECT_TRUE(comes_true([&] { return n_sealed() == 1; })) << n_sealed();
  }
  [[nodiscard]] gpu::Held held() const {
    gpu::Held held;
    for (const auto& segment : shard_->snapshot()->segments) {
      if (!segment.data->sealed) continue;
      held.rows |= segment.data->searchers[0]->is_on_device(segment.n_live());
      held.usual |= segment.data->searchers[0]->is_index_on_device(segment.n_live());
    }
    return held;
  }

  static constexpr std::uint64_t kRows = 500;
  static constexpr std::uint64_t kSegments = 4;
  static constexpr std::uint64_t kDeviceBytes = QV_ROW_ALIGNMENT + sizeof(qv_row);  ///< a row
  std::unique_ptr<gpu::Devices> devices_;
};

TEST_F(DeviceHandoverTest, AMergedSegmentIsThereBeforeSearchesSeeIt) {
  fill_segments();
  hold_all({.rows = true});
  EXPECT_TRUE(held().rows);
  merge();
  EXPECT_TRUE(held().rows);
  EXPECT_EQ(devices_->report().n_evictions, 0U);
}

TEST_F(DeviceHandoverTest, ASealedSegmentIsThereIfOthersAre) {
  fill_segments();
  hold_all({.rows = true});
  ASSERT_TRUE(send(put_request(ids_of(kSegments))));
  ASSERT_TRUE(comes_true([&] { return n_sealed() == kSegments + 1; }));
  for (const auto& segment : shard_->snapshot()->segments) {
    if (segment.data->sealed) EXPECT_TRUE(segment.data->searchers[0]->is_on_device(kRows));
  }
}

TEST_F(DeviceHandoverTest, WhatWasNotThereIsNotCopied) {
  fill_segments();
  merge();
  EXPECT_FALSE(held().any());
  EXPECT_EQ(devices_->report().devices[0].n_uploaded_bytes, 0U);
}

TEST_F(DeviceHandoverTest, WhereThereIsNoRoomForBothSegmentsAreMergedAllTheSame) {
  open_devices(kSegments * kRows * kDeviceBytes * 3 / 2);
  open();
  fill_segments();
  hold_all({.rows = true});
  merge();
  EXPECT_FALSE(held().any());
}

TEST_F(DeviceHandoverTest, ALostDeviceHoldsNothingUp) {
  gpu::Options options;
  options.devices = "emulated:lost@4";
  options.min_bytes = 0;
  shard_.reset();
  devices_ = gpu::Devices::open(options).value();
  context_.devices = devices_.get();
  open();
  fill_segments();
  hold_all({.rows = true});
  EXPECT_TRUE(devices_->has_lost_device());
  merge();
  EXPECT_FALSE(held().any());
}

TEST_F(DeviceHandoverTest, ASettingCountsForWhatIsNew) {
  fill_segments();
  merge([](CollectionConfig& config) { config.vector_indexes[""].on_gpu = gpu::Placing::kAlways; });
  EXPECT_TRUE(held().rows);
  shard_.reset();
  std::filesystem::remove_all(root_);
  config_->optimizer.max_threads = 0;
  config_->vector_indexes.clear();
  open();
  fill_segments();
  hold_all({.rows = true});
  const auto n_before = devices_->report().devices[0].n_uploaded_bytes;
  merge([](CollectionConfig& config) { config.vector_indexes[""].on_gpu = gpu::Placing::kNever; });
  EXPECT_FALSE(held().any());
  EXPECT_EQ(devices_->report().devices[0].n_uploaded_bytes, n_before);
}

/// Rows of a segment without an index are there: so are the lists of its index, at once.
TEST_F(DeviceHandoverTest, ANewIndexIsThereBeforeSearchesSeeIt) {
  fill_segments();
  merge();
  hold_all({.rows = true});
  EXPECT_FALSE(held().usual);
  change([](CollectionConfig& config) {
    config.optimizer.index_min_bytes = 0;
    config.vector_indexes[""].build = {{"graph", "never"}};
  });
  EXPECT_TRUE(comes_true([&] { return n_done(JobKind::kIndex) == 1; }));
  EXPECT_TRUE(held().rows);
  EXPECT_TRUE(held().usual);
}

}  // namespace
}  // namespace quiver::engine::testing
