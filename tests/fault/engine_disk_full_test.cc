// A full or failing disk: writes are refused as a whole with a clear text, reads continue, and
// writes work again without a restart.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>

#include "tests/fault/engine_fault_support.h"
#include "tests/patience.h"

namespace quiver::fault {
namespace {

using model::Random;
using model::Runner;

class EngineDiskFull : public EngineFault {
 protected:
  static engine::CollectionConfig config(Random& random) {
    auto config = model::random_config(random);
    config.shard_number = 1;
    return config;
  }
  static model::Request big_upsert(std::uint64_t n) {
    engine::PointInput point{
        PointId::number(n), {}, R"({"s":")" + std::string(20'000, 'x') + "\"}"};
    return {engine::Upsert{{point}, {}, {}}};
  }
  void live_a_while(Runner& runner, Random& random, int n_steps) {
    for (int step = 0; step < n_steps && !HasFailure(); ++step) runner.random_step(random);
  }
};

TEST_F(EngineDiskFull, StoreFull) {
  Random random(1);
  Runner runner(options(), config(random));
  runner.open();
  live_a_while(runner, random, 60);
  for (int round = 0; round < 3 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    disk_->set_capacity(disk_->used_bytes() + 10'000);
    const auto before = runner.probe(7);
    for (std::uint64_t n = 5000; n < 5010; ++n) {
      const auto result = model::update(runner.collection(), big_upsert(n), engine::Ack::kVisible);
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code(), Code::kResourceExhausted) << result.error().to_string();
      EXPECT_NE(result.error().message().find("no space left"), std::string::npos)
          << result.error().message();
      EXPECT_EQ(runner.probe(7), before) << "reads go on, and nothing of it is there";
    }
    disk_->set_capacity(std::nullopt);
    // Sequence numbers of refused writes are not reused, so versions differ from the model's.
    // Points are compared without versions from here on.
    const auto result = model::update(runner.collection(), big_upsert(6000), engine::Ack::kVisible);
    ASSERT_TRUE(result) << result.error().to_string();
    ASSERT_TRUE(model::update(runner.collection(),
                              {engine::DeletePoints{std::vector{PointId::number(6000)}}},
                              engine::Ack::kVisible));
    EXPECT_EQ(runner.probe(7), before);
    runner.close();
    runner.open();
    EXPECT_EQ(runner.probe(7), before);
  }
}

/// After a restart reads are served and writes refused, until the store recovers by itself.
TEST_F(EngineDiskFull, OpenedWhileFull) {
  Random random(4);
  Runner runner(options(), config(random));
  runner.open();
  live_a_while(runner, random, 60);
  for (int round = 0; round < 3 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const auto before = runner.probe(7);
    runner.close();
    disk_->set_capacity(disk_->used_bytes());
    segments_->inject({FileOperation::kAppend, 1, FaultRule::kForever, ENOSPC});
    runner.open();
    EXPECT_EQ(runner.probe(7), before);
    const auto refused =
        model::update(runner.collection(), big_upsert(5000), engine::Ack::kDurable);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::kResourceExhausted) << refused.error().to_string();
    EXPECT_EQ(runner.probe(7), before);
    EXPECT_TRUE(comes_true([&] {
      return runner.collection().info().health != engine::Health::kGreen;
    })) << "names the fault";
    disk_->set_capacity(std::nullopt);
    segments_->clear_faults();
    if (round == 0) {
      const auto is_well = [&] {
        const auto info = runner.collection().info();
        return info.health != engine::Health::kRed && info.optimizer_error.empty();
      };
      ASSERT_TRUE(comes_true(is_well, std::chrono::seconds(30))) << "by itself";
    }
    ASSERT_TRUE(model::update(runner.collection(), big_upsert(6000), engine::Ack::kVisible));
    ASSERT_TRUE(model::update(runner.collection(),
                              {engine::DeletePoints{std::vector{PointId::number(6000)}}},
                              engine::Ack::kVisible));
    EXPECT_EQ(runner.probe(7), before);
    runner.close();
    runner.open();
    EXPECT_EQ(runner.probe(7), before);
  }
}

TEST_F(EngineDiskFull, NoRoomForSegments) {
  Random random(2);
  Runner runner(options(), config(random));
  runner.open();
  live_a_while(runner, random, 60);
  for (const int error : {ENOSPC, EIO}) {
    segments_->inject({FileOperation::kAppend, 1, FaultRule::kForever, error});
    // No payload indexes meanwhile, because creating one needs files.
    for (std::uint32_t i = 0; i < 200 && !HasFailure(); ++i) {
      auto request = model::numbered_request(runner.model().config(), 3, i);
      const bool accepted = runner.model().apply(request);
      const auto result =
          model::update(runner.collection(), std::move(request), engine::Ack::kVisible);
      EXPECT_EQ(result.has_value(), accepted);
    }
    runner.check_everything();
    EXPECT_TRUE(comes_true([&] {
      const auto info = runner.collection().info();
      return info.health != engine::Health::kGreen && !info.optimizer_error.empty();
    })) << "names the fault";
    segments_->clear_faults();
    runner.check_rest();
    runner.check_everything();
    live_a_while(runner, random, 40);
  }
}

/// Rows in memory are bounded, and told; nothing of what was accepted is lost.
TEST_F(EngineDiskFull, RowsInMemoryAreBoundedWhileSegmentsCannotBeWritten) {
  Random random(5);
  auto few_bytes = config(random);
  few_bytes.optimizer.seal_bytes = 100'000;
  few_bytes.optimizer.seal_rows = 1'000'000;
  Runner runner(options(), few_bytes);
  runner.open();
  segments_->inject({FileOperation::kAppend, 1, FaultRule::kForever, ENOSPC});
  std::uint64_t n_accepted = 0;
  const auto write_next = [&] {
    return model::update(runner.collection(), big_upsert(5000 + n_accepted), engine::Ack::kVisible);
  };
  auto written = write_next();
  while (written && n_accepted < 1000) {
    ++n_accepted;
    written = write_next();
  }
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::kResourceExhausted);
  EXPECT_NE(written.error().message().find("wait in memory"), std::string::npos)
      << written.error().message();
  EXPECT_GE(n_accepted, 40U) << "eight segments of five points";
  EXPECT_LE(n_accepted, 60U);
  EXPECT_EQ(runner.collection().info().n_points, n_accepted);
  segments_->clear_faults();
  EXPECT_TRUE(comes_true([&] { return write_next().has_value(); }, std::chrono::seconds(30)));
  runner.close();
  runner.open();
  EXPECT_EQ(runner.collection().info().n_points, n_accepted + 1);
}

TEST_F(EngineDiskFull, SyncsFail) {
  Random random(3);
  Runner runner(options(), config(random));
  runner.open();
  live_a_while(runner, random, 40);
  const auto before = runner.probe(7);
  disk_->fail_syncs(1000);
  const auto result = model::update(runner.collection(), big_upsert(5000), engine::Ack::kVisible);
  ASSERT_FALSE(result);
  EXPECT_FALSE(result.error().message().empty());
  EXPECT_EQ(runner.probe(7), before);
  disk_->fail_syncs(0);
  ASSERT_TRUE(model::update(runner.collection(), big_upsert(5001), engine::Ack::kVisible));
}

}  // namespace
}  // namespace quiver::fault
