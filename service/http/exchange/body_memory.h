// How much memory the bodies of requests may take, over all connections.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/result.h"

namespace quiver::service {

/// Smaller bodies are not counted: the limit of connections bounds them.
inline constexpr std::size_t kCountedBodyBytes = 1 << 20;

/// The memory that all large bodies together hold. Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t max_bytes) : max_bytes_(max_bytes) {}

 private:
  friend class BodyMemory;
  const std::size_t max_bytes_;
  std::atomic<std::size_t> held_bytes_ = 0;
};

/// The part of a budget that one request holds. One thread.
class BodyMemory {
 public:
  explicit BodyMemory(BodyBudget& budget) : budget_(budget) {}
  BodyMemory(const BodyMemory&) = delete;
  BodyMemory& operator=(const BodyMemory&) = delete;
  ~BodyMemory() { release(); }

  /// From now on the body counts as `n_bytes`; a small one as nothing. kUnavailable, with the count
  /// as it was, if all bodies together would exceed the budget.
  [[nodiscard]] Result<> hold(std::size_t n_bytes);
  void release();

 private:
  BodyBudget& budget_;
  std::size_t held_bytes_ = 0;
};

}  // namespace quiver::service
