// A std::variant whose copies may fail.
#pragma once

#include <utility>
#include <variant>

namespace quiver {

/// A std::variant for alternatives whose copying may throw.
///
/// In libstdc++ 12 a variant of nothing but trivially copyable types, strings, vectors and smart
/// pointers is never without a value. If the copy of an alternative throws in the copy constructor,
/// the destructor of the half-made variant destroys an alternative that is not there. Here a copy
/// is a default value that is assigned to, which is safe. The first alternative must have a default
/// value that does not throw.
template <class... Types>
class Variant : public std::variant<Types...> {
  using Base = std::variant<Types...>;

 public:
  using Base::Base;
  using Base::operator=;
  Variant() noexcept = default;
  Variant(const Variant& other) : Base() { Base::operator=(other); }
  Variant(Variant&& other) noexcept = default;
  Variant& operator=(const Variant& other) = default;
  Variant& operator=(Variant&& other) noexcept = default;
  ~Variant() = default;
};

}  // namespace quiver
