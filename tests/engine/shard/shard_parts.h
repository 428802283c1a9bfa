// The parts of a shard over a real store in a temporary directory, for tests of one part.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/segment/sealing.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {

/// A configuration with one dense field, nothing sealed or merged by itself.
inline std::shared_ptr<CollectionConfig> quiet_config() {
  auto config = std::make_shared<CollectionConfig>();
  config->fields = {{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
  config->optimizer.idle_seal_s = 1e9;
  return config;
}

inline Row dense_row(std::uint64_t id, std::uint64_t seq) {
  const DenseVector vector{static_cast<float>(id), static_cast<float>(seq)};
  return {
      PointId::number(id), Seq{seq}, "{}", {to_stored(quiet_config()->fields[0], vector).value()}};
}

class ShardParts : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_shard_parts_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    runtime_ = storage::Runtime::create({}).value();
    open();
  }
  void TearDown() override {
    close();
    std::filesystem::remove_all(root_);
  }

  /// Opens the files, with an empty table.
  void open() {
    ShardFiles files;
    const auto directory = open_real_directory(root_.string()).value();
    files.segments = directory->subdirectory("segments").value();
    files.store = storage::ShardStore::open((root_ / "rows").string(), runtime_).value();
    common_.emplace(root_.string(), config_, std::move(files), executor_, executor_);
    table_.emplace(*common_);
    table_->start_mutable();
    table_->publish();
  }
  virtual void close() {
    if (!common_) return;
    while (!common_->background.wait_for(std::chrono::seconds(1))) {
    }
    common_->lane.drain();
    table_.reset();
    common_.reset();
  }

  /// As the lane applies a committed row.
  void put(std::uint64_t id) {
    const std::uint64_t seq = to_number(table_->next_seq());
    table_->remove(PointId::number(id));
    table_->append(dense_row(id, seq));
    table_->set_next_seq(Seq{seq + 1});
    table_->set_applied();
    table_->publish();
  }
  void erase(std::uint64_t id) {
    table_->remove(PointId::number(id));
    table_->set_next_seq(Seq{to_number(table_->next_seq()) + 1});
    table_->set_applied();
    table_->publish();
  }
  /// The number of the newest version that readers see, if any.
  [[nodiscard]] std::optional<std::uint64_t> seq_of(std::uint64_t id) const {
    const auto set = table_->snapshot();
    const auto place = set->find(PointId::number(id));
    if (!place) return std::nullopt;
    return to_number(set->segments[place->segment].data->seqs[place->row]);
  }
  /// The mutable segment, frozen and written as a sealed one.
  void seal() {
    table_->freeze();
    table_->publish();
    const std::vector<Segment> inputs = {table_->segments().back().view};
    const auto rows = live_rows_by_id(inputs);
    auto data = write_sealed(inputs, rows);
    table_->replace(inputs, table_->successor(inputs, rows, std::move(data)));
    table_->publish();
  }
  SegmentData write_sealed(const std::vector<Segment>& inputs, const std::vector<RowRef>& rows) {
    const auto config = common_->config.load();
    const NewSegment segment{table_->take_segment_id(), inputs, rows, {}};
    return write_segment(segment, common_->segments(), config->fields, common_->closing,
                         [](double) {})
        .value();
  }

  std::filesystem::path root_;
  std::shared_ptr<storage::Runtime> runtime_;
  std::shared_ptr<CollectionConfig> config_ = quiet_config();
  Executor executor_{2, "test"};
  std::optional<ShardCommon> common_;
  std::optional<SegmentTable> table_;
};

}  // namespace quiver::engine::testing
