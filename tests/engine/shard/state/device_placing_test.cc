// Devices hold sealed segments of a running shard as its configuration asks, also when it changes.
#include "engine/shard/state/device_placing.h"

#include "gpu/devices.h"
#include "tests/engine/shard/shard_rig.h"
#include "tests/gpu/support.h"

namespace quiver::engine::testing {
namespace {

class DevicePlacingTest : public ShardRig {
 protected:
  void SetUp() override {
    open_devices(0);
    config_->optimizer.seal_rows = kRows;
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
  void fill(std::uint64_t from) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = from; id < from + kRows; ++id) ids.push_back(id);
    const std::size_t n = n_sealed();
    ASSERT_TRUE(send(put_request(ids)));
    ASSERT_TRUE(comes_true([&] { return n_sealed() == n + 1; }));
  }
  void set(gpu::Placing placing) {
    config_ = std::make_shared<CollectionConfig>(*config_);
    config_->vector_indexes.clear();
    if (placing != gpu::Placing::kAuto) config_->vector_indexes[""].on_gpu = placing;
  }
  [[nodiscard]] std::uint64_t n_parts() {
    devices_->wait_for_loading();
    return devices_->report().devices[0].n_parts;
  }

  static constexpr std::uint64_t kRows = 500;
  static constexpr std::uint64_t kDeviceBytes = QV_ROW_ALIGNMENT + sizeof(qv_row);  ///< a row
  std::unique_ptr<gpu::Devices> devices_;
};

TEST_F(DevicePlacingTest, AChangeTakesEffectOnSegmentsThatAreThere) {
  fill(0);
  fill(kRows);
  EXPECT_EQ(n_parts(), 0U);
  set(gpu::Placing::kAlways);
  set_config();
  EXPECT_TRUE(comes_true([&] { return n_parts() == 2; })) << n_parts();
  set(gpu::Placing::kNever);
  set_config();
  EXPECT_TRUE(comes_true([&] { return n_parts() == 0; })) << n_parts();
  set(gpu::Placing::kAlways);
  set_config();
  EXPECT_TRUE(comes_true([&] { return n_parts() == 2; })) << n_parts();
  set(gpu::Placing::kAuto);
  set_config();
  EXPECT_EQ(n_parts(), 2U);
}

/// There is room for one segment, and somebody else has it.
TEST_F(DevicePlacingTest, RowsComeOnceThereIsRoomAndGiveWayOnceTheyMay) {
  shard_.reset();
  open_devices(kRows * kDeviceBytes * 3 / 2);
  gpu::testing::Random random(3);
  const auto others = gpu::testing::random_rows(kRows, 2, DType::kF32, gpu::testing::Kind::kNormal,
                                                Similarity::kDot, random);
  gpu::Slot slot;
  devices_->place(slot, others, gpu::Placing::kAlways);
  set(gpu::Placing::kAlways);
  open();
  fill(0);
  EXPECT_EQ(n_parts(), 1U);
  EXPECT_TRUE(slot.is_on_device());
  devices_->place(slot, others, gpu::Placing::kAuto);
  EXPECT_TRUE(comes_true([&] {
    shard_->tick();
    return n_parts() == 1 && !slot.is_on_device();
  }));
  set(gpu::Placing::kAuto);
  set_config();
  devices_->place(slot, others, gpu::Placing::kAlways);
  EXPECT_EQ(n_parts(), 1U);
  EXPECT_TRUE(slot.is_on_device());
  for (int i = 0; i < 3; ++i) shard_->tick();  // which ask for nothing without a setting
  EXPECT_EQ(n_parts(), 1U);
  EXPECT_TRUE(slot.is_on_device());
}

TEST_F(DevicePlacingTest, NewSegmentsAndThoseOfARestartArePlaced) {
  set(gpu::Placing::kAlways);
  open();
  fill(0);
  EXPECT_TRUE(comes_true([&] { return n_parts() == 1; })) << n_parts();
  fill(kRows);
  EXPECT_TRUE(comes_true([&] { return n_parts() == 2; })) << n_parts();
  shard_.reset();
  EXPECT_EQ(n_parts(), 0U);
  open();
  EXPECT_TRUE(comes_true([&] { return n_parts() == 2; })) << n_parts();
}

}  // namespace
}  // namespace quiver::engine::testing
