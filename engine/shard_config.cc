// A changed configuration in a shard: columns of payload indexes come and go.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "engine/columns.h"
#include "engine/shard.h"

namespace quiver::engine {

void Shard::set_config(std::shared_ptr<const CollectionConfig> config,
                       std::function<void(Result<>)> done) {
  const bool posted = !closed_ && lane_->post([this, config = std::move(config), done] {
    apply_config(config);
    column_waiters_.push_back({config, done});
    build_columns();
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

/// One build at a time, as two would write the same files; what is wanted meanwhile comes after.
void Shard::build_columns() {
  answer_column_waiters();
  if (building_columns_) return;
  if (closed_) return fail_column_waiters(Error(Code::kUnavailable, "the collection is closed"));
  const auto config = config_.load();
  std::vector<std::shared_ptr<const SegmentData>> lacking;
  for (const State& state : segments_) {
    if (lacks_columns(*state.view.data, config->indexes)) lacking.push_back(state.view.data);
  }
  if (lacking.empty()) return;
  building_columns_ = true;
  auto build = [this, lacking = std::move(lacking), indexes = config->indexes] {
    for (const auto& data : lacking) {
      if (!build_columns_of(data, indexes)) return;
    }
    // Segments may have been swapped in meanwhile: look again.
    lane_->post([this] { end_column_build(); });
  };
  run_in_background(Priority::kHigh, std::move(build));  // somebody waits for it
}

/// In the background; false if it failed, and the build is over.
bool Shard::build_columns_of(const std::shared_ptr<const SegmentData>& data,
                             std::span<const payload::FieldIndex> indexes) {
  auto columns = missing_columns(*data, indexes, *segments_directory_);
  if (columns) {
    lane_->post([this, id = data->id, made = *std::move(columns)] { install_columns(id, made); });
    return true;
  }
  lane_->post([this, id = data->id, error = columns.error()] {
    // A segment that was rewritten meanwhile took its directory along: no harm done.
    if (!has_segment(id)) return end_column_build();
    building_columns_ = false;
    fail_column_waiters(error);
  });
  return false;
}

void Shard::end_column_build() {
  building_columns_ = false;
  build_columns();
}

/// Those whose columns are there, but for such as nobody wants any more.
void Shard::answer_column_waiters() {
  const auto current = config_.load();
  const auto has_all = [&](const ColumnWaiter& waiter) {
    std::vector<payload::FieldIndex> wanted;
    for (const auto& index : waiter.config->indexes) {
      const auto* still = find_index(current->indexes, index.key);
      if (still != nullptr && same_column(*still, index)) wanted.push_back(index);
    }
    return std::none_of(segments_.begin(), segments_.end(), [&](const State& state) {
      return lacks_columns(*state.view.data, wanted);
    });
  };
  const auto waiting = std::stable_partition(column_waiters_.begin(), column_waiters_.end(),
                                             [&](const auto& waiter) { return !has_all(waiter); });
  const std::vector<ColumnWaiter> answered(waiting, column_waiters_.end());
  column_waiters_.erase(waiting, column_waiters_.end());
  for (const auto& waiter : answered) waiter.done({});
}

void Shard::fail_column_waiters(const Error& error) {
  for (const auto& waiter : std::exchange(column_waiters_, {})) waiter.done(fail(error));
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
