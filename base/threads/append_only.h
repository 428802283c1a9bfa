// A list that only grows, read by any number of threads without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace quiver {

/// Elements stay where they are, and live as long as the list. Each growth keeps the old table of
/// pointers for readers that still hold it, so growth must be rare. Thread-safe.
template <class T>
class AppendOnly {
 public:
  AppendOnly() = default;
  AppendOnly(const AppendOnly&) = delete;
  AppendOnly& operator=(const AppendOnly&) = delete;

  /// nullptr if there is no element `i`. Costs one load.
  [[nodiscard]] T* find(std::size_t i) const {
    const Table* table = table_.load(std::memory_order_acquire);
    return table != nullptr && i < table->size() ? (*table)[i].get() : nullptr;
  }
  [[nodiscard]] std::size_t size() const {
    const Table* table = table_.load(std::memory_order_acquire);
    return table == nullptr ? 0 : table->size();
  }
  /// Appends `make(i)`, a unique_ptr, until there are `n` elements.
  template <class Make>
  void grow(std::size_t n, const Make& make) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (size() >= n) return;
    auto next =
        tables_.empty() ? std::make_unique<Table>() : std::make_unique<Table>(*tables_.back());
    for (std::size_t i = next->size(); i < n; ++i) next->push_back(std::shared_ptr<T>(make(i)));
    table_.store(next.get(), std::memory_order_release);
    tables_.push_back(std::move(next));
  }

 private:
  using Table = std::vector<std::shared_ptr<T>>;

  std::atomic<const Table*> table_ = nullptr;
  Mutex mutex_;
  std::vector<std::unique_ptr<const Table>> tables_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver
