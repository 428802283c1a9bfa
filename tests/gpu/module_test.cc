#include "gpu/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/devices.h"
#include "gpu/emulated/emulated.h"

namespace quiver::gpu {
namespace {

using ::testing::HasSubstr;

Result<std::unique_ptr<Devices>> open_with(const char* devices, const char* module = "") {
  Options options;
  options.devices = devices;
  options.module = module;
  return Devices::open(options);
}

const qv_gpu_api* none(std::uint32_t) { return nullptr; }
const qv_gpu_api* of_another_version(std::uint32_t) {
  static qv_gpu_api api = *emulated::api(QV_GPU_ABI);
  api.abi = QV_GPU_ABI + 1;
  return &api;
}
const qv_gpu_api* with_a_shorter_table(std::uint32_t) {
  static qv_gpu_api api = *emulated::api(QV_GPU_ABI);
  api.size -= sizeof(void*);
  return &api;
}

TEST(Module, TakesItsOwnVersionOnly) {
  EXPECT_TRUE(Module::of(emulated::api, "m"));
  for (const auto function : {none, of_another_version, with_a_shorter_table}) {
    const auto module = Module::of(function, "m");
    ASSERT_FALSE(module);
    EXPECT_EQ(module.error().code(), Code::kFailedPrecondition);
    EXPECT_THAT(module.error().message(), HasSubstr("this server needs version 4"));
  }
  EXPECT_EQ(emulated::api(QV_GPU_ABI + 1), nullptr);
}

TEST(Module, SaysWhyAFileIsNone) {
  const auto missing = Module::load("/no/such/module.so");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("/no/such/module.so"));
  const auto other = Module::load("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("it has no `qv_gpu`"));
}

TEST(Module, APathThatIsSetIsTakenAsItIs) {
  EXPECT_EQ(find_module("/some/where.so"), "/some/where.so");
}

TEST(Devices, OptionsThatMeanNothingAreRefused) {
  for (const char* devices : {"", "some", "0,", "-1", "0 1", "0,1,0", "emulated:", "emulated:soon",
                              "emulated:lost@0", "emulated:lost@x", "emulated2"}) {
    const auto opened = open_with(devices);
    ASSERT_FALSE(opened) << devices;
    EXPECT_EQ(opened.error().code(), Code::kInvalidArgument) << devices;
  }
}

TEST(Devices, AModuleThatCannotBeLoadedIsAnErrorOnlyIfADeviceIsNamed) {
  const auto automatic = open_with("auto", "/no/such/module.so");
  ASSERT_TRUE(automatic);
  EXPECT_FALSE((*automatic)->is_useful());
  EXPECT_THAT((*automatic)->report().reason, HasSubstr("/no/such/module.so"));
  const auto named = open_with("0", "/no/such/module.so");
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code(), Code::kFailedPrecondition);
}

TEST(Devices, OffSaysSo) {
  const auto off = open_with("off");
  ASSERT_TRUE(off);
  EXPECT_FALSE((*off)->is_useful());
  EXPECT_EQ((*off)->report().reason, "gpu.devices is off");
}

}  // namespace
}  // namespace quiver::gpu
