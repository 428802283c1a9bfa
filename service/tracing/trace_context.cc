#include "service/tracing/trace_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>

namespace quiver::service::tracing {
namespace {

constexpr std::size_t kTraceAt = 3;
constexpr std::size_t kParentAt = 36;
constexpr std::size_t kFlagsAt = 53;
constexpr std::size_t kTraceDigits = 32;
constexpr std::size_t kSpanDigits = 16;
constexpr std::size_t kBytes = kFlagsAt + 2;
constexpr unsigned kSampledFlag = 1;

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_all_zeros(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

bool is_all_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

/// `digits` are at most 16 hex digits.
std::uint64_t hex_value(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

void append_bytes(std::string& out, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

std::mt19937_64 seeded_generator() {
  std::random_device device;
  std::array<std::random_device::result_type, 8> words{};
  std::ranges::generate(words, [&] { return device(); });
  std::seed_seq seed(words.begin(), words.end());
  return std::mt19937_64(seed);
}

/// Not 0.
std::uint64_t random_bits() {
  thread_local std::mt19937_64 generator = seeded_generator();
  for (;;) {
    if (const std::uint64_t bits = generator(); bits != 0) return bits;
  }
}

}  // namespace

bool is_traceparent(std::string_view text) {
  constexpr std::size_t kMaxBytes = 128;
  if (text.size() < kBytes || text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  const auto version = text.substr(0, 2);
  const auto trace = text.substr(kTraceAt, kTraceDigits);
  const auto parent = text.substr(kParentAt, kSpanDigits);
  if (!is_hex(version) || !is_hex(trace) || !is_hex(parent) || !is_hex(text.substr(kFlagsAt, 2))) {
    return false;
  }
  if (version == "ff" || is_all_zeros(trace) || is_all_zeros(parent)) return false;
  if (text.size() == kBytes) return true;
  return version != "00" && text[kBytes] == '-' && text.size() <= kMaxBytes && is_all_visible(text);
}

std::string_view trace_id_of(std::string_view traceparent) {
  return traceparent.empty() ? traceparent : traceparent.substr(kTraceAt, kTraceDigits);
}

void append_tracestate(std::string& list, std::string_view value) {
  constexpr std::size_t kMaxBytes = 512;
  const bool is_plain =
      std::ranges::all_of(value, [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; });
  if (value.empty() || !is_plain || list.size() + 1 + value.size() > kMaxBytes) return;
  if (!list.empty()) list += ',';
  list += value;
}

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  if (!is_traceparent(text)) return std::nullopt;
  TraceContext context;
  context.trace_id.high = hex_value(text.substr(kTraceAt, kSpanDigits));
  context.trace_id.low = hex_value(text.substr(kTraceAt + kSpanDigits, kSpanDigits));
  context.span_id = hex_value(text.substr(kParentAt, kSpanDigits));
  context.is_sampled = (hex_value(text.substr(kFlagsAt, 2)) & kSampledFlag) != 0;
  return context;
}

std::string to_traceparent(const TraceContext& context) {
  return fmt::format("00-{:016x}{:016x}-{:016x}-{}", context.trace_id.high, context.trace_id.low,
                     context.span_id, context.is_sampled ? "01" : "00");
}

std::string to_hex(const TraceId& id) { return fmt::format("{:016x}{:016x}", id.high, id.low); }

std::string to_bytes(const TraceId& id) {
  std::string out;
  append_bytes(out, id.high);
  append_bytes(out, id.low);
  return out;
}

std::string to_bytes(SpanId id) {
  std::string out;
  append_bytes(out, id);
  return out;
}

TraceId random_trace_id() { return {random_bits(), random_bits()}; }

SpanId random_span_id() { return random_bits(); }

}  // namespace quiver::service::tracing
