#include "service/json/collection_parts.h"

#include <algorithm>
#include <limits>

namespace quiver::service::json {

using engine::CollectionConfig;
using engine::OptimizerConfig;

namespace {

constexpr std::uint64_t kBytesPerKb = 1024;

std::uint64_t bytes_per_row(const CollectionConfig& config) {
  std::uint64_t bytes = 0;
  for (const auto& field : config.fields) {
    if (engine::is_dropped(field)) continue;
    bytes += vector_bytes(field.dim, field.dtype);
  }
  return std::max<std::uint64_t>(bytes, 1);
}

}  // namespace

std::uint64_t bytes_of_kb(std::uint64_t kb) {
  constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::uint64_t>::max();
  return kb > kMaxBytes / kBytesPerKb ? kMaxBytes : kb * kBytesPerKb;
}

bool is_unnamed(Object vectors) {
  for (const auto name : {"size", "distance"}) {
    const auto value = find(vectors, name);
    if (value && !value->is_object()) return true;
  }
  return false;
}

std::optional<std::uint64_t> unsigned_member(Object object, std::string_view name) {
  std::uint64_t value = 0;
  const auto element = find(object, name);
  if (!element || element->get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

void apply_optimizer(Object object, const CollectionConfig& config, OptimizerConfig& out) {
  if (const auto threshold = find(object, "deleted_threshold")) {
    out.deleted_threshold = as_double(*threshold);
  }
  out.vacuum_min_rows =
      unsigned_member(object, "vacuum_min_vector_number").value_or(out.vacuum_min_rows);
  if (const auto n = unsigned_member(object, "default_segment_number"); n && *n > 0) {
    out.max_segments = static_cast<std::uint32_t>(std::min<std::uint64_t>(*n, 1U << 16));
    out.idle_segments = out.max_segments;
  }
  if (const auto kb = find(object, {"max_segment_size", "max_segment_size_kb"})) {
    const double bytes = static_cast<double>(as_uint64(*kb)) * static_cast<double>(kBytesPerKb);
    const double rows = bytes / static_cast<double>(bytes_per_row(config));
    const auto limit = static_cast<double>(OptimizerConfig().max_segment_rows);
    out.max_segment_rows = static_cast<std::uint64_t>(std::clamp(rows, 1.0, limit));
  }
  if (const auto kb = find(object, {"indexing_threshold", "indexing_threshold_kb"})) {
    constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t bytes = bytes_of_kb(as_uint64(*kb));
    out.index_min_bytes = bytes == 0 ? kNever : bytes;
  }
  if (const auto threads = find(object, "max_optimization_threads")) {
    out.max_threads = unsigned_member(object, "max_optimization_threads");
  }
}

Decoded<> check_optimization_threads(Object body) {
  const Path root;
  const auto optimizers = find(body, "optimizers_config");
  if (!optimizers || !optimizers->is_object()) return {};
  const auto threads = find(as_object(*optimizers), "max_optimization_threads");
  if (!threads || threads->is_uint64()) return {};
  const Path path = root.member("optimizers_config");
  if (threads->is_string() && as_string(*threads) == "auto") return {};
  return wrong_type(*threads, path.member("max_optimization_threads"),
                    "an unsigned integer or \"auto\"");
}

}  // namespace quiver::service::json
