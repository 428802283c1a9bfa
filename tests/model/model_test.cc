// Seeded random operations on a collection against a map, with seals, merges, clean-ups, payload
// indexes that come and go, reopening and kill -9.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/clock.h"
#include "tests/model/runner.h"

namespace quiver::model {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

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
    Runner runner(small_options(directory_.string()), random_config(random_));
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
  }

 private:
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
  const auto seconds = static_cast<double>(number_from("QUIVER_MODEL_SECONDS", 15));
  const std::uint64_t first_seed = number_from("QUIVER_MODEL_SEED", 1);
  const Stopwatch clock;
  std::uint64_t seed = first_seed;
  do {
    std::printf("QUIVER_MODEL_SEED=%llu\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    SCOPED_TRACE("QUIVER_MODEL_SEED=" + std::to_string(seed));
    Scenario(seed, seconds - clock.seconds()).run();
    ++seed;
  } while (!HasFailure() && clock.seconds() < seconds);
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
