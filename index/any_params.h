// Parsed parameters of an index type, carried through the contract without naming the type.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <memory>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "base/result.h"

namespace quiver::index {

/// A parameter struct that says what it is, for error texts: "search parameters of `ivf`".
template <class T>
concept NamedParams = requires {
  { T::kWhat } -> std::convertible_to<std::string_view>;
};

/// Made by `IndexType::parse_build` and `parse_search`, which validate; read by the same type.
/// Cheap to copy. Default: the defaults of the type that reads it.
class AnyParams {
 public:
  AnyParams() = default;
  template <NamedParams T>
  explicit AnyParams(T params)
      : type_(&typeid(T)), what_(T::kWhat), value_(std::make_shared<const T>(std::move(params))) {}

  /// Valid as long as this or a copy lives. kInternal if these are parameters of another struct.
  template <NamedParams T>
  [[nodiscard]] Result<const T*> as() const {
    static const T kDefaults{};
    if (value_ == nullptr) return &kDefaults;
    if (*type_ == typeid(T)) return static_cast<const T*>(value_.get());
    return fail(Code::kInternal, fmt::format("found {}, wanted {}", what_, T::kWhat));
  }

 private:
  const std::type_info* type_ = nullptr;
  std::string_view what_;
  std::shared_ptr<const void> value_;
};

}  // namespace quiver::index
