#include "service/http/exchange/body_memory.h"

#include "base/observe/memory_budget.h"

namespace quiver::service {

/// A body is also held as what it was read into, and as rows.
constexpr std::size_t kBytesPerBodyByte = 3;

Result<> BodyMemory::hold(std::size_t n_bytes) {
  const std::size_t counted = n_bytes < kCountedBodyBytes ? 0 : n_bytes;
  if (counted == held_bytes_) return {};
  auto& held = budget_.held_bytes_;
  const std::size_t added = counted - held_bytes_;  // wraps around if less, and so does `held`
  if (counted > held_bytes_) {
    QV_TRY(process_memory().check(kBytesPerBodyByte * added, "the body of a request"));
  }
  const std::size_t now = held.fetch_add(added, std::memory_order_relaxed) + added;
  if (counted > held_bytes_ && now > budget_.max_bytes_) {
    held.fetch_sub(added, std::memory_order_relaxed);
    return fail(Code::kUnavailable, "too many large requests at once");
  }
  held_bytes_ = counted;
  return {};
}

void BodyMemory::release() {
  if (held_bytes_ == 0) return;
  budget_.held_bytes_.fetch_sub(held_bytes_, std::memory_order_relaxed);
  held_bytes_ = 0;
}

}  // namespace quiver::service
