// A changed configuration in a shard: columns of payload indexes come and go.
#include <algorithm>

#include "base/log.h"
#include "engine/columns.h"
#include "engine/shard.h"

namespace quiver::engine {

void Shard::set_config(std::shared_ptr<const CollectionConfig> config,
                       std::function<void(Result<>)> done) {
  const bool posted = !closed_ && lane_->post([this, config = std::move(config), done] {
    apply_config(config);
    build_columns(done);
  });
  if (!posted) done(fail(Code::kUnavailable, "the collection is closed"));
}

void Shard::apply_config(const std::shared_ptr<const CollectionConfig>& config) {
  const auto old = config_.load();
  config_.store(config);
  for (const auto& index : old->indexes) {
    const auto* wanted = find_index(config->indexes, index.key);
    if (wanted != nullptr && same_column(*wanted, index)) continue;
    mutable_->drop_index(index.key);
    for (State& state : segments_) drop_column(state, index);
  }
  for (const auto& index : config->indexes) {
    const auto* before = find_index(old->indexes, index.key);
    if (before == nullptr || !same_column(*before, index)) mutable_->add_index(index);
  }
  for (State& state : segments_) drop_unwanted_indexes(state);
  wants_tick_ = true;
  publish();
  start_due_jobs();
}

void Shard::drop_column(State& state, const payload::FieldIndex& index) {
  auto data = std::make_shared<SegmentData>(*state.view.data);
  if (data->columns.erase(index.key) == 0) return;
  state.view.data = std::move(data);
  if (!state.view.data->sealed) return;
  auto directory = segments_directory_->open_subdirectory(std::to_string(state.view.data->id));
  if (!directory) return;
  if (auto removed = (*directory)->remove_file(column_file(index)); !removed) {
    log_warning("shard {}: {}", path_, removed.error().message());
  }
}

void Shard::build_columns(const std::function<void(Result<>)>& done) {
  const auto config = config_.load();
  std::vector<std::shared_ptr<const SegmentData>> lacking;
  for (const State& state : segments_) {
    if (lacks_columns(*state.view.data, config->indexes)) lacking.push_back(state.view.data);
  }
  if (lacking.empty()) {
    done({});
    return;
  }
  auto build = [this, lacking = std::move(lacking), indexes = config->indexes, done] {
    for (const auto& data : lacking) {
      auto columns = missing_columns(*data, indexes, *segments_directory_);
      if (!columns) {
        lane_->post([this, done, id = data->id, error = columns.error()] {
          // A segment that was rewritten meanwhile took its directory along: no harm done.
          has_segment(id) ? done(fail(error)) : build_columns(done);
        });
        return;
      }
      lane_->post(
          [this, id = data->id, columns = *std::move(columns)] { install_columns(id, columns); });
    }
    // Segments may have been swapped in meanwhile: look again until none lacks a column.
    lane_->post([this, done] { build_columns(done); });
  };
  run_in_background(Priority::kHigh, std::move(build));  // somebody waits for it
}

bool Shard::has_segment(std::uint64_t id) const {
  return std::any_of(segments_.begin(), segments_.end(),
                     [id](const State& state) { return state.view.data->id == id; });
}

void Shard::install_columns(std::uint64_t segment, const ColumnMap& columns) {
  const auto config = config_.load();
  for (State& state : segments_) {
    if (state.view.data->id != segment) continue;
    auto data = std::make_shared<SegmentData>(*state.view.data);
    for (const auto& [key, column] : columns) {
      const auto* wanted = find_index(config->indexes, key);
      if (wanted != nullptr && same_column(*wanted, *column.index)) data->columns[key] = column;
    }
    state.view.data = std::move(data);
  }
  publish();
}

}  // namespace quiver::engine
