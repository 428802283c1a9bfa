// A growing array: one thread appends while others read the views they were given.
//
// Invariants, which make this free of data races without a lock:
//  1. Elements below the size of any view are never written again.
//  2. The writer touches only elements at and beyond its current size, in the current block.
//  3. When the block is full, a larger one is filled with a copy and becomes current. The old block
//     is never written again and lives as long as a view of it.
//  4. Only the writer calls `view()`. The view reaches a reader through something that synchronises
//     (`Published`, a mutex, a queue), so all writes to its elements happened before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include "base/check.h"
#include "base/io/shared_span.h"

namespace quiver {

/// Every block starts on a 64-byte boundary. Only the writer may call members; any thread may read
/// a view.
template <class T>
class AppendBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t kAlignment = 64;

  void append(const T& element) {
    const T copy = element;  // `element` may lie in the block that growing releases
    grow_for(1);
    std::memcpy(static_cast<void*>(block_.get() + size_), &copy, sizeof(T));
    ++size_;
  }
  void append(std::span<const T> elements) {
    if (elements.empty()) return;
    const auto old_block = block_;  // `elements` may lie in it
    grow_for(elements.size());
    std::memcpy(static_cast<void*>(block_.get() + size_), elements.data(), elements.size_bytes());
    size_ += elements.size();
  }
  /// Appends `n` elements of all-zero bytes. The caller may fill them through the returned pointer
  /// until the next call of any member. The pointer may be null for n = 0.
  T* append_zeros(std::size_t n) {
    grow_for(n);
    T* first = block_.get() + size_;
    if (n != 0) std::memset(static_cast<void*>(first), 0, n * sizeof(T));
    size_ += n;
    return first;
  }
  /// Reserves memory for `capacity` elements in total.
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) reallocate(capacity);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<const T> span() const { return {block_.get(), size_}; }
  /// The elements so far, for readers.
  [[nodiscard]] SharedSpan<T> view() const {
    return SharedSpan<T>(span(), std::shared_ptr<const void>(block_));
  }
  /// Bytes of the current block, without older blocks that views keep alive.
  [[nodiscard]] std::size_t memory_bytes() const { return capacity_ * sizeof(T); }

 private:
  static constexpr std::size_t kMinBlockBytes = 1024;

  void grow_for(std::size_t n) {
    if (n <= capacity_ - size_) return;
    const std::size_t least = std::max<std::size_t>(1, kMinBlockBytes / sizeof(T));
    reallocate(std::max({size_ + n, capacity_ * 2, least}));
  }
  void reallocate(std::size_t capacity) {
    QV_CHECK(capacity <= static_cast<std::size_t>(-1) / 2 / sizeof(T));
    auto* raw =
        static_cast<T*>(::operator new (capacity * sizeof(T), std::align_val_t{kAlignment}));
    std::shared_ptr<T> block(raw,
                             [](T* p) { ::operator delete (p, std::align_val_t{kAlignment}); });
    if (size_ != 0) std::memcpy(static_cast<void*>(raw), block_.get(), size_ * sizeof(T));
    block_ = std::move(block);
    capacity_ = capacity;
  }

  std::shared_ptr<T> block_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace quiver
