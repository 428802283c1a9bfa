#include "service/json/request_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace quiver::service::json {
namespace {

using engine::SparseVector;

void sort_by_index(SparseVector& sparse) {
  if (std::is_sorted(sparse.indices.begin(), sparse.indices.end())) return;
  std::vector<std::size_t> order(sparse.indices.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return sparse.indices[a] < sparse.indices[b]; });
  SparseVector sorted;
  for (const std::size_t i : order) {
    sorted.indices.push_back(sparse.indices[i]);
    sorted.values.push_back(sparse.values[i]);
  }
  sparse = std::move(sorted);
}

}  // namespace

Decoded<> finish_sparse(SparseVector& sparse, const Path& path) {
  if (sparse.values.size() != sparse.indices.size()) {
    return validation_error(path.member("values"),
                            "Validation error: must be the same length as indices [{}]");
  }
  sort_by_index(sparse);
  if (std::adjacent_find(sparse.indices.begin(), sparse.indices.end()) == sparse.indices.end()) {
    return {};
  }
  return validation_error(path.member("indices"), "Validation error: must be unique [{}]");
}

Decoded<> add_row(engine::MultiVector& multi, std::size_t dim, const Path& path) {
  const Path data = path.member("data");
  const auto n = static_cast<std::uint32_t>(dim);
  if (n == 0) return validation_error(data, "all vectors must be non-empty");
  if (multi.n_tokens++ == 0) multi.dim = n;
  if (n == multi.dim) return {};
  return validation_error(data, fmt::format("all vectors must have the same dimension, found "
                                            "vector with dimension {}",
                                            n));
}

Decoded<> check_examples(const engine::Recommend& recommend, const Path& path) {
  if (!recommend.positive.empty() || !recommend.negative.empty()) return {};
  return validation_error(path, "At least one positive or negative vector/id must be provided");
}

Decoded<> check_feedback(const engine::RelevanceFeedback& query, const Path& path) {
  if (!query.feedback.empty()) return {};
  return validation_error(path, "feedback elements must be non-empty");
}

Decoded<> check_bm25(const payload::Bm25Params& params, const Path& path) {
  constexpr double kMostK = 1e6;
  if (!(params.k >= 0 && params.k <= kMostK)) {
    return validation_error(path.member("k"),
                            fmt::format("value {} invalid, must be 0 to {}", params.k, kMostK));
  }
  if (params.b >= 0 && params.b <= 1) return {};
  return validation_error(path.member("b"),
                          fmt::format("value {} invalid, must be 0 to 1", params.b));
}

Decoded<> check_text_keys(std::span<const engine::TextKey> keys, const Path& path) {
  constexpr std::size_t kMostKeys = 100;
  constexpr double kMostBoost = 1e6;
  if (keys.empty() || keys.size() > kMostKeys) {
    return validation_error(path, fmt::format("{} keys, must be 1 to {}", keys.size(), kMostKeys));
  }
  for (const auto& [key, boost] : keys) {
    if (boost > 0 && boost <= kMostBoost) continue;
    return validation_error(path.member(key), fmt::format("value {} invalid, must be above 0 and "
                                                          "at most {}",
                                                          boost, kMostBoost));
  }
  return {};
}

namespace {

Decoded<> check_text_list(std::span<const std::string> texts, const Path& path) {
  constexpr std::size_t kMost = payload::WordRules::kMaxTexts;
  if (texts.size() <= kMost) return {};
  return validation_error(path, fmt::format("{} texts, must be at most {}", texts.size(), kMost));
}

Decoded<> check_distance(std::uint32_t distance, const Path& path) {
  constexpr std::uint32_t kMost = payload::Resembling::kMaxDistance;
  if (distance <= kMost) return {};
  return validation_error(path.member("fuzzy"),
                          fmt::format("value {} invalid, must be 0 to {}", distance, kMost));
}

}  // namespace

Decoded<engine::DeviceChoice> device_choice_of(std::string_view text, const Path& path) {
  if (text == "auto") return engine::DeviceChoice::kAuto;
  if (text == "cpu") return engine::DeviceChoice::kCpu;
  if (text == "gpu") return engine::DeviceChoice::kGpu;
  return format_error(path,
                      fmt::format("unknown variant `{}`, expected `auto`, `cpu` or `gpu`", text));
}

Decoded<> check_word_rules(const payload::WordRules& rules, const Path& path) {
  QV_TRY(check_text_list(rules.required, path.member("required")));
  return check_text_list(rules.excluded, path.member("excluded"));
}

Decoded<> check_expansion(const payload::Expansion& expansion, const Path& path) {
  using payload::Expansion;
  QV_TRY(check_distance(expansion.max_distance, path));
  if (expansion.max_words <= Expansion::kMaxWords) return {};
  return validation_error(
      path.member("max_expansions"),
      fmt::format("value {} invalid, must be 0 to {}", expansion.max_words, Expansion::kMaxWords));
}

Decoded<> check_similarity(const payload::Similarity& similarity, const Path& path) {
  return check_distance(similarity.max_distance, path);
}

Decoded<> check_slice(const payload::Slice& slice, const Path& path) {
  if (slice.total == 0) return format_error(path.member("total"), "must be 1 or larger");
  if (slice.index < slice.total) return {};
  return validation_error(path, fmt::format("Slice index must be less than the total number of "
                                            "slices, {} is not less than {}",
                                            slice.index, slice.total));
}

Decoded<> check_ring(std::span<const payload::GeoPoint> ring, const Path& path) {
  if (ring.size() < 4) {
    return format_error(
        path, fmt::format("polygon invalid, the size must be at least 4, got {}", ring.size()));
  }
  if (ring.front() == ring.back()) return {};
  return format_error(path,
                      "polygon invalid, the first and the last points should be the same to form "
                      "a closed line");
}

Decoded<> check_shard_key(std::string_view text, const Path& path) {
  if (text.size() <= engine::kMaxShardKeyBytes) return {};
  return validation_error(path, fmt::format("shard key has {} bytes, must be {} at most",
                                            text.size(), engine::kMaxShardKeyBytes));
}

}  // namespace quiver::service::json
