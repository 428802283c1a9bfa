#include "engine/collections/recall/collection_recall.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/observe/failure.h"
#include "base/observe/log.h"

namespace quiver::engine {
namespace {

/// Pause after a measurement that failed: what failed will not be well at once.
constexpr auto kPauseAfterFailure = std::chrono::minutes(1);

RecallWatch::Handler handler_if(KeepRecall keep, RecallWatch::Handler handler) {
  return keep == KeepRecall::kYes ? std::move(handler) : RecallWatch::Handler();
}

RecallBudget::Time now() { return std::chrono::steady_clock::now(); }

}  // namespace

CollectionRecall::CollectionRecall(RecallContext context, RecallHost host)
    : context_(std::move(context)),
      host_(std::move(host)),
      watch_(context_.budget, handler_if(context_.keep, [this](WatchedSearch search) {
               return watch_again(std::move(search));
             })) {}

void CollectionRecall::follow(const CollectionConfig& config) {
  watch_.follow(config);
  if (context_.queries == nullptr) return;
  context_.queries->add_fields(config.fields);
  for (const RecallTable& table : config.recall) {
    if (const auto field = config.field(table.field)) context_.queries->begin(*field);
  }
}

// Watching.

bool CollectionRecall::watch_again(WatchedSearch search) {
  auto keep = host_.keep();
  if (keep == nullptr || cancel_.poll()) return false;
  auto owned = std::make_shared<const WatchedSearch>(std::move(search));
  return context_.watching.post(Priority::kLow,
                                [this, keep = std::move(keep), owned] { run_watched(*owned); });
}

void CollectionRecall::run_watched(const WatchedSearch& search) {
  const Stopwatch clock;
  run_logged("watching a search", [&] {
    const auto recall = host_.recall_of(search, cancel_);
    if (!recall) return;  // closing, or the field is gone
    if (const auto alarm = watch_.note(search.field, search.target, *recall)) {
      raise(search.field, *alarm);
    }
  });
  watch_.done_with(RecallBudget::Seconds(clock.seconds()));
}

/// The queries recorded before the alarm may be of another kind than those that raised it.
void CollectionRecall::raise(std::size_t field, const RecallAlarm& alarm) {
  const auto config = host_.config();
  log_warning(
      "recall of `{}`: {:.3f} over {} watched searches, where {:.3f} or more is promised; efforts "
      "are multiplied by {:.2f} until it is measured again",
      field < config->fields.size() ? config->fields[field].name : std::string(), alarm.observed,
      alarm.n_watched, alarm.promised, alarm.effort_factor);
  if (alarm.is_first && context_.queries != nullptr) context_.queries->renew(field);
}

// Measuring.

std::optional<CollectionRecall::Due> CollectionRecall::due(std::size_t field,
                                                           const CollectionConfig& config) const {
  const RecallTable* table = find_recall(config, config.fields[field].name);
  if (table == nullptr) return Due{"nothing was measured", RecallUrgency::kFirst};
  if (watch_.is_alarmed(field)) return Due{"the watch raised an alarm", RecallUrgency::kAlarm};
  const FieldPoints points = host_.points(field);
  if (!is_current(*table, points)) {
    return Due{fmt::format("{} points, {} of them indexed, were measured, and there are {} and {}",
                           table->n_points, table->n_indexed, points.all, points.indexed)};
  }
  if (table->source == RecallSource::kSynthetic) return Due{"it was measured with made queries"};
  const std::size_t n = context_.queries->n_recorded(field);
  if (table->source == RecallSource::kRecorded && n >= 2 * table->n_queries) {
    return Due{fmt::format("{} queries were measured, and {} are recorded", table->n_queries, n)};
  }
  return std::nullopt;
}

void CollectionRecall::tick() {
  if (context_.keep == KeepRecall::kNo || context_.queries == nullptr) return;
  {
    MutexLock lock(mutex_);
    if (is_closed_ || measured_) return;
    if (failed_at_ && now() < *failed_at_ + kPauseAfterFailure) return;
  }
  const auto config = host_.config();
  for (std::size_t field = 0; field < config->fields.size(); ++field) {
    if (!watch_.is_asked(field) || is_dropped(config->fields[field])) continue;
    if (context_.queries->n_recorded(field) < kMinRecordedQueries) continue;
    const auto why = due(field, *config);
    if (!why || !host_.check_changes()) continue;
    if (!context_.budget->begin_measuring(why->urgency, now())) continue;
    begin(field, config->fields[field].name, *why);
    return;
  }
}

void CollectionRecall::begin(std::size_t field, const std::string& name, const Due& due) {
  auto keep = host_.keep();
  bool is_begun = false;
  {
    MutexLock lock(mutex_);
    is_begun = !is_closed_ && keep != nullptr;
    if (is_begun) measured_ = field;
  }
  if (!is_begun) return context_.budget->end_measuring({}, now());
  const bool is_posted = context_.measuring.post(
      Priority::kLow,
      [this, keep = std::move(keep), name, why = due.why] { take_turn(name, why); });
  if (!is_posted) end_measurement({}, Outcome::kFailed);
}

void CollectionRecall::take_turn(const std::string& name, const std::string& why) {
  const Stopwatch clock;
  bool is_wanted = false;
  {
    MutexLock lock(mutex_);
    is_wanted = is_running_ = !is_closed_;
  }
  auto outcome = Outcome::kFailed;
  if (is_wanted) {
    const auto measured = guarded([&] { return run_measurement(name, why); });
    if (measured) outcome = Outcome::kMeasured;
    if (!measured && !cancel_.poll()) {
      log_warning("recall of `{}` could not be measured: {}", name, measured.error().message());
    }
  }
  end_measurement(RecallBudget::Seconds(clock.seconds()), outcome);
}

Result<> CollectionRecall::run_measurement(const std::string& name, const std::string& why) {
  const Stopwatch clock;
  RecallRequest request;
  request.using_field = name;
  request.source = RecallSource::kRecorded;
  QV_TRY(request, with_queries(std::move(request)));
  QV_TRY(const auto table, host_.measure(request, cancel_));
  QV_TRY(host_.store(table));
  log_info("recall of `{}` was measured with {} recorded queries in {:.1f} s: {}", name,
           table.n_queries, clock.seconds(), why);
  return {};
}

void CollectionRecall::end_measurement(RecallBudget::Seconds took, Outcome outcome) {
  context_.budget->end_measuring(took, now());
  MutexLock lock(mutex_);
  measured_.reset();
  is_running_ = false;
  failed_at_ = outcome == Outcome::kFailed ? std::optional(now()) : std::nullopt;
  ended_.notify_all();
}

bool CollectionRecall::is_busy() const {
  MutexLock lock(mutex_);
  return measured_.has_value();
}

void CollectionRecall::close() {
  cancel_.cancel();
  MutexLock lock(mutex_);
  is_closed_ = true;
  while (is_running_) ended_.wait(mutex_);
}

Result<RecallRequest> CollectionRecall::with_queries(RecallRequest request) const {
  if (!request.queries.empty()) {
    request.source = RecallSource::kGiven;
    return request;
  }
  if (request.source == RecallSource::kSynthetic) return request;
  QV_TRY(const std::size_t field, host_.config()->field(request.using_field));
  const bool is_wanted = request.source == RecallSource::kRecorded;
  if (context_.queries == nullptr) {
    if (!is_wanted) return request;
    return fail(Code::kFailedPrecondition,
                "no queries are recorded: `storage.record_queries` is false");
  }
  auto recorded = context_.queries->recorded(field);
  if (recorded.size() >= kMinRecordedQueries) {
    request.source = RecallSource::kRecorded;
    for (auto& query : recorded) request.queries.emplace_back(std::move(query));
    return request;
  }
  if (!is_wanted) return request;
  return fail(
      Code::kFailedPrecondition,
      fmt::format("{} queries of `{}` are recorded, and {} or more are wanted; queries with "
                  "`params.recall` begin the recording",
                  recorded.size(), request.using_field, kMinRecordedQueries));
}

// Telling.

void CollectionRecall::describe_next(std::size_t field, const CollectionConfig& config,
                                     RecallStatus& status) const {
  using Next = RecallStatus::Next;
  status.next = Next::kNever;
  if (context_.keep == KeepRecall::kNo) {
    status.why = "`storage.watch_recall` is false";
    return;
  }
  if (context_.queries == nullptr) {
    status.why = "`storage.record_queries` is false";
    return;
  }
  if (const auto allowed = host_.check_changes(); !allowed) {
    status.why = allowed.error().message();
    return;
  }
  const auto why = due(field, config);
  status.next = why ? Next::kWaiting : Next::kNone;
  if (!why) return;
  status.why = why->why;
  status.in_s = context_.budget->rest(why->urgency, now()).count();
  MutexLock lock(mutex_);
  if (measured_ == field) {
    status.next = Next::kRunning;
    status.in_s = 0;
  } else if (status.n_recorded < kMinRecordedQueries) {
    status.why += fmt::format("; {} queries are recorded, and {} are wanted", status.n_recorded,
                              kMinRecordedQueries);
  } else if (!watch_.is_asked(field)) {
    status.why += "; no recall was asked of the field since it was opened";
  }
}

std::vector<RecallStatus> CollectionRecall::statuses() const {
  std::vector<RecallStatus> statuses;
  const auto config = host_.config();
  for (std::size_t field = 0; field < config->fields.size(); ++field) {
    const FieldSchema& schema = config->fields[field];
    const bool has_table = find_recall(*config, schema.name) != nullptr;
    if (is_dropped(schema) || (!has_table && !watch_.is_asked(field))) continue;
    RecallStatus status = watch_.status(field);
    status.field = schema.name;
    if (context_.queries != nullptr) status.n_recorded = context_.queries->n_recorded(field);
    describe_next(field, *config, status);
    statuses.push_back(std::move(status));
  }
  return statuses;
}

}  // namespace quiver::engine
