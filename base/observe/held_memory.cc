#include "base/observe/held_memory.h"

#include "base/observe/memory_budget.h"

namespace quiver {
namespace {

/// Copies are made only if requests and builds keep a quarter of the memory limit.
bool leaves_room(std::uint64_t n_bytes) {
  const auto memory = process_memory().state();
  const std::uint64_t used = memory.private_bytes + memory.promised_bytes + n_bytes;
  return memory.limit_bytes == 0 || used <= memory.limit_bytes / 4 * 3;
}

}  // namespace

std::uint64_t usual_held_memory_limit(std::uint64_t memory_limit_bytes) {
  constexpr std::uint64_t kParts = 8;
  return memory_limit_bytes / kParts;
}

void HeldMemory::set_limit(std::uint64_t n_bytes) {
  MutexLock lock(mutex_);
  limit_ = n_bytes;
}

bool HeldMemory::take(std::uint64_t n_bytes) {
  MutexLock lock(mutex_);
  if (!limit_) limit_ = usual_held_memory_limit(usual_memory_limit());
  if (n_bytes > *limit_ || n_bytes_ > *limit_ - n_bytes || !leaves_room(n_bytes)) return false;
  n_bytes_ += n_bytes;
  return true;
}

void HeldMemory::give_back(std::uint64_t n_bytes) {
  MutexLock lock(mutex_);
  n_bytes_ -= n_bytes;
}

std::uint64_t HeldMemory::n_bytes() const {
  MutexLock lock(mutex_);
  return n_bytes_;
}

HeldMemory& held_memory() {
  static HeldMemory memory;
  return memory;
}

}  // namespace quiver
