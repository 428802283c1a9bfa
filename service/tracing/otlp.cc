#include "service/tracing/otlp.h"

#include <algorithm>

#include "base/utf8.h"
#include "proto/traces.pb.h"

namespace quiver::service::tracing {
namespace {

constexpr std::size_t kMaxTextBytes = 256;
// Bits of `Span.flags` beside the flags of traceparent.
constexpr std::uint32_t kSampled = 0x1;
constexpr std::uint32_t kKnowsIfRemote = 0x100;
constexpr std::uint32_t kIsRemote = 0x200;

std::string text_of(std::string_view text) { return to_utf8(text.substr(0, kMaxTextBytes)); }

void add_text(traces::Attribute& attribute, std::string_view key, std::string_view text) {
  attribute.set_key(std::string(key));
  attribute.mutable_value()->set_text(text_of(text));
}

void encode(const Resource& from, traces::Resource& to) {
  add_text(*to.add_attributes(), "service.name", from.service_name);
  add_text(*to.add_attributes(), "service.version", from.service_version);
  add_text(*to.add_attributes(), "service.instance.id", from.instance_id);
  add_text(*to.add_attributes(), "host.name", from.host_name);
}

void encode(const Attribute& from, traces::Attribute& to) {
  if (const auto* text = std::get_if<std::string>(&from.value)) {
    return add_text(to, from.key, *text);
  }
  to.set_key(std::string(from.key));
  to.mutable_value()->set_number(std::get<std::int64_t>(from.value));
}

/// What the spans of a request share.
void encode_trace(const RequestSpan& from, traces::Span& to) {
  to.set_trace_id(to_bytes(from.context.trace_id));
  to.set_trace_state(from.tracestate);
  to.set_flags(kSampled | kKnowsIfRemote);
}

void encode_request(const RequestSpan& from, traces::Span& to) {
  encode_trace(from, to);
  to.set_span_id(to_bytes(from.context.span_id));
  if (from.parent_id != 0) {
    to.set_parent_span_id(to_bytes(from.parent_id));
    to.set_flags(to.flags() | kIsRemote);
  }
  to.set_name(text_of(from.name));
  to.set_kind(traces::Span::KIND_SERVER);
  to.set_start_time_unix_nano(static_cast<std::uint64_t>(from.start_ns));
  to.set_end_time_unix_nano(static_cast<std::uint64_t>(from.end_ns));
  for (const Attribute& attribute : from.attributes) encode(attribute, *to.add_attributes());
  if (from.is_error) to.mutable_status()->set_code(traces::Status::CODE_ERROR);
}

void encode_stage(const RequestSpan& request, const Stage& from, traces::Span& to) {
  encode_trace(request, to);
  to.set_span_id(to_bytes(from.span_id));
  to.set_parent_span_id(to_bytes(request.context.span_id));
  to.set_name(std::string(from.name));
  to.set_kind(static_cast<traces::Span::Kind>(from.kind));
  to.set_start_time_unix_nano(static_cast<std::uint64_t>(from.start_ns));
  to.set_end_time_unix_nano(static_cast<std::uint64_t>(from.end_ns));
}

}  // namespace

std::string encode_spans(const Resource& resource, const SpanBatch& batch) {
  traces::ExportRequest request;
  traces::ResourceSpans& spans = *request.add_resource_spans();
  encode(resource, *spans.mutable_resource());
  traces::ScopeSpans& scope = *spans.add_scope_spans();
  scope.mutable_scope()->set_name("quiver");
  scope.mutable_scope()->set_version(resource.service_version);
  for (const RequestSpan& span : batch) {
    encode_request(span, *scope.add_spans());
    for (const Stage& stage : span.stages.all()) encode_stage(span, stage, *scope.add_spans());
  }
  return request.SerializeAsString();
}

std::uint64_t rejected_spans(std::string_view answer) {
  traces::ExportAnswer message;
  if (!message.ParseFromArray(answer.data(), static_cast<int>(answer.size()))) return 0;
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(message.partial_success().rejected_spans(), 0));
}

}  // namespace quiver::service::tracing
