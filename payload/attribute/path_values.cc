#include "payload/attribute/path_values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "payload/scalar/datetime.h"

namespace quiver::payload {
namespace {

constexpr std::int64_t kFirstMoment = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLastMoment = std::numeric_limits<std::int64_t>::max();

/// Entries of all types while documents are read; below `kMaxEntries`, so that codes have 16 bits.
constexpr std::size_t kMaxValues = 65'000;
/// Ranges of a path with too many values hold this many rows each, if there are enough rows.
constexpr std::uint32_t kRowsPerNumberRange = 4;
constexpr std::uint32_t kRowsPerTextRange = 16;
constexpr std::uint32_t kLeastRanges = 240;

std::string_view cut(std::string_view text) { return text.substr(0, kMaxTextBytes); }

template <class T, class Ranges>
void store_bounds(const Ranges& ranges, SharedSpan<T>& lows_out, SharedSpan<T>& highs_out) {
  std::vector<T> lows;
  std::vector<T> highs;
  for (const auto& [low, range] : ranges.ranges()) {
    lows.push_back(low);
    highs.push_back(range.high);
  }
  lows_out = SharedSpan<T>::of(std::move(lows));
  if (!ranges.are_single_values()) highs_out = SharedSpan<T>::of(std::move(highs));
}

template <class Ranges>
void store_texts(const Ranges& ranges, AttributeView& view) {
  std::vector<std::uint64_t> offsets{0};
  std::vector<char> bytes;
  const auto add = [&](const std::string& text) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    offsets.push_back(bytes.size());
  };
  for (const auto& [low, range] : ranges.ranges()) add(low);
  view.has_text_highs = !ranges.are_single_values();
  if (view.has_text_highs) {
    for (const auto& [low, range] : ranges.ranges()) add(range.high);
  }
  if (offsets.size() == 1) return;
  view.text_offsets = SharedSpan<std::uint64_t>::of(std::move(offsets));
  view.text_bytes = SharedSpan<char>::of(std::move(bytes));
}

template <class Ranges>
void store_moments(const Ranges& ranges, AttributeView& view) {
  std::vector<std::int64_t> lows;
  std::vector<std::int64_t> highs;
  bool has_any = false;
  for (const auto& [low, range] : ranges.ranges()) {
    lows.push_back(range.summary.low);
    highs.push_back(range.summary.high);
    has_any = has_any || !range.summary.empty();
  }
  if (!has_any) return;
  view.moment_lows = SharedSpan<std::int64_t>::of(std::move(lows));
  view.moment_highs = SharedSpan<std::int64_t>::of(std::move(highs));
}

std::uint64_t text_bytes(const auto& ranges) {
  std::uint64_t n = 0;
  for (const auto& [low, range] : ranges.ranges()) n += low.size() + sizeof(std::uint64_t);
  return n;
}

}  // namespace

Moments::Moments(std::string_view text) : low(kLastMoment), high(kFirstMoment) {
  if (text.size() >= kMaxTextBytes) {  // its end is not known
    std::swap(low, high);
  } else if (const auto moment = parse_datetime(text)) {
    low = high = *moment;
  }
}

void Moments::join(const Moments& other) {
  if (empty() && other.empty()) return;
  const bool all_are = !empty() && !other.empty();
  low = all_are ? std::min(low, other.low) : kFirstMoment;
  high = all_are ? std::max(high, other.high) : kLastMoment;
}

PathValues::PathValues(std::string path)
    : path_(std::move(path)), enters_objects_(path_.find("[].") != std::string::npos) {}

void PathValues::append(Type type, std::uint32_t number) {
  codes_.push_back(type << kNumberBits | number);
  if (enters_objects_) objects_.push_back(object_);
}

void PathValues::pad(std::uint32_t n_rows) {
  while (row_starts_.size() < n_rows) {
    row_starts_.push_back(static_cast<std::uint32_t>(codes_.size()));
    append(SpecialEntry::kMissing);
  }
}

void PathValues::begin_row(std::uint32_t row) {
  object_ = 0;
  pad(row);
  row_starts_.push_back(static_cast<std::uint32_t>(codes_.size()));
  n_roots_ = 0;
}

void PathValues::add_root(std::uint32_t row, const Value& root, std::uint32_t object) {
  if (row_starts_.size() <= row) begin_row(row);
  if (++n_roots_ == 2) {
    codes_.insert(codes_.begin() + row_starts_.back(),
                  static_cast<std::uint32_t>(SpecialEntry::kManyRoots));
    if (enters_objects_) objects_.insert(objects_.begin() + row_starts_.back(), 0);
  }
  object_ = static_cast<std::uint8_t>(std::min(object, kMaxObjects));
  const Array* array = root.as_array();
  if (array == nullptr) return add_scalar(root, SpecialEntry::kNull);
  if (array->empty()) append(SpecialEntry::kEmptyArray);
  for (const Value& element : *array) add_scalar(element, SpecialEntry::kNullElement);
}

void PathValues::add_scalar(const Value& value, SpecialEntry null) {
  if (const auto* text = value.as_string()) {
    append(kText, texts_.add(cut(*text)));
  } else if (const auto* integer = value.as_i64()) {
    append(kInteger, integers_.add(*integer));
  } else if (const auto* number = value.as_double()) {
    append(kDouble, doubles_.add(*number));
  } else if (const auto* flag = value.as_bool()) {
    append(*flag ? SpecialEntry::kTrue : SpecialEntry::kFalse);
  } else if (value.is_null()) {
    append(null);
  } else {
    append(value.as_u64() != nullptr ? SpecialEntry::kLargeInteger : SpecialEntry::kNested);
  }
  limit_entries();
}

void PathValues::limit_entries() {
  if (integers_.size() + doubles_.size() + texts_.size() <= kMaxValues) return;
  coarsen(kInteger, integers_, integers_.size() / 2);
  coarsen(kDouble, doubles_, doubles_.size() / 2);
  coarsen(kText, texts_, texts_.size() / 2);
}

template <class Ranges>
void PathValues::coarsen(Type type, Ranges& ranges, std::size_t n_wanted) {
  if (ranges.size() > n_wanted) renumber(type, ranges.coarsen(n_wanted));
}

void PathValues::renumber(Type type, const std::vector<std::uint32_t>& numbers) {
  constexpr std::uint32_t kNumber = (1U << kNumberBits) - 1;
  for (std::uint32_t& code : codes_) {
    if (code >> kNumberBits == type) code = type << kNumberBits | numbers[code & kNumber];
  }
}

/// A path with nearly as many values as rows is kept as ranges: single values would cost more.
void PathValues::coarsen_to_fit(std::uint32_t n_rows, std::uint64_t max_text_bytes) {
  const auto limit_numbers = [&](Type type, auto& ranges) {
    if (ranges.are_single_values() && ranges.size() <= n_rows / 2 + kLeastRanges) return;
    coarsen(type, ranges, std::max(kLeastRanges, n_rows / kRowsPerNumberRange));
  };
  limit_numbers(kInteger, integers_);
  limit_numbers(kDouble, doubles_);
  const bool is_small = texts_.are_single_values() && text_bytes(texts_) <= max_text_bytes;
  if (!is_small) coarsen(kText, texts_, std::max(kLeastRanges, n_rows / kRowsPerTextRange));
}

AttributeView PathValues::finish(std::uint32_t n_rows, std::uint64_t max_text_bytes) {
  object_ = 0;
  pad(n_rows);
  coarsen_to_fit(n_rows, max_text_bytes);
  renumber(kInteger, integers_.number_in_order());
  renumber(kDouble, doubles_.number_in_order());
  renumber(kText, texts_.number_in_order());
  AttributeView view;
  view.path = path_;
  view.n_rows = n_rows;
  store_entries(view);
  store_objects(view);
  store_codes(view, n_rows);
  return view;
}

/// True if the codes of each row come from objects 0, 1, 2, …
bool PathValues::has_an_object_for_each_code() const {
  constexpr auto kManyRoots = static_cast<std::uint32_t>(SpecialEntry::kManyRoots);
  for (std::size_t row = 0; row < row_starts_.size(); ++row) {
    std::size_t first = row_starts_[row];
    const std::size_t end = row + 1 < row_starts_.size() ? row_starts_[row + 1] : codes_.size();
    if (codes_[first] == kManyRoots) ++first;
    for (std::size_t i = first; i < end; ++i) {
      if (objects_[i] != std::min<std::size_t>(i - first, kMaxObjects)) return false;
    }
  }
  return true;
}

void PathValues::store_objects(AttributeView& view) {
  if (!enters_objects_ || has_an_object_for_each_code()) return;
  view.objects = SharedSpan<std::uint8_t>::of(std::move(objects_));
}

void PathValues::store_entries(AttributeView& view) {
  store_bounds(integers_, view.integer_lows, view.integer_highs);
  store_bounds(doubles_, view.double_lows, view.double_highs);
  store_texts(texts_, view);
  store_moments(texts_, view);
}

void PathValues::store_codes(AttributeView& view, std::uint32_t n_rows) {
  const std::array<std::uint32_t, 4> first = {0, kSpecialEntries, view.first_double(),
                                              view.first_text()};
  const std::uint32_t n_entries = view.n_entries();
  const bool is_wide = n_entries > 256;
  view.shift = static_cast<std::uint32_t>((is_wide ? 16 : 8) - std::bit_width(n_entries - 1));
  std::vector<std::uint8_t> cells(codes_.size());
  std::vector<std::uint8_t> rests(is_wide ? codes_.size() : 0);
  std::vector<std::uint32_t> counts(n_entries, 0);
  for (std::size_t i = 0; i < codes_.size(); ++i) {
    constexpr std::uint32_t kNumber = (1U << kNumberBits) - 1;
    const std::uint32_t entry = first[codes_[i] >> kNumberBits] + (codes_[i] & kNumber);
    const std::uint32_t code = entry << view.shift;
    ++counts[entry];
    cells[i] = static_cast<std::uint8_t>(is_wide ? code >> 8 : code);
    if (is_wide) rests[i] = static_cast<std::uint8_t>(code & 0xFF);
  }
  if (codes_.size() == n_rows) {
    std::vector<CellRange> ranges((n_rows + kRowsPerCellRange - 1) / kRowsPerCellRange);
    for (std::uint32_t row = 0; row < n_rows; ++row) {
      CellRange& range = ranges[row / kRowsPerCellRange];
      range.low = std::min(range.low, cells[row]);
      range.high = std::max(range.high, cells[row]);
    }
    view.ranges = SharedSpan<CellRange>::of(std::move(ranges));
  } else {
    row_starts_.push_back(static_cast<std::uint32_t>(codes_.size()));
    view.offsets = SharedSpan<std::uint32_t>::of(std::move(row_starts_));
  }
  view.cells = SharedSpan<std::uint8_t>::of(std::move(cells));
  view.rests = SharedSpan<std::uint8_t>::of(std::move(rests));
  view.counts = SharedSpan<std::uint32_t>::of(std::move(counts));
  codes_ = {};
  objects_ = {};
}

}  // namespace quiver::payload
