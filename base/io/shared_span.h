// A span together with the owner of its memory: a mapped file, a buffer or a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"

namespace quiver {

/// Read-only elements plus a share in their owner. Copies are cheap and independent of one another.
/// The elements never change while any share exists.
template <class T>
class SharedSpan {
 public:
  SharedSpan() = default;
  SharedSpan(std::span<const T> elements, std::shared_ptr<const void> owner)
      : elements_(elements), owner_(std::move(owner)) {}
  /// Takes ownership of `elements` without a copy.
  [[nodiscard]] static SharedSpan of(std::vector<T> elements) {
    auto owner = std::make_shared<const std::vector<T>>(std::move(elements));
    return SharedSpan(std::span<const T>(*owner), owner);
  }

  [[nodiscard]] std::span<const T> span() const { return elements_; }
  [[nodiscard]] const T* data() const { return elements_.data(); }
  [[nodiscard]] std::size_t size() const { return elements_.size(); }
  [[nodiscard]] bool empty() const { return elements_.empty(); }
  [[nodiscard]] const T& operator[](std::size_t i) const { return elements_[i]; }
  [[nodiscard]] const T* begin() const { return elements_.data(); }
  [[nodiscard]] const T* end() const { return elements_.data() + elements_.size(); }
  /// Elements `[offset, offset + n)` with the same owner. The range must lie inside this span.
  [[nodiscard]] SharedSpan subspan(std::size_t offset, std::size_t n) const {
    return SharedSpan(elements_.subspan(offset, n), owner_);
  }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::span<const T> elements_;
  std::shared_ptr<const void> owner_;
};

using SharedBytes = SharedSpan<std::byte>;

namespace detail {
Result<> check_span_shape(const void* data, std::size_t n_bytes, std::size_t element_size,
                          std::size_t alignment);
}  // namespace detail

/// Reinterprets the memory as elements of `T`; kDataLoss if its size or alignment does not fit.
template <class T>
[[nodiscard]] Result<SharedSpan<T>> cast_span(const SharedBytes& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  QV_TRY(detail::check_span_shape(bytes.data(), bytes.size(), sizeof(T), alignof(T)));
  const auto* first = reinterpret_cast<const T*>(bytes.data());
  return SharedSpan<T>(std::span<const T>(first, bytes.size() / sizeof(T)), bytes.owner());
}

}  // namespace quiver
