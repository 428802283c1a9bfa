#include "payload/filter/identity.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/hash.h"

namespace quiver::payload {
namespace {

/// Appends values one after another: the number of an alternative before its members, the length
/// of a list before its elements.
class TextWriter {
 public:
  [[nodiscard]] bool is_too_long() const { return text_.size() > FilterIdentity::kMaxBytes; }
  [[nodiscard]] std::string take() { return std::move(text_); }

  void add(const Filter& filter) {
    add(filter.must);
    add(filter.should);
    add(filter.must_not);
    add(filter.min_should);
  }

 private:
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    text_.append(bytes, sizeof(T));
  }
  void add(const std::string& value) {
    add(value.size());
    text_ += std::string_view(value).substr(0, FilterIdentity::kMaxBytes + 1);
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(values.size());
    for (const auto& value : values) {
      if (is_too_long()) return;
      add(value);
    }
  }
  template <class T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <class... Ts>
  void add(const std::variant<Ts...>& value) {
    add(static_cast<std::uint8_t>(value.index()));
    std::visit([this](const auto& one) { this->add(one); }, value);
  }
  void add(const std::shared_ptr<const Filter>& filter) { add(*filter); }
  void add(const PointId& id) {
    add(id.kind() == PointId::Kind::kUuid), add(id.high()), add(id.low());
  }
  void add(const GeoPoint& point) { add(point.lon), add(point.lat); }

  void add(const MatchValue& match) { add(match.value); }
  void add(const MatchAny& match) { add(match.values); }
  void add(const MatchExcept& match) { add(match.values); }
  void add(const Similarity& similarity) {
    add(similarity.max_distance), add(similarity.last_is_prefix);
  }
  void add(const MatchText& match) { add(match.text), add(match.similarity); }
  void add(const MatchTextAny& match) { add(match.text), add(match.similarity); }
  void add(const MatchPhrase& match) { add(match.text), add(match.similarity); }
  void add(const MatchPrefix& match) { add(match.prefix); }
  void add(const Range& range) { add_bounds(range); }
  void add(const DatetimeRange& range) { add_bounds(range); }
  void add(const ValuesCount& count) { add_bounds(count); }
  void add(const GeoBoundingBox& box) { add(box.top_left), add(box.bottom_right); }
  void add(const GeoRadius& radius) { add(radius.center), add(radius.radius_m); }
  void add(const GeoPolygon& polygon) { add(polygon.exterior), add(polygon.interiors); }
  void add(const IsEmpty& empty) { add(empty.value); }
  void add(const IsNull& null) { add(null.value), add(null.in_arrays); }
  void add(const FieldCondition& field) { add(field.key), add(field.condition); }
  void add(const HasId& has) { add(has.ids); }
  void add(const HasVector& has) { add(has.name); }
  void add(const Nested& nested) { add(nested.key), add(nested.filter); }
  void add(const Slice& slice) { add(slice.total), add(slice.index); }
  void add(const MinShould& some) { add(some.conditions), add(some.min_count); }

  template <class T>
  void add_bounds(const T& bounds) {
    add(bounds.gt), add(bounds.gte), add(bounds.lt), add(bounds.lte);
  }

  std::string text_;
};

}  // namespace

std::optional<FilterIdentity> identity_of(const Filter& filter,
                                          std::span<const FieldIndex> indexes) {
  TextWriter writer;
  writer.add(filter);
  if (writer.is_too_long()) return std::nullopt;
  FilterIdentity identity;
  identity.text = writer.take();
  identity.hash = hash_bytes(std::as_bytes(std::span(identity.text)));
  for (const auto& index : indexes) {
    if (index.kind == IndexKind::kText || index.kind == IndexKind::kUuid) {
      identity.indexes.push_back(index);
    }
  }
  return identity;
}

}  // namespace quiver::payload
