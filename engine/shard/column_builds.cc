#include "engine/shard/column_builds.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/indexing/unwanted_indexes.h"

namespace quiver::engine {

/// The part of a build that runs in the background, and its result.
struct ColumnBuilds::Build {
  std::vector<std::shared_ptr<const SegmentData>> lacking;
  std::vector<payload::FieldIndex> indexes;
  std::vector<ColumnMap> made;  ///< columns of `lacking`, in order; fewer after a failure

  Result<> run(Directory& segments) {
    for (const auto& data : lacking) {
      QV_TRY(auto columns, missing_columns(*data, indexes, segments));
      made.push_back(std::move(columns));
    }
    return {};
  }
};

void ColumnBuilds::set_config(std::shared_ptr<const CollectionConfig> config,
                              std::function<void(Result<>)> done) noexcept {
  const auto posted = guarded([&]() -> Result<> {
    std::list<Waiter> added;
    added.push_back({config, done});
    const bool taken =
        !common_.closed &&
        common_.lane.post([this, added = std::move(added)]() mutable { change_config(added); });
    return taken ? Result<>() : fail(Code::kUnavailable, "the collection is closed");
  });
  if (!posted) run_logged("changing a configuration", [&] { done(fail(posted.error())); });
}

void ColumnBuilds::change_config(std::list<Waiter>& added) noexcept {
  common_.config.store(added.front().config);
  waiters_.splice(waiters_.end(), added);
  const auto applied = guarded([this]() -> Result<> {
    apply_config();
    return {};
  });
  if (!applied) {
    status_.set_must_catch_up(true);
    status_.note_failure(JobKind::kChangeConfig, applied.error());
    return fail_waiters(applied.error());
  }
  config_applied_();
  build();
}

void ColumnBuilds::apply_config() {
  const auto config = common_.config.load();
  table_.follow_fields();
  table_.set_mutable_indexes(config->indexes);
  for (SegmentState& state : table_.segments()) {
    drop_columns(state, config->indexes);
    state.view.data =
        without_unwanted_indexes(state.view.data, common_.segments(), status_.index_policy());
  }
  common_.wants_tick = true;
  status_.publish();
}

void ColumnBuilds::drop_columns(SegmentState& state, std::span<const payload::FieldIndex> wanted) {
  std::vector<payload::FieldIndex> dropped;
  for (const auto& [key, column] : state.view.data->columns) {
    const auto* still = find_index(wanted, key);
    if (still == nullptr || !same_column(*still, *column.index)) dropped.push_back(*column.index);
  }
  if (dropped.empty()) return;
  auto data = std::make_shared<SegmentData>(*state.view.data);
  for (const auto& index : dropped) data->columns.erase(index.key);
  state.view.data = std::move(data);
  if (!state.sealed()) return;
  auto directory = common_.segments().open_subdirectory(std::to_string(state.id()));
  if (!directory) return;
  for (const auto& index : dropped) {
    if (auto removed = (*directory)->remove_file(column_file(index)); !removed) {
      log_warning("shard {}: {}", common_.path, removed.error().message());
    }
  }
}

void ColumnBuilds::build() noexcept {
  const auto started = guarded([this]() -> Result<> {
    answer_waiters();
    if (running_ != nullptr) return {};
    if (common_.closed) return fail(Code::kUnavailable, "the collection is closed");
    start();
    return {};
  });
  if (!started) fail_waiters(started.error());
}

void ColumnBuilds::start() {
  auto build = std::make_shared<Build>();
  build->indexes = common_.config.load()->indexes;
  for (const SegmentState& state : table_.segments()) {
    if (lacks_columns(*state.view.data, build->indexes)) build->lacking.push_back(state.view.data);
  }
  if (build->lacking.empty()) return;
  common_.background.run(
      Priority::kHigh, JobKind::kPayloadIndexes,  // somebody waits for them
      [this, build] { return build->run(common_.segments()); },
      [this, build](const Result<>& result) { finish(*build, result); });
  running_ = std::move(build);
}

/// Segments may have been swapped in meanwhile: look again.
void ColumnBuilds::finish(const Build& build, const Result<>& result) noexcept {
  running_ = nullptr;
  const auto installed = guarded([&]() -> Result<> {
    for (std::size_t i = 0; i < build.made.size(); ++i) {
      install(build.lacking[i]->id, build.made[i]);
    }
    status_.publish();
    return {};
  });
  if (!installed) {
    status_.publish_soon();
    return fail_waiters(installed.error());
  }
  // A segment that was rewritten meanwhile took its directory along: no harm done.
  const bool is_error = !result && table_.find(build.lacking[build.made.size()]->id) != nullptr;
  if (is_error) return fail_waiters(result.error());
  this->build();
}

void ColumnBuilds::install(std::uint64_t segment, const ColumnMap& columns) {
  SegmentState* state = table_.find(segment);
  if (state == nullptr) return;
  const auto config = common_.config.load();
  auto data = std::make_shared<SegmentData>(*state->view.data);
  for (const auto& [key, column] : columns) {
    const auto* wanted = find_index(config->indexes, key);
    if (wanted != nullptr && same_column(*wanted, *column.index)) data->columns[key] = column;
  }
  state->view.data = std::move(data);
}

/// Columns that a later configuration dropped again are not waited for.
bool ColumnBuilds::has_columns_of(const Waiter& waiter) {
  const auto current = common_.config.load();
  std::vector<payload::FieldIndex> wanted;
  for (const auto& index : waiter.config->indexes) {
    const auto* still = find_index(current->indexes, index.key);
    if (still != nullptr && same_column(*still, index)) wanted.push_back(index);
  }
  const auto segments = table_.segments();
  return std::none_of(segments.begin(), segments.end(), [&](const SegmentState& state) {
    return lacks_columns(*state.view.data, wanted);
  });
}

void ColumnBuilds::answer_waiters() {
  for (auto next = waiters_.begin(); next != waiters_.end();) {
    const auto waiter = next++;
    if (!has_columns_of(*waiter)) continue;
    std::list<Waiter> answered;
    answered.splice(answered.end(), waiters_, waiter);
    run_logged("answering a change", [&] { answered.front().done({}); });
  }
}

void ColumnBuilds::fail_waiters(const Error& error) noexcept {
  std::list<Waiter> failed;
  failed.swap(waiters_);
  for (const auto& waiter : failed) {
    run_logged("answering a change", [&] { waiter.done(fail(error)); });
  }
}

}  // namespace quiver::engine
