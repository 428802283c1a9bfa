#include "index/progress.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/threads/cancel.h"
#include "gpu/devices.h"

namespace quiver::index {
namespace {

/// A context that keeps what it is told.
struct Listener {
  std::vector<std::uint64_t> told;
  Cancel cancel;
  BuildContext context{nullptr, cancel, 42, [this](std::uint64_t n) { told.push_back(n); }};
};

TEST(BuildProgress, QuietContextsAreSilentAndOtherwiseTheSame) {
  Listener listener;
  const QuerySample queries;
  listener.context.queries = &queries;
  gpu::Options options;
  options.devices = "off";
  const auto devices = gpu::Devices::open(options).value();
  listener.context.devices = devices.get();
  const BuildContext silent = quiet(listener.context);
  EXPECT_FALSE(silent.progress);
  EXPECT_EQ(silent.seed, 42U);
  EXPECT_EQ(silent.queries, &queries);
  EXPECT_EQ(silent.devices, devices.get());
  EXPECT_EQ(&silent.cancel, &listener.cancel);
}

TEST(BuildProgress, PartsTellTheirShareOfTheRows) {
  Listener listener;
  const BuildContext part = part_of(listener.context, 1000, 0.25, 0.75, 20);
  for (const std::uint64_t n_units : {0, 5, 20}) part.progress(n_units);
  EXPECT_EQ(listener.told, (std::vector<std::uint64_t>{250, 375, 750}));
  listener.told.clear();
  const BuildContext rows = part_of(listener.context, 1000, 0.5, 1);
  for (const std::uint64_t n_rows : {0, 500, 1000}) rows.progress(n_rows);
  EXPECT_EQ(listener.told, (std::vector<std::uint64_t>{500, 750, 1000}));
}

TEST(BuildProgress, PartsOfPartsTellSharesOfShares) {
  Listener listener;
  const BuildContext half = part_of(listener.context, 800, 0.5, 1);
  const BuildContext quarter = part_of(half, 800, 0, 0.5, 4);
  quarter.progress(4);
  EXPECT_EQ(listener.told, (std::vector<std::uint64_t>{600}));
}

TEST(BuildProgress, NothingToDoStaysWhereItBegan) {
  Listener listener;
  part_of(listener.context, 1000, 0.5, 1, 0).progress(3);
  part_of(listener.context, 0, 0.5, 1).progress(0);
  EXPECT_EQ(listener.told, (std::vector<std::uint64_t>{500, 0}));
  EXPECT_FALSE(part_of(quiet(listener.context), 10, 0, 1).progress);
}

TEST(BuildProgress, SumsOfThreadsAreToldAsRows) {
  Listener listener;
  BuildProgress progress(listener.context, 1000, 64);
  progress.report();
  progress.add(16);
  progress.add(16);
  progress.report();
  progress.add(32);
  progress.report();
  EXPECT_EQ(listener.told, (std::vector<std::uint64_t>{0, 500, 1000}));
  BuildProgress(listener.context, 10, 0).report();  // no work: no division by zero
  EXPECT_EQ(listener.told.back(), 0U);
  const BuildContext silent = quiet(listener.context);
  BuildProgress(silent, 10, 10).report();
  EXPECT_EQ(listener.told.size(), 4U);
}

}  // namespace
}  // namespace quiver::index
