#include "service/api/strict/usage.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "service/api/strict/quota.h"

namespace quiver::service::api::strict {
namespace {

constexpr std::size_t kMaxForgottenCollections = 1024;
constexpr auto kMemoryAge = std::chrono::milliseconds(500);

/// Bytes of the vectors of points that are not deleted. Rows of dense vectors are padded, which is
/// left out; other vectors take their share of the bytes by number.
std::uint64_t live_bytes(const engine::SegmentFieldInfo& field, const FieldSchema* schema) {
  if (schema != nullptr && schema->kind == FieldKind::kDense) {
    return field.n_vectors * vector_bytes(schema->dim, schema->dtype);
  }
  const std::uint64_t n = field.n_vectors + field.n_deleted_vectors;
  if (n == 0) return 0;
  const double share = static_cast<double>(field.n_vectors) / static_cast<double>(n);
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(field.n_bytes) * share));
}

RateRefusal refusal_of(Rate rate, std::uint64_t cost, const TokenBucket::Refusal& refusal) {
  const std::string_view kind = rate == Rate::kRead ? "Read" : "Write";
  if (refusal.is_too_large) {
    return {Error(Code::kResourceExhausted,
                  fmt::format("{} rate limit exceeded, request larger than rate limiter capacity, "
                              "please try to split your request",
                              kind)),
            0};
  }
  const auto wait_s = static_cast<std::uint32_t>(std::max(1.0, std::ceil(refusal.wait_s)));
  return {Error(Code::kResourceExhausted,
                fmt::format("{} rate limit exceeded: Operation requires {} tokens but only {:.1f} "
                            "were available. Retry after {}s",
                            kind, cost, refusal.n_available, wait_s)),
          wait_s};
}

}  // namespace

Usage::Buckets& Usage::buckets_of(const CollectionPtr& collection) {
  const auto known = buckets_.find(collection.get());
  if (known != buckets_.end() && known->second.owner.lock() == collection) return known->second;
  if (buckets_.size() >= kMaxForgottenCollections) {
    std::erase_if(buckets_, [](const auto& entry) { return entry.second.owner.expired(); });
  }
  Buckets& fresh = buckets_[collection.get()];
  fresh = Buckets();
  fresh.owner = collection;
  return fresh;
}

std::optional<RateRefusal> Usage::take(Rate rate, const CollectionPtr& collection,
                                       std::uint64_t per_minute, std::uint64_t cost,
                                       Clock::time_point now) {
  std::optional<TokenBucket::Refusal> refusal;
  {
    MutexLock lock(mutex_);
    Buckets& buckets = buckets_of(collection);
    auto& bucket = rate == Rate::kRead ? buckets.read : buckets.write;
    if (!bucket || bucket->per_minute() != per_minute) bucket.emplace(per_minute, now);
    refusal = bucket->take(cost, now);
  }
  if (!refusal) return std::nullopt;
  return refusal_of(rate, cost, *refusal);
}

Result<CollectionSize> Usage::size_of(const CollectionPtr& collection,
                                      const engine::StrictMode& limits) const {
  CollectionSize size;
  if (limits.max_points) {
    QV_TRY(size.n_points, collection->count({}, Cancel()));
  }
  if (!limits.max_vector_bytes && !limits.max_payload_bytes) return size;
  const auto config = collection->config();
  for (const auto& shard : collection->shards()) {
    for (const auto& segment : shard.segments) {
      size.n_payload_bytes += segment.n_payload_bytes;
      for (const auto& field : segment.fields) {
        size.n_vector_bytes += live_bytes(field, config->find_field(field.field));
      }
    }
  }
  return size;
}

std::uint64_t Usage::memory_percent(Clock::time_point now) {
  {
    MutexLock lock(mutex_);
    if (memory_read_at_ && now - *memory_read_at_ < kMemoryAge) return memory_percent_;
  }
  const std::uint64_t percent = resident_memory_percent().value_or(0);
  MutexLock lock(mutex_);
  memory_read_at_ = now;
  memory_percent_ = percent;
  return percent;
}

}  // namespace quiver::service::api::strict
