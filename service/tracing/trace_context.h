// The part of a trace that requests carry: W3C Trace Context, level 1.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quiver::service::tracing {

/// 16 bytes, the first ones in `high`; not all zeros.
struct TraceId {
  std::uint64_t high = 0, low = 0;
  bool operator==(const TraceId&) const = default;
};
/// 8 bytes; 0: none.
using SpanId = std::uint64_t;

/// Which span a request belongs to.
struct TraceContext {
  TraceId trace_id;
  SpanId span_id = 0;
  bool is_sampled = false;
};

/// The context in a `traceparent`; nullopt if it is none. A version beyond 00 may have more fields.
[[nodiscard]] std::optional<TraceContext> parse_traceparent(std::string_view text);
/// A `traceparent` of version 00.
[[nodiscard]] std::string to_traceparent(const TraceContext& context);
/// True for a `traceparent` as W3C defines it (Trace Context, 3.2).
[[nodiscard]] bool is_traceparent(std::string_view text);
/// The 32 hex digits of a `traceparent`; "" for "".
[[nodiscard]] std::string_view trace_id_of(std::string_view traceparent);
/// Appends the value of one more `tracestate` header: several are one list (Trace Context, 3.3).
/// Does nothing if the list would have more than 512 bytes, or has others than visible ASCII,
/// spaces and tabs. What its members say is left to those who understand them.
void append_tracestate(std::string& list, std::string_view value);

/// 32 lower-case hex digits.
[[nodiscard]] std::string to_hex(const TraceId& id);
/// The 16 bytes, as collectors want them.
[[nodiscard]] std::string to_bytes(const TraceId& id);
/// The 8 bytes.
[[nodiscard]] std::string to_bytes(SpanId id);

/// Random ids from a generator of the thread, which the system seeds. They allocate nothing.
[[nodiscard]] TraceId random_trace_id();
[[nodiscard]] SpanId random_span_id();

}  // namespace quiver::service::tracing
