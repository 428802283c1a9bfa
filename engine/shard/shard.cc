#include "engine/shard/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "base/clock.h"
#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/segment/fields.h"
#include "engine/shard/recovery.h"
#include "storage/repair/store_check.h"

namespace quiver::engine {
namespace {

std::unique_ptr<ShardLog> make_log(const ShardName& name, ShardCommon& common,
                                   const ShardContext& context) {
  if (context.replication == nullptr || name.collection.empty()) {
    return std::make_unique<LocalLog>(common.store());
  }
  return std::make_unique<ReplicatedLog>(name, common.store(), common.lane, *context.replication);
}

}  // namespace

Result<> Shard::check(const std::string& path, const ShardContext& context,
                      storage::Opening opening) {
  return storage::check_store(rows_path(path), *context.runtime, opening);
}

Result<> Shard::check_logs(const std::string& path, const ShardContext& context) {
  return storage::check_store_logs(rows_path(path), *context.runtime);
}

Result<> Shard::check_exists(const std::string& path, const ShardContext& context) {
  return storage::check_exists(rows_path(path), *context.runtime);
}

Result<std::unique_ptr<Shard>> Shard::open(const std::string& path,
                                           std::shared_ptr<const CollectionConfig> config,
                                           const ShardContext& context, const Shard* first,
                                           std::uint32_t number) {
  return guarded([&]() -> Result<std::unique_ptr<Shard>> {
    QV_TRY(auto files, open_shard_files(path, context));
    const ShardName name{config->cluster_id, number};
    std::unique_ptr<Shard> shard(
        new Shard(path, std::move(config), context, std::move(files), name));
    if (shard->replicated_ != nullptr) QV_TRY(shard->replicated_->load());
    QV_TRY(shard->recover(first));
    return shard;
  });
}

Shard::Shard(const std::string& path, std::shared_ptr<const CollectionConfig> config,
             const ShardContext& context, ShardFiles files, const ShardName& name)
    : context_(context),
      common_(path, std::move(config), std::move(files), *context.lanes, *context.background),
      log_(make_log(name, common_, context)),
      replicated_(dynamic_cast<ReplicatedLog*>(log_.get())),
      rewrites_(common_, context_, table_, manifest_, status_,
                [this] {
                  maintenance_.start_due_jobs();
                  queue_.wake();
                }),
      bulk_(common_, table_, manifest_, status_, queue_,
            {[this] { columns_.build(); },
             [this] {
               maintenance_.note_write();
               maintenance_.start_due_jobs();
             }}) {}

Shard::~Shard() {
  if (auto result = guarded([this] { return close(); }); !result) {
    run_logged("closing a shard",
               [&] { log_error("closing shard {}: {}", common_.path, result.error().message()); });
  }
  while (!log_->wait_until_idle(std::chrono::hours(1))) {
  }
  while (!common_.background.wait_for(std::chrono::hours(1))) {
  }
  common_.lane.drain();
}

Result<> Shard::recover(const Shard* first) {
  Recovery recovery({common_, table_, manifest_, status_, *log_, bulk_, rows_}, context_);
  QV_TRY(recovery.run(first == nullptr ? nullptr : &first->bulk()));
  common_.wants_tick = true;
  indexes_.start_counting_queries();
  common_.lane.post([this] { maintenance_.start_due_jobs(); });
  return {};
}

Result<> Shard::check_fields(const CollectionConfig& config) {
  return common_.in_lane([&]() -> Result<> {
    const bool has_all = table_.mutable_segment().follows(config.fields) &&
                         std::ranges::all_of(table_.segments(), [&](const SegmentState& state) {
                           return follows(*state.view.data, config.fields);
                         });
    if (has_all) return {};
    return fail(Code::kUnavailable,
                "the field could not be added to all segments, try again later");
  });
}

void Shard::drain() noexcept {
  if (lane_.put_off()) return;
  damage_.mend();
  lane_.apply_group();
}

void Shard::tick() noexcept {
  run_logged("a tick", [this] {
    const bool has_work = common_.wants_tick || indexes_.is_drift_due() || table_.has_damage() ||
                          queue_.has_overdue();
    if (!has_work || common_.closed || tick_task_.is_posted.exchange(true)) return;
    common_.lane.post(Task::borrow(tick_task_));
  });
}

void Shard::on_tick() {
  if (common_.closed) return;
  lane_.refuse_overdue();
  damage_.mend();
  maintenance_.tick();
}

/// Waits for cancelled work. It ends after some CPU time, for which threads of the lowest priority
/// wait long on a busy machine: so more often than once, as long as the process has not used more.
bool Shard::cancelled_work_ends() {
  constexpr int kMostWaits = 4;
  const std::clock_t began = std::clock();
  const double patience_s = std::chrono::duration<double>(context_.close_patience).count();
  for (int i = 0; i < kMostWaits; ++i) {
    if (common_.background.wait_for(context_.close_patience)) return true;
    if (std::clock() - began > patience_s * CLOCKS_PER_SEC) return false;
  }
  return false;
}

Result<> Shard::close() {
  if (is_closed_) return {};
  common_.closed = true;
  queue_.close();
  queue_.wake();  // what a bulk load holds up is refused now
  bool ended = log_->wait_until_idle(context_.close_patience);
  ended = common_.lane.drain_for(context_.close_patience) && ended;
  const Stopwatch since_cancel;
  common_.closing.cancel();
  common_.store().cancel_reclaim();
  ended = cancelled_work_ends() && ended;
  if (!ended || !common_.lane.drain_for(context_.close_patience)) {
    return fail(Code::kDeadlineExceeded,
                fmt::format("shard {} is not closed, {:.1f} s after the work that still runs was "
                            "cancelled: {}",
                            common_.path, since_cancel.seconds(), common_.background.running()));
  }
  is_closed_ = true;
  return common_.store().close();
}

bool Shard::has_no_work() {
  constexpr std::chrono::milliseconds kAtOnce{0};
  return log_->wait_until_idle(kAtOnce) && common_.lane.drain_for(kAtOnce) &&
         common_.background.wait_for(kAtOnce);
}

}  // namespace quiver::engine
