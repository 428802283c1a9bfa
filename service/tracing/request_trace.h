// The trace of one request while it is answered.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "service/tracing/span.h"
#include "service/tracing/trace_context.h"

namespace quiver::service::tracing {

class Tracer;

/// Lives in a call and is used by the thread that uses the call. A request that is not sampled
/// costs its ids and one branch per stage; it allocates nothing.
class RequestTrace {
 public:
  /// Forgets the previous request. `tracer` outlives this; null: there are no traces. The flag of a
  /// valid `traceparent` decides whether the request is sampled; without one the tracer does.
  void begin(const Tracer* tracer, std::string_view traceparent);
  [[nodiscard]] bool is_sampled() const { return context_.is_sampled; }

  /// A stage begins, and ends the one before it. `name` is a static text.
  void enter_stage(std::string_view name, SpanKind kind = SpanKind::kInternal) {
    if (is_sampled()) enter(name, kind);
  }
  /// Ends the stage that has begun, if there is one.
  void leave_stage() {
    if (is_in_stage_) leave();
  }

  /// For logs: the trace that the caller named, else the one that is sampled here; "" if none.
  /// `traceparent` is that of the request, a valid one or "".
  [[nodiscard]] std::string logged_id(std::string_view traceparent) const;
  /// The `traceparent` for a request to another node, whose parent is the current stage. Without
  /// traces it is the one of the request.
  [[nodiscard]] std::string to_pass_on(std::string_view traceparent);

  /// Ends a sampled request. The caller adds name and attributes.
  [[nodiscard]] RequestSpan finish();

 private:
  using Clock = std::chrono::steady_clock;

  void enter(std::string_view name, SpanKind kind);
  void leave();
  /// Nanoseconds since 1970, which do not jump within a request.
  [[nodiscard]] std::int64_t now_ns() const;

  bool has_tracer_ = false;
  bool is_in_stage_ = false;
  TraceContext context_;
  SpanId parent_id_ = 0;
  std::int64_t start_ns_ = 0;
  Clock::time_point start_;
  Stages stages_;
};

/// A stage that lasts as long as this object.
class StageScope {
 public:
  StageScope(RequestTrace& trace, std::string_view name, SpanKind kind = SpanKind::kInternal)
      : trace_(trace) {
    trace_.enter_stage(name, kind);
  }
  ~StageScope() { trace_.leave_stage(); }
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  RequestTrace& trace_;
};

}  // namespace quiver::service::tracing
