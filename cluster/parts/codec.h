// Plain structs as bytes, for a node of the same version. A struct is written member by member, so
// that a new member needs no code here; it changes the form, which `describe` shows.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

namespace quiver::cluster::codec {

/// How a type that is no plain struct is written: `put(out, value)`, `take(reader, value)` and
/// `kName`.
template <class T>
struct Form;

template <class T>
concept HasForm = requires {
  Form<T>::kName;
};

/// Reads what was written. After an error everything that is read is empty.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  /// The next `n` bytes; empty, and `is_ok` false, if they are not there.
  std::string_view take(std::size_t n) {
    if (n > bytes_.size()) {
      fail();
      return {};
    }
    const auto taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return taken;
  }
  void fail() {
    is_ok_ = false;
    bytes_ = {};
  }
  /// Of structs in structs; deeper ones than any request has are refused.
  void enter() {
    if (++depth_ > kMaxDepth) fail();
  }
  void leave() { --depth_; }
  [[nodiscard]] bool is_ok() const { return is_ok_; }
  [[nodiscard]] bool is_whole() const { return is_ok_ && bytes_.empty(); }
  [[nodiscard]] std::size_t n_left() const { return bytes_.size(); }

 private:
  static constexpr int kMaxDepth = 512;

  std::string_view bytes_;
  bool is_ok_ = true;
  int depth_ = 0;
};

/// A value to be replaced by what is read.
template <class T>
T blank() {
  if constexpr (requires { Form<T>::make(); }) {
    return Form<T>::make();
  } else {
    return T{};
  }
}

namespace detail {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class K, class V, class C>
struct IsMap<std::map<K, V, C>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsPair : std::false_type {};
template <class A, class B>
struct IsPair<std::pair<A, B>> : std::true_type {};
template <class T>
struct IsPointer : std::false_type {};
template <class T>
struct IsPointer<std::shared_ptr<const T>> : std::true_type {};
template <class T>
struct IsArray : std::false_type {};
template <class T, std::size_t n>
struct IsArray<std::array<T, n>> : std::true_type {};

template <class... Types>
std::variant<Types...>& as_variant(std::variant<Types...>& value) {
  return value;
}
template <class... Types>
const std::variant<Types...>& as_variant(const std::variant<Types...>& value) {
  return value;
}
template <class T>
concept IsVariant = requires(T& value) {
  as_variant(value);
};

template <class T>
concept IsPlain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Stands for a member of any type.
struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): that is its use
};

template <class T, std::size_t... i>
constexpr bool takes(std::index_sequence<i...> /*members*/) {
  return requires { T{((void)i, Anything{})...}; };
}
/// Number of members of a plain struct.
template <class T, std::size_t n = 24>
constexpr std::size_t n_members() {
  if constexpr (takes<T>(std::make_index_sequence<n>())) {
    return n;
  } else {
    return n_members<T, n - 1>();
  }
}

/// Calls `visit` with all members of a plain struct.
template <class T, class Visit>
void visit_members(T& s, Visit visit) {
  constexpr std::size_t n = n_members<std::remove_const_t<T>>();
  static_assert(n <= 16, "more members than are listed below");
  if constexpr (n == 0) {
    (void)s;
    visit();
  } else if constexpr (n == 1) {
    auto& [a] = s;
    visit(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = s;
    visit(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = s;
    visit(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = s;
    visit(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = s;
    visit(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = s;
    visit(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = s;
    visit(a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = s;
    visit(a, b, c, d, e, f, g, h);
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = s;
    visit(a, b, c, d, e, f, g, h, i);
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = s;
    visit(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = s;
    visit(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (n == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
    visit(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (n == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = s;
    visit(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (n == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o] = s;
    visit(a, b, c, d, e, f, g, h, i, j, k, l, m, o);
  } else if constexpr (n == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p] = s;
    visit(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q] = s;
    visit(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q);
  }
}

}  // namespace detail

// Writing.

template <class T>
void put(std::string& out, const T& value);

inline void put_size(std::string& out, std::size_t n) {
  const auto size = static_cast<std::uint64_t>(n);
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
}

template <class List>
void put_list(std::string& out, const List& list) {
  using Element = typename List::value_type;
  put_size(out, list.size());
  if constexpr (detail::IsPlain<Element> && !std::is_same_v<Element, bool>) {
    out.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(Element));
  } else {
    for (const auto& element : list) put(out, element);
  }
}

template <class T>
void put(std::string& out, const T& value) {
  if constexpr (HasForm<T>) {
    Form<T>::put(out, value);
  } else if constexpr (detail::IsPlain<T>) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  } else if constexpr (std::is_same_v<T, std::string> || detail::IsVector<T>::value) {
    put_list(out, value);
  } else if constexpr (detail::IsArray<T>::value) {
    for (const auto& element : value) put(out, element);
  } else if constexpr (detail::IsMap<T>::value) {
    put_size(out, value.size());
    for (const auto& [key, mapped] : value) {
      put(out, key);
      put(out, mapped);
    }
  } else if constexpr (detail::IsPair<T>::value) {
    put(out, value.first);
    put(out, value.second);
  } else if constexpr (detail::IsOptional<T>::value) {
    put(out, value.has_value());
    if (value) put(out, *value);
  } else if constexpr (detail::IsPointer<T>::value) {
    put(out, value != nullptr);
    if (value != nullptr) put(out, *value);
  } else if constexpr (detail::IsVariant<const T>) {
    const auto& alternatives = detail::as_variant(value);
    put(out, static_cast<std::uint8_t>(alternatives.index()));
    std::visit([&](const auto& one) { put(out, one); }, alternatives);
  } else {
    static_assert(std::is_aggregate_v<T>, "a type without a form");
    detail::visit_members(value, [&](const auto&... members) { (put(out, members), ...); });
  }
}

// Reading.

template <class T>
void take(Reader& in, T& value);

inline std::size_t take_size(Reader& in) {
  std::uint64_t n = 0;
  const auto bytes = in.take(sizeof(n));
  if (!bytes.empty()) std::memcpy(&n, bytes.data(), sizeof(n));
  return n;
}

template <class List>
void take_list(Reader& in, List& list) {
  using Element = typename List::value_type;
  const std::size_t n = take_size(in);
  list.clear();
  if constexpr (detail::IsPlain<Element> && !std::is_same_v<Element, bool>) {
    if (n > in.n_left() / sizeof(Element)) return in.fail();
    const auto bytes = in.take(n * sizeof(Element));
    list.resize(n);
    if (n > 0) std::memcpy(list.data(), bytes.data(), bytes.size());
  } else {
    // An element of no bytes cannot be told from a wrong number of elements.
    if (n > in.n_left() + 1) return in.fail();
    for (std::size_t i = 0; i < n && in.is_ok(); ++i) {
      auto element = blank<Element>();
      take(in, element);
      list.push_back(std::move(element));
    }
  }
}

template <class... Types>
void take_variant(Reader& in, std::variant<Types...>& value) {
  std::uint8_t wanted = 0;
  take(in, wanted);
  std::uint8_t index = 0;
  const auto try_one = [&]<class T>(std::type_identity<T> /*of*/) {
    if (index++ != wanted) return;
    auto one = blank<T>();
    take(in, one);
    value = std::variant<Types...>(std::in_place_type<T>, std::move(one));
  };
  (try_one(std::type_identity<Types>()), ...);
  if (wanted >= sizeof...(Types)) in.fail();
}

template <class T>
void take(Reader& in, T& value) {
  if (!in.is_ok()) return;
  if constexpr (HasForm<T>) {
    Form<T>::take(in, value);
  } else if constexpr (std::is_same_v<T, bool>) {
    const auto byte = in.take(1);
    if (!byte.empty() && byte[0] != 0 && byte[0] != 1) return in.fail();
    value = byte == std::string_view("\1");
  } else if constexpr (detail::IsPlain<T>) {
    const auto bytes = in.take(sizeof(value));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(value));
  } else if constexpr (std::is_same_v<T, std::string> || detail::IsVector<T>::value) {
    take_list(in, value);
  } else if constexpr (detail::IsArray<T>::value) {
    for (auto& element : value) take(in, element);
  } else if constexpr (detail::IsMap<T>::value) {
    for (std::size_t n = take_size(in); n > 0 && in.is_ok(); --n) {
      auto key = blank<typename T::key_type>();
      take(in, key);
      take(in, value[std::move(key)]);
    }
  } else if constexpr (detail::IsPair<T>::value) {
    take(in, value.first);
    take(in, value.second);
  } else if constexpr (detail::IsOptional<T>::value) {
    bool is_there = false;
    take(in, is_there);
    if (!is_there || !in.is_ok()) return;
    auto one = blank<typename T::value_type>();
    take(in, one);
    value = std::move(one);
  } else if constexpr (detail::IsPointer<T>::value) {
    bool is_there = false;
    take(in, is_there);
    if (!is_there || !in.is_ok()) return;
    auto one = std::make_shared<std::remove_const_t<typename T::element_type>>();
    take(in, *one);
    value = std::move(one);
  } else if constexpr (detail::IsVariant<T>) {
    take_variant(in, detail::as_variant(value));
  } else {
    static_assert(std::is_aggregate_v<T>, "a type without a form");
    in.enter();
    detail::visit_members(value, [&](auto&... members) { (take(in, members), ...); });
    in.leave();
  }
}

// What is written of a type, for a test that notices when it changes.

template <class T>
void describe(std::string& out, std::set<std::type_index>& seen);

template <class... Types>
void describe_variant(const std::variant<Types...>* /*of*/, std::string& out,
                      std::set<std::type_index>& seen) {
  ((out += '|', describe<Types>(out, seen)), ...);
}

/// Appends the form of `T`; of types that were seen only the name.
template <class T>
void describe(std::string& out, std::set<std::type_index>& seen) {
  if constexpr (HasForm<T>) {
    out += Form<T>::kName;
  } else if constexpr (std::is_enum_v<T> || std::is_arithmetic_v<T> ||
                       std::is_same_v<T, std::string>) {
    out += typeid(T).name();
  } else if constexpr (detail::IsVector<T>::value || detail::IsOptional<T>::value) {
    out += detail::IsVector<T>::value ? "[]" : "?";
    describe<typename T::value_type>(out, seen);
  } else if constexpr (detail::IsArray<T>::value) {
    out += "[" + std::to_string(std::tuple_size_v<T>) + "]";
    describe<typename T::value_type>(out, seen);
  } else if constexpr (detail::IsMap<T>::value) {
    out += "map";
    describe<typename T::key_type>(out, seen);
    describe<typename T::mapped_type>(out, seen);
  } else if constexpr (detail::IsPair<T>::value) {
    describe<std::remove_const_t<typename T::first_type>>(out, seen);
    describe<typename T::second_type>(out, seen);
  } else if constexpr (detail::IsPointer<T>::value) {
    out += "*";
    describe<std::remove_const_t<typename T::element_type>>(out, seen);
  } else if constexpr (detail::IsVariant<T>) {
    const T* none = nullptr;
    describe_variant(none, out, seen);
  } else {
    out += typeid(T).name();
    if (!seen.insert(typeid(T)).second) return;
    out += "{";
    auto value = blank<T>();
    detail::visit_members(value, [&]<class... Members>(Members&...) {
      ((describe<std::remove_const_t<Members>>(out, seen), out += ','), ...);
    });
    out += "}";
  }
}

}  // namespace quiver::cluster::codec
