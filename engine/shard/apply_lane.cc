#include "engine/shard/apply_lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/observe/failure.h"

namespace quiver::engine {
namespace {

/// With this many frozen segments waiting to be sealed, writers wait for the background.
constexpr std::size_t kMaxUnsealed = 4;
/// Writers are refused while seals fail and frozen segments take this many times the size at which
/// one is sealed. Without a failure writers wait.
constexpr std::uint64_t kMaxUnsealedSizes = 8;

/// Takes the rows of the request.
Result<std::vector<Seq>> stage_request(ShardRequest& request, const SegmentSet& base,
                                       const CollectionConfig& config, Staging& group, Seq& next) {
  Staging layer(base, config, &group);
  std::vector<Seq> seqs;
  Seq numbered = next;
  for (auto& operation : request.operations) {
    QV_TRY(layer.apply(std::move(operation), numbered));
    seqs.push_back(Seq{to_number(numbered) - 1});
  }
  next = numbered;
  group.absorb(std::move(layer));
  return seqs;
}

void answer(ShardRequest& request, Result<std::vector<Seq>> result) noexcept {
  const auto done = std::exchange(request.done, nullptr);
  if (done) run_logged("answering an update", [&] { done(std::move(result)); });
}

}  // namespace

ApplyLane::ApplyLane(ShardCommon& common, SegmentTable& table, ShardLog& log, UpdateQueue& queue,
                     const BulkLoad& bulk, WorkStatus& status, Maintenance& maintenance)
    : common_(common),
      table_(table),
      log_(log),
      queue_(queue),
      bulk_(bulk),
      status_(status),
      maintenance_(maintenance),
      committed_([this](const Result<>& result) { finish_group(result); }) {}

bool ApplyLane::waits_for_seal() {
  return table_.n_unsealed() >= kMaxUnsealed && status_.is_running(JobKind::kSeal);
}

bool ApplyLane::put_off() {
  if (common_.closed || !(bulk_.is_open() || waits_for_seal())) return false;
  queue_.put_off();
  return true;
}

void ApplyLane::refuse_overdue() noexcept {
  run_logged("refusing updates that waited too long", [this] {
    if (!bulk_.is_open() && !waits_for_seal()) return;
    const auto reason =
        guarded([this]() -> Result<> { return fail(Code::kUnavailable, describe_wait()); });
    for (auto& [request, n_bytes, result] : queue_.take_overdue()) {
      answer(request, fail(reason.error()));
    }
  });
}

std::string ApplyLane::describe_wait() {
  if (bulk_.is_open()) {
    return fmt::format("the update waited for {}; nothing of it was stored here", bulk_.describe());
  }
  return fmt::format(
      "the update waited for {} segments of {} bytes that are being written to disk; nothing of "
      "it was stored here: try again later, with fewer updates at a time or a faster disk",
      table_.n_unsealed(), table_.unsealed_bytes());
}

void ApplyLane::refuse_given_up() noexcept {
  run_logged("refusing updates whose callers have given up", [this] {
    for (auto& [request, n_bytes, result] : queue_.take_given_up()) {
      const std::chrono::duration<double, std::milli> waited =
          Deadline::Clock::now() - request.queued_at;
      answer(request, fail(Code::kResourceExhausted,
                           fmt::format("the update waited for {:.0f} ms in the queue of its shard, "
                                       "longer than its timeout; nothing of it was stored here",
                                       waited.count())));
    }
  });
}

void ApplyLane::apply_group() noexcept {
  refuse_given_up();
  group_.emplace(queue_.take(), table_.snapshot(), common_.config.load(),
                 [this](const PointId& id) { return common_.store().row(id); });
  const Result<> staged = guarded([this] { return stage(); });
  if (!staged) return finish_group(staged);
  if (group_->staging.empty()) return finish_empty_group();
  if (group_->last_entry != 0) {
    log_.append_entries(group_->staging, group_->last_entry, committed_);
  } else {
    log_.append(group_->staging, committed_);
  }
}

void ApplyLane::finish_empty_group() noexcept {
  const bool is_acknowledged = std::ranges::any_of(group_->requests, [](const auto& queued) {
    return queued.request.entry == nullptr && queued.result.has_value();
  });
  if (is_acknowledged) return log_.confirm(committed_);
  finish_group({});
}

Result<> ApplyLane::stage() {
  const bool has_entries = std::ranges::any_of(group_->requests, [](const QueuedRequest& queued) {
    return queued.request.entry != nullptr;
  });
  return has_entries ? stage_entries() : stage_requests();
}

Result<> ApplyLane::stage_entries() {
  Group& group = *group_;
  Seq next = table_.next_seq();
  EntryNumber last = log_.applied();
  for (auto& [request, n_bytes, result] : group.requests) {
    if (request.entry == nullptr) {
      result = fail(Code::kUnavailable, "this node does not lead any more, try again");
    } else if (request.entry->number <= last) {
      result = std::vector<Seq>();  // applied already
    } else if (request.entry->number != last + 1) {
      result = fail(Code::kFailedPrecondition,
                    fmt::format("entry {} cannot follow entry {}", request.entry->number, last));
    } else {
      group.staging.apply_numbered(request.entry->changes, next);
      result = std::vector<Seq>();
      last = request.entry->number;
    }
  }
  if (last == log_.applied()) return {};
  group.last_entry = last;
  table_.set_next_seq(next);
  return {};
}

Result<> ApplyLane::check_room() const {
  const std::string failure = status_.status().error;
  if (failure.empty()) return {};
  const std::uint64_t n_bytes = table_.unsealed_bytes();
  const std::uint64_t limit = kMaxUnsealedSizes * group_->config->optimizer.seal_bytes;
  if (n_bytes <= limit) return {};
  return fail(Code::kResourceExhausted, Subject::kMemory, {},
              fmt::format("{} bytes of points wait in memory until they can be written into "
                          "segments, at most {} may wait; {}",
                          n_bytes, limit, failure));
}

Result<> ApplyLane::stage_requests() {
  QV_TRY(check_room());
  Group& group = *group_;
  Seq next = table_.next_seq();
  for (auto& [request, n_bytes, result] : group.requests) {
    result = stage_request(request, *group.base, *group.config, group.staging, next);
  }
  QV_TRY(group.base->check());  // edits were made of the rows that are there
  if (group.staging.empty()) return {};
  if (bulk_.is_open()) {
    return fail(Code::kUnavailable, "closing, and a bulk load is not finished");
  }
  table_.set_next_seq(next);
  return {};
}

void ApplyLane::finish_group(const Result<>& committed) noexcept {
  for (auto& [request, n_bytes, result] : group_->requests) {
    if (!committed && result) result = fail(committed.error());
    if (request.ack == Ack::kDurable) answer(request, std::move(result));
  }
  if (committed) apply_committed();
  if (!committed) common_.wants_tick = true;  // to repair the store
  for (auto& [request, n_bytes, result] : group_->requests) answer(request, std::move(result));
  group_.reset();
  if (table_.is_full()) maintenance_.freeze();
  maintenance_.start_due_jobs();
  queue_.drained();
}

void ApplyLane::apply_committed() noexcept {
  run_whole("applying committed updates", [this] {
    apply_to_memory();
    table_.set_applied();
    status_.publish();
    log_.set_visible();
  });
}

void ApplyLane::apply_to_memory() {
  const Staging& staging = group_->staging;
  if (staging.empty()) return;
  for (const auto& change : staging.changes()) {
    table_.remove(change.id);
    if (change.row != nullptr) table_.append(*change.row);
  }
  maintenance_.note_write();
}

}  // namespace quiver::engine
