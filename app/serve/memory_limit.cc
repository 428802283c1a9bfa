#include "app/serve/memory_limit.h"

#include <algorithm>
#include <string_view>

#include "base/observe/held_memory.h"
#include "base/observe/log.h"
#include "base/observe/memory.h"
#include "base/observe/memory_budget.h"

namespace quiver::app {
namespace {

constexpr std::uint64_t kBytesPerMiB = 1 << 20;
/// The caches and buffers below may take this part of the limit each. Together they leave three
/// eighths for growing segments, builds and answers.
constexpr std::uint64_t kParts = 8;
/// Bodies of requests are needed at the same time as nothing else that is large.
constexpr std::uint64_t kPartsOfBodies = 4;

void lower(std::uint64_t& n_bytes, std::uint64_t limit, std::uint64_t parts, std::string_view key) {
  const std::uint64_t lowered = within_share(n_bytes, limit, parts);
  if (lowered == n_bytes) return;
  log_warning("{} is {} MiB in place of {}: memory.limit_mb is {}", key, lowered / kBytesPerMiB,
              n_bytes / kBytesPerMiB, limit / kBytesPerMiB);
  n_bytes = lowered;
}

/// Free memory at the ends of heaps counts as used, and a refusal does not return it. With 128 MiB
/// it was 80 of them, with 10 MiB in use (docs/decisions/0066-memory-limit.md).
void keep_heaps_small(std::uint64_t limit) {
  constexpr std::uint64_t kPartsOfHeaps = 64;
  constexpr std::uint64_t kEnough = std::uint64_t{2} << 30;
  if (limit != 0 && limit < kEnough)
    limit_free_memory(std::max(limit / kPartsOfHeaps, kBytesPerMiB));
}

}  // namespace

std::uint64_t within_share(std::uint64_t wanted, std::uint64_t limit_bytes, std::uint64_t parts) {
  return std::min(wanted, std::max(limit_bytes / parts, kBytesPerMiB));
}

void set_memory_limit(Settings& settings) {
  const std::uint64_t configured = settings.memory_limit_bytes;
  const std::uint64_t limit = configured != 0 ? configured : usual_memory_limit();
  process_memory().set_limit(limit);
  keep_heaps_small(limit);
  held_memory().set_limit(std::min(settings.held_memory_bytes, usual_held_memory_limit(limit)));
  lower(settings.database.block_cache_bytes, limit, kParts, "storage.block_cache_mb");
  lower(settings.database.write_buffer_bytes, limit, kParts, "storage.write_buffer_mb");
  lower(settings.database.max_queued_bytes, limit, kParts, "storage.max_queued_mb");
  auto& bodies = settings.server.max_held_body_bytes;
  bodies = within_share(bodies, limit, kPartsOfBodies);
}

}  // namespace quiver::app
