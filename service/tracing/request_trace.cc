#include "service/tracing/request_trace.h"

#include <utility>

#include "service/tracing/tracer.h"

namespace quiver::service::tracing {

void RequestTrace::begin(const Tracer* tracer, std::string_view traceparent) {
  has_tracer_ = tracer != nullptr;
  is_in_stage_ = false;
  context_.is_sampled = false;
  if (tracer == nullptr) return;
  const auto parent = parse_traceparent(traceparent);
  context_.trace_id = parent ? parent->trace_id : random_trace_id();
  context_.span_id = random_span_id();
  context_.is_sampled = parent ? parent->is_sampled : tracer->samples(context_.trace_id);
  if (!context_.is_sampled) return;
  parent_id_ = parent ? parent->span_id : 0;
  stages_.clear();
  start_ = Clock::now();
  start_ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(
                  std::chrono::system_clock::now().time_since_epoch())
                  .count();
}

std::int64_t RequestTrace::now_ns() const {
  return start_ns_ +
         std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count();
}

void RequestTrace::enter(std::string_view name, SpanKind kind) {
  leave_stage();
  if (stages_.is_full()) return;
  const std::int64_t now = now_ns();
  stages_.add({name, kind, random_span_id(), now, now});
  is_in_stage_ = true;
}

void RequestTrace::leave() {
  stages_.last().end_ns = now_ns();
  is_in_stage_ = false;
}

std::string RequestTrace::logged_id(std::string_view traceparent) const {
  if (!traceparent.empty()) return std::string(trace_id_of(traceparent));
  return is_sampled() ? to_hex(context_.trace_id) : std::string();
}

std::string RequestTrace::to_pass_on(std::string_view traceparent) {
  if (!has_tracer_) return std::string(traceparent);
  TraceContext context = context_;
  if (is_in_stage_) context.span_id = stages_.last().span_id;
  return to_traceparent(context);
}

RequestSpan RequestTrace::finish() {
  leave_stage();
  RequestSpan span;
  span.context = context_;
  span.parent_id = parent_id_;
  span.start_ns = start_ns_;
  span.end_ns = now_ns();
  span.stages = stages_;
  context_.is_sampled = false;
  return span;
}

}  // namespace quiver::service::tracing
