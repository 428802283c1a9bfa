// The values under one path while a segment's documents are read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "payload/attribute/attribute.h"
#include "payload/attribute/value_ranges.h"
#include "payload/json/document.h"

namespace quiver::payload {

/// Moments of the strings of a range, microseconds.
struct Moments {
  std::int64_t low, high;  ///< `low > high`: none is a moment

  explicit Moments(std::string_view text);
  void join(const Moments& other);
  [[nodiscard]] bool empty() const { return low > high; }
};

/// Rows are added in order. `add_root` is called for each value that the path leads to. `object` is
/// the number of the object of the row that has it, if the path enters an array of objects.
class PathValues {
 public:
  explicit PathValues(std::string path);

  void add_root(std::uint32_t row, const Value& root, std::uint32_t object);
  /// The attribute of the first `n_rows` rows. Texts take `max_text_bytes` unless that is too few
  /// to tell them apart at all. Call once.
  [[nodiscard]] AttributeView finish(std::uint32_t n_rows, std::uint64_t max_text_bytes);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  enum Type : std::uint32_t { kSpecial, kInteger, kDouble, kText };
  /// Until all entries are known, codes name them by type and number.
  static constexpr std::uint32_t kNumberBits = 24;

  void pad(std::uint32_t n_rows);
  void begin_row(std::uint32_t row);
  void append(SpecialEntry entry) { append(kSpecial, static_cast<std::uint32_t>(entry)); }
  void append(Type type, std::uint32_t number);
  void add_scalar(const Value& value, SpecialEntry null);
  void limit_entries();
  template <class Ranges>
  void coarsen(Type type, Ranges& ranges, std::size_t n_wanted);
  void renumber(Type type, const std::vector<std::uint32_t>& numbers);
  void coarsen_to_fit(std::uint32_t n_rows, std::uint64_t max_text_bytes);
  void store_entries(AttributeView& view);
  void store_codes(AttributeView& view, std::uint32_t n_rows);
  void store_objects(AttributeView& view);
  [[nodiscard]] bool has_an_object_for_each_code() const;

  std::string path_;
  bool enters_objects_;
  std::uint8_t object_ = 0;  ///< of the codes that are added now
  std::vector<std::uint32_t> codes_;
  std::vector<std::uint8_t> objects_;      ///< of each code; empty unless `enters_objects_`
  std::vector<std::uint32_t> row_starts_;  ///< first code of each row so far
  std::uint32_t n_roots_ = 0;              ///< of the last row
  ValueRanges<std::int64_t> integers_;
  ValueRanges<double> doubles_;
  ValueRanges<std::string, Moments> texts_;
};

}  // namespace quiver::payload
