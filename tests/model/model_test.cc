// Seeded random operations on a collection against a map, with seals, merges, clean-ups, payload
// indexes that come and go, reopening and kill -9.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "gpu/devices.h"
#include "tests/model/runner.h"
#include "tests/soak.h"

namespace quiver::model {
namespace {

/// A seed and a directory of its own.
class Scenario {
 public:
  Scenario(std::uint64_t seed, double seconds)
      : seed_(seed),
        seconds_(seconds),
        random_(seed),
        directory_(std::filesystem::path(::testing::TempDir()) /
                   ("quiver_model_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(directory_);
  }
  ~Scenario() { std::filesystem::remove_all(directory_); }
  Scenario(const Scenario&) = delete;
  Scenario& operator=(const Scenario&) = delete;

  void run() {
    auto options = small_options(directory_.string());
    const auto devices = some_devices();
    options.devices = devices.get();
    Runner runner(std::move(options), random_config(random_));
    if (::testing::Test::HasFailure()) return;
    runner.open();
    for (int round = 0; round < 6 && clock_.seconds() < seconds_; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      if (::testing::Test::HasFatalFailure()) return;
      live(runner);
      if (::testing::Test::HasFailure()) return;
      rest_and_reopen(runner, round);
      if (::testing::Test::HasFailure()) return;
    }
    if (devices != nullptr) {
      note_soak("answered by a device", devices->report().devices[0].n_queries);
    }
  }

 private:
  /// In every third collection a device helps with exact searches: it has room for some segments,
  /// and may fail.
  std::unique_ptr<gpu::Devices> some_devices() {
    if (random_() % 3 != 0) return nullptr;
    gpu::Options options;
    options.devices = "emulated";
    if (random_() % 3 == 0) {
      const char* const faults[] = {"lost", "not", "no_memory"};
      options.devices += ":" + std::string(faults[random_() % 3]) + "@";
      options.devices += std::to_string(10 + random_() % 300);
    }
    options.min_bytes = 0;
    options.memory_bytes = std::uint64_t{16 << 10} << random_() % 8;
    options.idle_time = std::chrono::milliseconds(20);
    options.check_share = 0.1;
    auto devices = gpu::Devices::open(options);
    EXPECT_TRUE(devices) << devices.error().to_string();
    return devices ? *std::move(devices) : nullptr;
  }

  void live(Runner& runner) {
    const bool with_reader = random_() % 3 == 0;
    if (with_reader) runner.start_reader(random_());
    const std::uint64_t n_steps = 40 + random_() % 200;
    for (std::uint64_t step = 0; step < n_steps && clock_.seconds() < seconds_; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      runner.random_step(random_);
      if (::testing::Test::HasFailure()) break;
    }
    runner.stop_reader();
    if (!::testing::Test::HasFailure()) runner.check_everything();
  }

  void rest_and_reopen(Runner& runner, int round) {
    if (random_() % 2 == 0) runner.check_rest();
    if (random_() % 2 == 0) {
      SCOPED_TRACE("crash");
      crash_and_recover(runner, seed_ * 100 + static_cast<std::uint64_t>(round), random_);
    } else {
      SCOPED_TRACE("reopened");
      const auto before = runner.probe(seed_);
      runner.close();
      runner.open();
      EXPECT_EQ(runner.probe(seed_), before);
    }
    if (!::testing::Test::HasFailure()) runner.check_everything();
  }

  const std::uint64_t seed_;
  const double seconds_;
  Random random_;
  const std::filesystem::path directory_;
  const Stopwatch clock_;
};

TEST(Model, CollectionBehavesAsAMap) {
  const double seconds = soak_seconds() > 0 ? soak_seconds() : 15;
  const Stopwatch clock;
  run_trials({.seconds = seconds}, [&](std::uint64_t seed) {
    Scenario(seed, seconds - clock.seconds()).run();
    note_soak("collections", 1);
  });
}

}  // namespace
}  // namespace quiver::model

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--crash-child") == 0) {
    quiver::model::run_crash_child(argv[2], std::strtoull(argv[3], nullptr, 10));
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
