// Bulk loading with a power cut at any change of the disk, and on a full or failing disk. A chunk
// and its cursor are in all shards or in none.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <string>

#include "tests/fault/engine_fault_support.h"
#include "tests/model/bulk_input.h"

namespace quiver::fault {
namespace {

using model::OwnedChunk;
using model::Random;
using model::Runner;

/// The series has bulk chunks at 2 and 7, and ordinary requests between them.
constexpr std::uint32_t kSecondChunk = 7;
static_assert(kSecondChunk % 5 == 2);

class EngineBulk : public EngineFault {
 protected:
  static engine::CollectionConfig config(std::uint64_t seed, std::uint32_t n_shards) {
    Random random(seed);
    auto config = model::random_config(random);
    config.shard_number = n_shards;
    return config;
  }

  /// Sends the series and cuts the power at the `at`-th change after the second chunk was sent.
  /// False if that chunk was acknowledged before the cut.
  bool cut_while_loading(Runner& runner, std::uint64_t seed, std::uint64_t at, Loss loss,
                         model::Sent& sent) {
    std::shared_ptr<PowerCutDisk> left;
    std::atomic<bool> armed = false;
    std::atomic<std::uint64_t> n_changes = 0;
    disk_->on_change([&](std::uint64_t) {
      if (!armed || ++n_changes != at) return;
      segments_->cut_power();
      left = disk_->after_power_cut(loss, seed + at);
    });
    runner.open();
    for (std::uint32_t number = 0; number <= kSecondChunk; ++number) {
      armed = number == kSecondChunk;
      (void)model::send(runner.collection(), runner.model().config(), seed, number);
      if (number < kSecondChunk) sent.acknowledged.push_back(number);
    }
    armed = false;
    sent.n_sent = kSecondChunk + 1;
    runner.close();
    disk_->on_change(nullptr);
    if (left == nullptr) return false;
    disk_ = left;
    EXPECT_TRUE(segments_->drop_unsynced());
    runner.set_options(options());
    return true;
  }

  /// Cuts at one of every `step` changes.
  void cut_at_changes(std::uint64_t seed, std::uint32_t n_shards, Loss loss, std::uint64_t step) {
    bool in_chunk = true;
    for (std::uint64_t at = 1; in_chunk && !HasFailure(); at += step) {
      SCOPED_TRACE("power cut before change " + std::to_string(at) + " of the chunk");
      new_machine();
      Runner runner(options(), config(seed, n_shards));
      model::Sent sent;
      in_chunk = cut_while_loading(runner, seed, at, loss, sent);
      if (!in_chunk) {
        EXPECT_GT(at, 20U) << "a chunk is many changes";
        return;
      }
      runner.open();
      if (HasFatalFailure()) return;
      model::expect_prefix(runner, seed, sent);
      if (HasFatalFailure()) return;
      runner.check_everything();
      load_more(runner, seed + at);
    }
  }
  /// Checks that the collection still works: loads another chunk over the same ids and reopens.
  void load_more(Runner& runner, std::uint64_t seed) {
    Random random(seed);
    load(runner, random, "more");
    runner.close();
    runner.open();
    if (HasFatalFailure()) return;
    EXPECT_EQ(runner.collection().bulk_cursor().value(), "more");
    runner.check_everything();
  }
  static Result<> try_load(Runner& runner, const std::vector<engine::PointInput>& points,
                           const std::string& cursor) {
    const OwnedChunk chunk(runner.model().config(), points, cursor);
    return runner.collection().bulk_load(chunk.view());
  }
  static void load(Runner& runner, Random& random, const std::string& cursor) {
    const auto points = model::random_points(runner.model().config(), 100, random);
    const auto loaded = try_load(runner, points, cursor);
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    ASSERT_TRUE(runner.model().apply({engine::Upsert{points, {}, {}}}));
  }
  /// Checks after a fault that the cursor tells the truth about the chunk.
  static void settle(Runner& runner, const std::vector<engine::PointInput>& points,
                     const std::string& cursor) {
    const auto found = runner.collection().bulk_cursor();
    ASSERT_TRUE(found) << found.error().to_string();
    if (*found == cursor) {
      ASSERT_TRUE(runner.model().apply({engine::Upsert{points, {}, {}}}));
    }
  }
};

TEST_F(EngineBulk, PowerCutAtEveryChange) { cut_at_changes(1, 2, Loss::kAllUnsynced, 1); }

TEST_F(EngineBulk, PowerCutLeavesSomeUnsynced) { cut_at_changes(2, 1, Loss::kSomeUnsynced, 3); }

/// The power is cut again at every change made by the opening that finishes a load.
TEST_F(EngineBulk, RecoveryMayBeInterrupted) {
  constexpr std::uint64_t kSeed = 3;
  std::uint64_t n_interrupted = 0;
  for (std::uint64_t at = 40; at < 100 && !HasFailure(); at += 6) {
    for (std::uint64_t again = 1; again <= 24; again += 7) {
      SCOPED_TRACE("cut at " + std::to_string(at) + ", then at " + std::to_string(again));
      new_machine();
      Runner runner(options(), config(kSeed, 2));
      model::Sent sent;
      if (!cut_while_loading(runner, kSeed, at, Loss::kAllUnsynced, sent)) break;
      std::shared_ptr<PowerCutDisk> left;
      std::atomic<std::uint64_t> n_changes = 0;
      disk_->on_change([&](std::uint64_t) {
        if (++n_changes != again) return;
        segments_->cut_power();
        left = disk_->after_power_cut(Loss::kAllUnsynced, at);
      });
      {
        auto database = engine::Database::open(options());
        ASSERT_TRUE(database) << database.error().to_string();
        (void)(*database)->collection(model::kCollection);  // fails if the power is cut
        (void)(*database)->close();
      }
      disk_->on_change(nullptr);
      if (left != nullptr) {
        disk_ = left;
        ++n_interrupted;
      }
      ASSERT_TRUE(segments_->drop_unsynced());
      runner.set_options(options());
      runner.open();
      if (HasFatalFailure()) return;
      model::expect_prefix(runner, kSeed, sent);
      if (HasFatalFailure()) return;
      runner.check_everything();
    }
  }
  EXPECT_GT(n_interrupted, 10U);
}

/// The disk of the stores becomes full at some byte of the load, then has room again.
TEST_F(EngineBulk, StoreFull) {
  Random random(4);
  Runner runner(options(), config(4, 2));
  runner.open();
  load(runner, random, "first");
  int n_failed = 0;
  for (std::uint64_t room = 0; room < 60'000; room += 4'000) {
    SCOPED_TRACE("room for " + std::to_string(room) + " bytes");
    const auto points = model::random_points(runner.model().config(), 100, random);
    const std::string cursor = "room " + std::to_string(room);
    disk_->set_capacity(disk_->used_bytes() + room);
    const auto loaded = try_load(runner, points, cursor);
    disk_->set_capacity(std::nullopt);
    if (!loaded) {
      ++n_failed;
      EXPECT_EQ(loaded.error().code(), Code::kResourceExhausted) << loaded.error().to_string();
    }
    settle(runner, points, cursor);
    load(runner, random, "next");
    runner.check_everything();
    if (HasFailure()) return;
  }
  EXPECT_GT(n_failed, 3);
  runner.close();
  runner.open();
  runner.check_everything();
  runner.check_rest();
}

/// They were never answered: nothing ends the load while the disk is full, and closing did not
/// either.
TEST_F(EngineBulk, WritesBehindALoadThatCannotEndAreRefusedAtClosing) {
  Random random(7);
  Runner runner(options(), config(7, 2));
  runner.open();
  load(runner, random, "first");
  bool was_held_up = false;
  for (std::uint64_t room = 0; room < 80'000 && !was_held_up; room += 2'000) {
    SCOPED_TRACE("room for " + std::to_string(room) + " bytes");
    const auto points = model::random_points(runner.model().config(), 100, random);
    disk_->set_capacity(disk_->used_bytes() + room);
    (void)try_load(runner, points, "room");
    engine::Upsert upsert{model::random_points(runner.model().config(), 1, random), {}, {}};
    const PointId id = PointId::number(1'000'000 + room);
    upsert.points.front().id = id;
    std::promise<Result<>> answer;
    auto answered = answer.get_future();
    ASSERT_TRUE(runner.collection().update({upsert}, engine::Ack::kVisible, [&](const auto& r) {
      answer.set_value(r ? Result<>() : fail(r.error()));
    }));
    was_held_up = answered.wait_for(std::chrono::milliseconds(300)) != std::future_status::ready;
    if (was_held_up) runner.close();
    ASSERT_EQ(answered.wait_for(std::chrono::seconds(0)), std::future_status::ready);
    disk_->set_capacity(std::nullopt);
    if (!was_held_up) continue;
    const auto refused = answered.get();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::kUnavailable) << refused.error().to_string();
    runner.open();
    const auto found = runner.collection().retrieve({{id}, payload::Selector::all(), {}});
    EXPECT_TRUE(found && found->empty()) << "what was refused is not applied later";
  }
  EXPECT_TRUE(was_held_up);
}

/// At every fifth change of a load the disk of the stores fails, and works again soon.
TEST_F(EngineBulk, StoreFails) {
  Random random(5);
  Runner runner(options(), config(5, 2));
  std::atomic<int> n_left = 0;
  std::atomic<bool> syncs = false;
  disk_->on_change([&](std::uint64_t) {
    if (--n_left == 0) syncs ? disk_->fail_syncs(3) : disk_->fail_appends(3);
  });
  runner.open();
  load(runner, random, "first");
  int n_failed = 0;
  for (int n = 1; n <= 24; ++n) {
    SCOPED_TRACE("fault number " + std::to_string(n));
    const auto points = model::random_points(runner.model().config(), 60, random);
    const std::string cursor = "fault " + std::to_string(n);
    syncs = n % 2 == 0;
    n_left = n * 5;
    const auto loaded = try_load(runner, points, cursor);
    n_left = 0;
    disk_->fail_syncs(0);
    disk_->fail_appends(0);
    n_failed += loaded ? 0 : 1;
    settle(runner, points, cursor);
    load(runner, random, "next");
    runner.check_everything();
    if (HasFailure()) return;
  }
  EXPECT_GT(n_failed, 3);
  runner.close();
  disk_->on_change(nullptr);
  runner.open();
  runner.check_everything();
}

/// Each operation on the files of segments fails in turn; then nothing of the chunk may remain.
TEST_F(EngineBulk, SegmentsFail) {
  Random random(6);
  Runner runner(options(), config(6, 2));
  runner.open();
  load(runner, random, "first");
  const auto first = model::random_points(runner.model().config(), 100, random);
  bool failed = true;
  for (std::uint64_t nth = 1; failed; ++nth) {
    SCOPED_TRACE("operation " + std::to_string(nth));
    ASSERT_LT(nth, 1000U);
    runner.check_rest();  // its own work on segments is done
    const std::string cursor = "operation " + std::to_string(nth);
    segments_->inject({FileOperation::kAny, nth, 1, ENOSPC});
    const auto loaded = try_load(runner, first, cursor);
    segments_->clear_faults();
    failed = !loaded;
    settle(runner, first, cursor);
    runner.check_everything();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace quiver::fault
