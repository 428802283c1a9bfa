// The power is cut at some change of the disk, and everything that was not synced is lost.
// Acknowledged updates survive, none is there in part, and the collection goes on working.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/mutex.h"
#include "tests/fault/engine_fault_support.h"
#include "tests/soak.h"

namespace quiver::fault {
namespace {

using model::Runner;

constexpr std::uint32_t kMaxRequests = 400;

class EnginePowerCut : public EngineFault {
 protected:
  /// The disk after the power cut, and the progress of the series.
  struct Cut {
    std::shared_ptr<PowerCutDisk> disk;
    model::Sent sent;
  };

  /// Sends requests one by one until the power is cut at the `at`-th change of the store's disk.
  Cut run_until_cut(Runner& runner, std::uint64_t seed, std::uint64_t at, Loss loss) {
    Cut cut;
    std::atomic<std::uint32_t> n_sent = 0;
    std::atomic<std::uint32_t> n_acknowledged = 0;
    std::atomic<std::uint64_t> n_changes = 0;
    std::atomic<bool> armed =
        false;  // the hook is set while nothing is open; counting starts later
    std::atomic<bool> cutting = false;
    std::atomic<bool> done = false;
    const auto cut_now = [&] {
      cutting = true;
      const std::uint32_t at_least = n_acknowledged;
      // Cuts the segments first: their durable state may only be older than the store's record of
      // it.
      segments_->cut_power();
      cut.disk = disk_->after_power_cut(loss, seed);
      for (std::uint32_t i = 0; i < at_least; ++i) cut.sent.acknowledged.push_back(i);
      cut.sent.n_sent = n_sent;
      done = true;
    };
    disk_->on_change([&](std::uint64_t) {
      if (armed && ++n_changes == at) cut_now();
    });
    runner.open();
    armed = true;
    while (!done && n_sent < kMaxRequests) {
      const std::uint32_t number = n_sent++;
      const auto sent = model::send(runner.collection(), runner.model().config(), seed, number);
      // The first request that fails after the cut is the last; the store's disk may lose power
      // slightly later.
      if (!sent && cutting) break;
      // Other refused requests change nothing, so they count as done.
      ++n_acknowledged;
    }
    while (cutting && !done) std::this_thread::yield();
    if (!done) cut_now();
    runner.close();
    disk_->on_change(nullptr);
    return cut;
  }

  /// Opens the collection and returns the disk after a power cut during the opening.
  std::shared_ptr<PowerCutDisk> cut_while_opening(std::uint64_t at, Loss loss) {
    std::shared_ptr<PowerCutDisk> left;
    std::atomic<std::uint64_t> n_changes = 0;
    const auto cut_now = [&] {
      segments_->cut_power();
      left = disk_->after_power_cut(loss, at);
    };
    disk_->on_change([&](std::uint64_t) {
      if (++n_changes == at) cut_now();
    });
    {
      auto database = engine::Database::open(options());
      EXPECT_TRUE(database) << database.error().to_string();
      (void)(*database)->collection(model::kCollection);  // fails if the power is cut
      (void)(*database)->close();
    }
    disk_->on_change(nullptr);
    if (left == nullptr) cut_now();
    return left;
  }

  void run(std::uint64_t seed, std::uint64_t at, Loss loss) {
    new_machine();
    model::Random random(seed);
    Runner runner(options(), model::random_config(random));
    const Cut cut = run_until_cut(runner, seed, at, loss);
    ASSERT_NE(cut.disk, nullptr);
    disk_ = cut.disk;
    const auto dropped = segments_->drop_unsynced(loss, seed);
    ASSERT_TRUE(dropped) << dropped.error().to_string();
    runner.set_options(options());
    runner.open();
    if (HasFatalFailure()) return;
    model::expect_prefix(runner, seed, cut.sent);
    if (HasFatalFailure()) return;
    runner.check_everything();
    for (int step = 0; step < 20 && !HasFailure(); ++step) runner.random_step(random);
    const auto before = runner.probe(seed);
    runner.close();
    runner.open();
    if (HasFatalFailure()) return;
    EXPECT_EQ(runner.probe(seed), before);
    runner.check_everything();
  }
};

/// Number of the change before which the power is cut: the first ones each, then any.
std::uint64_t change_of(std::uint64_t seed) {
  if (seed <= 12) return seed * 7;
  if (seed <= 24) return seed * 61;
  model::Random random(seed);
  return 1 + random() % 2500;
}

TEST_F(EnginePowerCut, AcknowledgedRequestsSurvive) {
  run_trials({.n_least = 24}, [&](std::uint64_t seed) {
    const std::uint64_t at = change_of(seed);
    const auto loss = static_cast<Loss>(seed % kNumLosses);
    SCOPED_TRACE("power cut before change " + std::to_string(at));
    run(seed, at, loss);
    note_soak("states", 1);
  });
}

/// The power is cut again while the collection is opened after a cut.
TEST_F(EnginePowerCut, RecoveryMayBeInterrupted) {
  run_trials({.n_least = 12}, [&](std::uint64_t seed) {
    const auto loss = static_cast<Loss>(seed / 4 % kNumLosses);
    const std::uint64_t at = seed <= 12 ? seed : 1 + seed % 40;
    SCOPED_TRACE("power cut before change " + std::to_string(at) + " of the opening");
    new_machine();
    model::Random random(seed);
    Runner runner(options(), model::random_config(random));
    const Cut first = run_until_cut(runner, seed, seed <= 12 ? 300 : change_of(seed), loss);
    disk_ = first.disk;
    ASSERT_TRUE(segments_->drop_unsynced(loss, seed));
    runner.set_options(options());
    const auto second = cut_while_opening(at, loss);
    disk_ = second;
    ASSERT_TRUE(segments_->drop_unsynced(loss, seed));
    runner.set_options(options());
    runner.open();
    if (HasFatalFailure()) return;
    model::expect_prefix(runner, seed, first.sent);
    if (HasFatalFailure()) return;
    runner.check_everything();
    note_soak("states", 2);
  });
}

}  // namespace
}  // namespace quiver::fault
