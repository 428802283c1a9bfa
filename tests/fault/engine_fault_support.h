// A collection on a machine whose disk can lose power, fill up and fail: the shard's store is on a
// PowerCutDisk, its segments are in a FaultyDirectory.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/fault/power_cut_fs.h"
#include "tests/model/runner.h"
#include "tests/support/faulty_directory.h"

namespace quiver::fault {

class EngineFault : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_engine_fault_" + std::to_string(getpid()));
    new_machine();
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void new_machine() {
    std::filesystem::remove_all(root_);
    disk_ = std::make_shared<PowerCutDisk>();
    auto inner = open_real_directory((root_ / "segments").string()).value();
    segments_ = std::make_shared<FaultyDirectory>(std::move(inner));
  }
  [[nodiscard]] engine::DatabaseOptions options() const {
    auto options = model::small_options((root_ / "data").string());
    options.store_file_system = disk_;
    // A new directory is durable, as a real one is.
    options.open_directory =
        [segments = segments_](const std::string& path) -> Result<std::unique_ptr<Directory>> {
      QV_TRY(auto opened, segments->subdirectory(std::filesystem::path(path).filename().string()));
      QV_TRY(segments->sync());
      return opened;
    };
    return options;
  }

  std::filesystem::path root_;
  std::shared_ptr<PowerCutDisk> disk_;
  std::shared_ptr<FaultyDirectory> segments_;
};

}  // namespace quiver::fault
