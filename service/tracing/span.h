// What one request leaves for the collector: its span, and those of its stages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/variant.h"
#include "service/tracing/trace_context.h"

namespace quiver::service::tracing {

/// Numbers of OTLP.
enum class SpanKind : std::uint8_t { kInternal = 1, kServer = 2, kClient = 3 };

/// A part of a request's time, a child of its span.
struct Stage {
  std::string_view name;  ///< static text
  SpanKind kind = SpanKind::kInternal;
  SpanId span_id = 0;
  std::int64_t start_ns = 0, end_ns = 0;  ///< since 1970
};

struct Attribute {
  std::string_view key;  ///< static text
  Variant<std::string, std::int64_t> value;
};

/// The stages of one request, in order. Further ones are left out.
class Stages {
 public:
  static constexpr std::size_t kMaxStages = 8;

  void clear() { n_ = 0; }
  [[nodiscard]] bool is_full() const { return n_ == kMaxStages; }
  void add(const Stage& stage) { stages_[n_++] = stage; }
  [[nodiscard]] Stage& last() { return stages_[n_ - 1]; }
  [[nodiscard]] std::span<const Stage> all() const { return {stages_.data(), n_}; }

 private:
  std::array<Stage, kMaxStages> stages_;
  std::size_t n_ = 0;
};

struct RequestSpan {
  TraceContext context;
  SpanId parent_id = 0;  ///< the caller's span; 0: the request began the trace
  std::string tracestate;
  std::string name;
  std::int64_t start_ns = 0, end_ns = 0;  ///< since 1970
  bool is_error = false;                  ///< the server is to blame
  std::vector<Attribute> attributes;
  Stages stages;

  /// Leaves out a text without characters.
  void set(std::string_view key, std::string_view text) {
    if (!text.empty()) attributes.push_back({key, std::string(text)});
  }
  void set(std::string_view key, std::int64_t number) { attributes.push_back({key, number}); }
  [[nodiscard]] std::size_t n_spans() const { return 1 + stages.all().size(); }
};

/// The address in "HOST[:PORT]", as a client wrote it.
void set_server(RequestSpan& span, std::string_view authority);
/// The collection that a request is about; "": none.
void set_collection(RequestSpan& span, std::string_view name);

}  // namespace quiver::service::tracing
