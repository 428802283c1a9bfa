#include "service/api/load/lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "service/api/load/cost_book.h"
#include "service/api/load/wait_estimate.h"

namespace quiver::service::api::load {
namespace {

/// A request whose turn came waited too long if it waited for so many times the allowed wait. Less
/// would refuse requests that waited nearly all their time because of an estimate a little too low.
constexpr int kLateFactor = 2;

constexpr std::string_view kRefusedHelp =
    "requests refused with 429 because of the wait for a thread, by reason and kind of work";

double to_ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

/// Bounds for waits: 0.1 ms to 10 s, in seconds.
std::vector<double> wait_bounds() {
  return {1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};
}

std::string limit_text(std::chrono::nanoseconds allowed) {
  return fmt::format("at most {:.1f} ms are allowed (service.max_wait_ms)", to_ms(allowed));
}

Refusal refusal(std::chrono::nanoseconds wait, std::string text) {
  constexpr double kMaxRetryS = 60;
  const double seconds = std::ceil(std::chrono::duration<double>(wait).count());
  return {Error(Code::kResourceExhausted, std::move(text)),
          static_cast<std::uint32_t>(std::clamp(seconds, 1.0, kMaxRetryS))};
}

}  // namespace

std::optional<Refusal> Ticket::begin(Time now, LateBy which) {
  if (lane_ == nullptr || begun_) return std::nullopt;
  return lane_->begin(*this, now, which);
}

void Ticket::end(Time now) {
  if (lane_ != nullptr) std::exchange(lane_, nullptr)->end(*this, now);
}

Lane::Lane(Executor& executor, CostBook& book, MetricsRegistry& metrics, const Options& options)
    : executor_(executor),
      book_(book),
      max_wait_ms_(options.max_wait_ms),
      refused_by_deadline_(metrics.counter(options.metrics_prefix + "requests_refused_total",
                                           kRefusedHelp,
                                           {{"reason", "deadline"}, {"work", options.label}})),
      refused_by_wait_(metrics.counter(options.metrics_prefix + "requests_refused_total",
                                       kRefusedHelp,
                                       {{"reason", "max_wait"}, {"work", options.label}})),
      refused_late_(metrics.counter(options.metrics_prefix + "requests_refused_total", kRefusedHelp,
                                    {{"reason", "late"}, {"work", options.label}})),
      waits_(metrics.histogram(options.metrics_prefix + "request_wait_seconds",
                               "times that requests waited for a thread that computes, by kind of "
                               "work",
                               {{"work", options.label}}, wait_bounds())),
      estimate_(std::make_unique<WaitEstimate>(executor.n_threads())) {}

Lane::~Lane() = default;

bool Lane::is_long() const {
  return estimate_->n_waiting() >= kAllowedPerThread * estimate_->n_threads();
}

std::optional<Lane::Duration> Lane::max_wait() const {
  if (max_wait_ms_ <= 0) return std::nullopt;
  // Searches that share a pass take as long as their share of it.
  const auto n_tasks = static_cast<std::size_t>(kServices) * estimate_->n_threads();
  const std::chrono::duration<double, std::milli> set(max_wait_ms_);
  return std::max(std::chrono::duration_cast<Duration>(set), estimate_->wait_behind(n_tasks));
}

std::optional<Lane::Objection> Lane::object_to_waiting(const Patience& patience, Time now) const {
  const Duration wait = estimate_->expected_wait();
  if (!patience.is_refusable || wait.count() == 0) return std::nullopt;
  if (now + wait > patience.deadline) return Objection{wait, std::nullopt};
  const auto allowed = max_wait();
  if (!is_long() || !allowed || wait <= *allowed) return std::nullopt;
  return Objection{wait, allowed};
}

std::optional<Lane::Objection> Lane::object_to_beginning(const Ticket& ticket, Time now,
                                                         LateBy which) const {
  const Patience& patience = ticket.patience_;
  const Duration waited = now - ticket.queued_;
  if (!patience.is_refusable || !is_long()) return std::nullopt;
  if (now >= patience.deadline) return Objection{waited, std::nullopt};
  if (which == LateBy::kDeadline) return std::nullopt;
  const auto allowed = max_wait();
  if (!allowed || waited <= kLateFactor * *allowed) return std::nullopt;
  return Objection{waited, allowed};
}

Lane::Admitted Lane::admit(const Work& work, const Patience& patience, Time now) {
  std::optional<Objection> objection;
  {
    MutexLock lock(mutex_);
    objection = object_to_waiting(patience, now);
    if (!objection) {
      estimate_->arrive(now);
      return {Ticket(*this, work, patience, now), std::nullopt};
    }
  }
  (objection->allowed ? refused_by_wait_ : refused_by_deadline_).add();
  const std::string limit = objection->allowed
                                ? limit_text(*objection->allowed)
                                : fmt::format("its deadline is in {:.1f} ms",
                                              std::max(0.0, to_ms(patience.deadline - now)));
  return {Ticket(), refusal(objection->wait,
                            fmt::format("the server is overloaded: the request would wait about "
                                        "{:.1f} ms for a thread, {}; nothing of it was done",
                                        to_ms(objection->wait), limit))};
}

std::optional<Refusal> Lane::begin(Ticket& ticket, Time now, LateBy which) {
  std::optional<Objection> objection;
  Duration next_wait{};
  {
    MutexLock lock(mutex_);
    objection = object_to_beginning(ticket, now, which);
    if (!objection) {
      estimate_->begin(now);
      ticket.begun_ = now;
    } else {
      estimate_->give_up();
      ticket.lane_ = nullptr;
      next_wait = estimate_->expected_wait();
    }
  }
  waits_.observe(std::chrono::duration<double>(now - ticket.queued_).count());
  if (!objection) return std::nullopt;
  refused_late_.add();
  const std::string limit = objection->allowed
                                ? limit_text(*objection->allowed)
                                : fmt::format("its deadline was {:.1f} ms after it came",
                                              to_ms(ticket.patience_.deadline - ticket.queued_));
  return refusal(next_wait, fmt::format("the server is overloaded: the request waited {:.1f} ms "
                                        "for a thread, {}; nothing of it was done",
                                        to_ms(objection->wait), limit));
}

void Lane::end(const Ticket& ticket, Time now) noexcept {
  MutexLock lock(mutex_);
  if (!ticket.begun_) return estimate_->give_up();
  const Duration took = now - *ticket.begun_;
  estimate_->end(took);
  book_.note(ticket.work_, took);
}

Lane::Duration Lane::expected_wait() const {
  MutexLock lock(mutex_);
  return estimate_->expected_wait();
}

}  // namespace quiver::service::api::load
