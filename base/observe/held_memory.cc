#include "base/observe/held_memory.h"

#include "base/observe/memory_budget.h"

namespace quiver {
namespace {

/// Copies may take a quarter of the memory limit. They are made while no more than half of it is
/// used, and given up when five eighths are.
constexpr std::uint64_t kParts = 8;
constexpr std::uint64_t kPartsHeld = 2;
constexpr std::uint64_t kPartsForCopies = 4;
constexpr std::uint64_t kPartsUntilGivenUp = 5;

/// True if less than `parts` eighths of the memory limit are used, with `n_bytes` more.
bool uses_less(std::uint64_t parts, std::uint64_t n_bytes) {
  const auto memory = process_memory().state();
  const std::uint64_t used = memory.private_bytes + memory.promised_bytes + n_bytes;
  return memory.limit_bytes == 0 || used <= memory.limit_bytes / kParts * parts;
}

}  // namespace

bool leaves_half_of_memory(std::uint64_t n_bytes) { return uses_less(kPartsForCopies, n_bytes); }

std::uint64_t usual_held_memory_limit(std::uint64_t memory_limit_bytes) {
  return memory_limit_bytes / kParts * kPartsHeld;
}

void HeldMemory::set_limit(std::uint64_t n_bytes) {
  MutexLock lock(mutex_);
  limit_ = n_bytes;
}

bool HeldMemory::take(std::uint64_t n_bytes) {
  MutexLock lock(mutex_);
  if (!limit_) limit_ = usual_held_memory_limit(usual_memory_limit());
  if (n_bytes > *limit_ || n_bytes_ > *limit_ - n_bytes) return false;
  if (!leaves_half_of_memory(n_bytes)) return false;
  n_bytes_ += n_bytes;
  return true;
}

bool HeldMemory::is_short() const { return n_bytes() != 0 && !uses_less(kPartsUntilGivenUp, 0); }

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
