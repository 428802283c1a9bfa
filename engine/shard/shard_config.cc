// A changed configuration in a shard: columns of payload indexes come and go.
#include <algorithm>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/segment/columns.h"
#include "engine/shard/shard.h"

namespace quiver::engine {

/// The background's part of a build, and what it made.
struct Shard::ColumnBuild {
  std::vector<std::shared_ptr<const SegmentData>> lacking;
  std::vector<payload::FieldIndex> indexes;
  std::vector<ColumnMap> made;  ///< of the first of `lacking`; after a failure not of all

  Result<> run(Directory& segments) {
    for (const auto& data : lacking) {
      QV_TRY(auto columns, missing_columns(*data, indexes, segments));
      made.push_back(std::move(columns));
    }
    return {};
  }
};

void Shard::set_config(std::shared_ptr<const CollectionConfig> config,
                       std::function<void(Result<>)> done) noexcept {
  const auto posted = guarded([&]() -> Result<> {
    std::list<ColumnWaiter> added;
    added.push_back({config, done});
    const bool taken = !closed_ && lane_->post([this, added = std::move(added)]() mutable {
      change_config(added);
    });
    return taken ? Result<>() : fail(Code::kUnavailable, "the collection is closed");
  });
  if (!posted) run_logged("changing a configuration", [&] { done(fail(posted.error())); });
}

void Shard::change_config(std::list<ColumnWaiter>& added) noexcept {
  config_.store(added.front().config);
  column_waiters_.splice(column_waiters_.end(), added);
  const auto applied = guarded([this]() -> Result<> {
    apply_config();
    return {};
  });
  if (!applied) {
    catch_up_ = true;
    note_failure(JobKind::kChangeConfig, applied.error());
    return fail_column_waiters(applied.error());
  }
  start_due_jobs();
  build_columns();
}

void Shard::apply_config() {
  const auto config = config_.load();
  mutable_->set_indexes(config->indexes);
  for (State& state : segments_) {
    drop_columns(state, config->indexes);
    drop_unwanted_indexes(state);
  }
  wants_tick_ = true;
  publish();
}

void Shard::drop_columns(State& state, std::span<const payload::FieldIndex> wanted) {
  std::vector<payload::FieldIndex> dropped;
  for (const auto& [key, column] : state.view.data->columns) {
    const auto* still = find_index(wanted, key);
    if (still == nullptr || !same_column(*still, *column.index)) dropped.push_back(*column.index);
  }
  if (dropped.empty()) return;
  auto data = std::make_shared<SegmentData>(*state.view.data);
  for (const auto& index : dropped) data->columns.erase(index.key);
  state.view.data = std::move(data);
  if (!state.view.data->sealed) return;
  auto directory = segments_directory_->open_subdirectory(std::to_string(state.view.data->id));
  if (!directory) return;
  for (const auto& index : dropped) {
    if (auto removed = (*directory)->remove_file(column_file(index)); !removed) {
      log_warning("shard {}: {}", path_, removed.error().message());
    }
  }
}

/// One build at a time, as two would write the same files; what is wanted meanwhile comes after.
void Shard::build_columns() noexcept {
  const auto started = guarded([this]() -> Result<> {
    answer_column_waiters();
    if (closed_ && !building_columns_) {
      return fail(Code::kUnavailable, "the collection is closed");
    }
    if (!building_columns_) start_column_build();
    return {};
  });
  if (!started) fail_column_waiters(started.error());
}

void Shard::start_column_build() {
  auto build = std::make_shared<ColumnBuild>();
  build->indexes = config_.load()->indexes;
  for (const State& state : segments_) {
    if (lacks_columns(*state.view.data, build->indexes)) build->lacking.push_back(state.view.data);
  }
  if (build->lacking.empty()) return;
  run_in_background(
      Priority::kHigh, JobKind::kPayloadIndexes,  // somebody waits for them
      [this, build] { return build->run(*segments_directory_); },
      [this, build](const Result<>& result) { finish_column_build(*build, result); });
  building_columns_ = true;
}

/// Segments may have been swapped in meanwhile: look again.
void Shard::finish_column_build(const ColumnBuild& build, const Result<>& result) noexcept {
  building_columns_ = false;
  const auto installed = guarded([&]() -> Result<> {
    for (std::size_t i = 0; i < build.made.size(); ++i) {
      install_columns(build.lacking[i]->id, build.made[i]);
    }
    publish();
    return {};
  });
  if (!installed) {
    publish_soon();
    return fail_column_waiters(installed.error());
  }
  // A segment that was rewritten meanwhile took its directory along: no harm done.
  const bool is_error = !result && has_segment(build.lacking[build.made.size()]->id);
  if (is_error) return fail_column_waiters(result.error());
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
  for (auto next = column_waiters_.begin(); next != column_waiters_.end();) {
    const auto waiter = next++;
    if (!has_all(*waiter)) continue;
    std::list<ColumnWaiter> answered;
    answered.splice(answered.end(), column_waiters_, waiter);
    run_logged("answering a change", [&] { answered.front().done({}); });
  }
}

void Shard::fail_column_waiters(const Error& error) noexcept {
  std::list<ColumnWaiter> failed;
  failed.swap(column_waiters_);
  for (const auto& waiter : failed) {
    run_logged("answering a change", [&] { waiter.done(fail(error)); });
  }
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
}

}  // namespace quiver::engine
