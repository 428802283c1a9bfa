#include "index/sparse/rows/records.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/prefetch.h"
#include "base/views.h"
#include "index/sparse/rows/aligned_bytes.h"
#include "index/sparse/rows/coded_rows.h"
#include "index/sparse/rows/sections.h"
#include "kernels/kernels.h"

namespace quiver::index::sparse {
namespace {

constexpr std::size_t kLineBytes = AlignedBytes::kBytes;
constexpr std::size_t kPadding = 16;  ///< terms
/// A core cannot load more ahead.
constexpr std::size_t kMostPrefetched = 16'384;

struct RecordFacts {
  std::uint32_t codec = 0;
  std::uint32_t wide = 0;
  float scale = 1;
  std::uint32_t reserved = 0;
};

RowType row_type_of(Codec codec) {
  return codec == Codec::kF32 ? RowType::kF32 : codec == Codec::kF16 ? RowType::kF16 : RowType::kU8;
}

std::size_t value_bytes(Codec codec) {
  return codec == Codec::kF32 ? 4 : codec == Codec::kF16 ? 2 : 1;
}

std::size_t record_bytes(std::size_t n_padded, bool wide, Codec codec) {
  const std::size_t bytes = n_padded * ((wide ? 4 : 2) + value_bytes(codec));
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

float largest(std::span<const float> values) {
  float found = 0;
  for (const float value : values) found = std::max(found, std::abs(value));
  return found;
}

std::uint8_t code_of(float value, float scale) {
  return static_cast<std::uint8_t>(std::min(kLargestCode, std::round(std::abs(value) / scale)));
}

std::size_t padded_terms(std::size_t n) { return (n + kPadding - 1) / kPadding * kPadding; }

std::uint32_t term_of(const TermMap& terms, const SparseView& row, std::size_t i) {
  return terms.at(TermMap::key_of(row.indices[i], row.values[i]));
}

struct RecordSize {
  std::size_t n_padded = 0;
  std::size_t n_bytes = 0;
};

/// Steps of two bytes among the `n` of a record of kGaps.
std::size_t n_wide_steps(const std::byte* record, std::size_t n) {
  std::size_t n_wide = 0;
  for (std::size_t i = 0; i < n / 8; ++i) {
    n_wide += static_cast<std::size_t>(std::popcount(static_cast<std::uint8_t>(record[i])));
  }
  return n_wide;
}

/// Writes records into lines that are zero.
class RecordWriter {
 public:
  static constexpr std::size_t kBytesBehind = 0;

  RecordWriter(const TermMap& terms, Codec codec, bool wide, float scale)
      : terms_(terms), codec_(codec), wide_(wide), scale_(scale) {}

  [[nodiscard]] RecordSize size_of(const SparseView& row) const {
    const std::size_t n = padded_terms(row.indices.size());
    return {n, record_bytes(n, wide_, codec_)};
  }
  void write(const SparseView& row, std::byte* out) const {
    const std::size_t n_padded = padded_terms(row.indices.size());
    for (std::size_t i = 0; i < n_padded; ++i) {
      put_term(out, i, i < row.indices.size() ? term_of(terms_, row, i) : terms_.size());
    }
    std::byte* values = out + n_padded * (wide_ ? 4 : 2);
    for (std::size_t i = 0; i < row.values.size(); ++i) put_value(values, i, row.values[i]);
  }

 private:
  template <class T>
  static void put(std::byte* out, std::size_t i, T value) {
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
  void put_term(std::byte* out, std::size_t i, std::uint32_t term) const {
    if (wide_) {
      put(out, i, term);
    } else {
      put(out, i, static_cast<std::uint16_t>(term));
    }
  }
  void put_value(std::byte* out, std::size_t i, float value) const {
    if (codec_ == Codec::kF32) return put(out, i, std::abs(value));
    if (codec_ == Codec::kU8) return put(out, i, code_of(value, scale_));
    std::uint16_t half = 0;
    value = std::abs(value);
    kernels().convert.f32_to_f16(&value, 1, &half);
    put(out, i, half);
  }

  const TermMap& terms_;
  Codec codec_;
  bool wide_;
  float scale_;
};

/// The same for records of differences.
class GapWriter {
 public:
  /// Kernels read beyond the last record.
  static constexpr std::size_t kBytesBehind = kLineBytes;

  GapWriter(const TermMap& terms, float scale) : terms_(terms), scale_(scale) {}

  [[nodiscard]] RecordSize size_of(const SparseView& row) const {
    std::size_t n = 0;
    std::size_t n_wide = 0;
    for_each_step(row, [&](std::uint32_t step, std::uint8_t) {
      ++n;
      n_wide += step > 0xFF ? 1 : 0;
    });
    n = padded_terms(n);
    const std::size_t bytes = n / 8 + 2 * n + n_wide;
    return {n, (bytes + kLineBytes - 1) / kLineBytes * kLineBytes};
  }
  void write(const SparseView& row, std::byte* out) const {
    const std::size_t n = size_of(row).n_padded;
    std::byte* codes = out + n / 8;
    std::byte* gap = codes + n;
    std::size_t i = 0;
    for_each_step(row, [&](std::uint32_t step, std::uint8_t code) {
      codes[i] = std::byte{code};
      *gap++ = static_cast<std::byte>(step);
      if (step > 0xFF) {
        *gap++ = static_cast<std::byte>(step >> 8);
        out[i / 8] |= static_cast<std::byte>(1U << i % 8);
      }
      ++i;
    });
  }

 private:
  template <class Use>
  void for_each_step(const SparseView& row, const Use& use) const {
    std::uint32_t before = 0;
    for (std::size_t i = 0; i < row.indices.size(); ++i) {
      // Terms ascend, unless the rows' file is damaged meanwhile.
      const std::uint32_t term = std::max(before, term_of(terms_, row, i));
      for (; term - before > 0xFFFF; before += 0xFFFF) use(0xFFFF, 0);
      use(term - before, code_of(row.values[i], scale_));
      before = term;
    }
  }

  const TermMap& terms_;
  float scale_;
};

/// Writes the records of all rows; returns their places and bytes.
template <class Place, class Writer>
std::pair<std::vector<Place>, AlignedBytes> write_all(const SparseColumn& column,
                                                      std::uint32_t n_rows, const Writer& writer) {
  std::vector<Place> places(n_rows);
  std::size_t n_bytes = 0;
  for (std::uint32_t row = 0; row < n_rows; ++row) {
    const RecordSize size = writer.size_of(column.row(row));
    places[row] = {static_cast<std::uint32_t>(n_bytes / kLineBytes),
                   static_cast<std::uint32_t>(size.n_padded)};
    n_bytes += size.n_bytes;
  }
  AlignedBytes lines(n_bytes + Writer::kBytesBehind);
  for (std::uint32_t row = 0; row < n_rows; ++row) {
    writer.write(column.row(row), lines.data() + places[row].line * kLineBytes);
  }
  return {std::move(places), std::move(lines)};
}

}  // namespace

Records Records::build(const SparseColumn& column, std::uint32_t n_rows, const TermMap& terms,
                       Codec codec) {
  Records records;
  // f16 overflows at 65,520; such columns are kept as f32.
  const float max = largest(column.values.span());
  records.codec_ = codec == Codec::kF16 && max >= 65504.0F ? Codec::kF32 : codec;
  records.wide_ = terms.size() > 0xFFFF;
  records.n_terms_ = terms.size();
  const bool has_scale = records.codec_ == Codec::kU8 || records.codec_ == Codec::kGaps;
  if (has_scale && max > 0) records.scale_ = max / kLargestCode;
  auto [places, lines] =
      records.codec_ == Codec::kGaps
          ? write_all<Place>(column, n_rows, GapWriter(terms, records.scale_))
          : write_all<Place>(column, n_rows,
                             RecordWriter(terms, records.codec_, records.wide_, records.scale_));
  records.places_ = SharedSpan<Place>::of(std::move(places));
  records.lines_ = lines.share();
  return records;
}

void Records::write(SectionWriter& out) const {
  const RecordFacts facts{static_cast<std::uint32_t>(codec_), wide_ ? 1U : 0U, scale_, 0};
  out.section(kRecordFacts, std::span(&facts, 1));
  out.section(kRecordPlaces, places_.span());
  out.section(kRecordLines, lines_.span());
}

Result<Records> Records::open(const SectionReader& in, std::uint32_t n_rows,
                              std::uint32_t n_terms) {
  QV_TRY(const auto facts, in.get<RecordFacts>(kRecordFacts, 0, 1));
  Records records;
  if (facts[0].codec > static_cast<std::uint32_t>(Codec::kGaps)) return in.damaged("unknown codec");
  records.codec_ = static_cast<Codec>(facts[0].codec);
  records.wide_ = facts[0].wide != 0;
  records.n_terms_ = n_terms;
  records.scale_ = facts[0].scale;
  if (records.wide_ != (n_terms > 0xFFFF)) return in.damaged("width of terms");
  QV_TRY(records.places_, in.get<Place>(kRecordPlaces, 0, n_rows));
  QV_TRY(records.lines_, in.get<std::byte>(kRecordLines));
  for (std::uint32_t row = 0; row < n_rows; ++row) {
    if (!records.is_in_place(row)) return in.damaged("a record is out of place");
    if (records.largest_term(row) > n_terms) return in.damaged("a record has an unknown term");
  }
  return records;
}

/// kGaps: up to the next record.
std::size_t Records::bytes_of(std::uint32_t row) const {
  const Place& place = places_[row];
  if (codec_ != Codec::kGaps) return record_bytes(place.n_padded, wide_, codec_);
  const std::size_t end =
      row + 1 < places_.size() ? places_[row + 1].line * kLineBytes : lines_.size() - kLineBytes;
  return length_between(place.line * kLineBytes, end);
}

bool Records::is_in_place(std::uint32_t row) const {
  const Place& place = places_[row];
  const std::size_t first = place.line * kLineBytes;
  if (place.n_padded % kPadding != 0) return false;
  if (codec_ != Codec::kGaps) return first + bytes_of(row) <= lines_.size();
  const std::size_t end = first + bytes_of(row);
  if (lines_.size() < kLineBytes || end < first || end + kLineBytes > lines_.size()) return false;
  const std::size_t least = place.n_padded / 8 + std::size_t{place.n_padded} * 2;
  if (least > end - first) return false;
  return least + n_wide_steps(record(place), place.n_padded) <= end - first;
}

namespace {

template <class Term>
std::uint64_t largest_of(const std::byte* terms, std::size_t n) {
  const auto* first = reinterpret_cast<const Term*>(terms);
  Term largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, first[i]);
  return largest;
}

std::uint64_t sum_of_gaps(const std::byte* record, std::size_t n) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(record);
  const std::uint8_t* gap = bytes + n / 8 + n;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += *gap++;
    if ((bytes[i / 8] >> i % 8 & 1) != 0) sum += std::uint64_t{*gap++} << 8;
  }
  return sum;
}

}  // namespace

std::uint64_t Records::largest_term(std::uint32_t row) const {
  const Place& place = places_[row];
  if (codec_ == Codec::kGaps) return sum_of_gaps(record(place), place.n_padded);
  return wide_ ? largest_of<std::uint32_t>(record(place), place.n_padded)
               : largest_of<std::uint16_t>(record(place), place.n_padded);
}

/// kGaps: if its steps take one byte.
bool Records::is_inside(const Place& place) const {
  const std::size_t first = std::size_t{place.line} * kLineBytes;
  const std::size_t n = place.n_padded;
  if (first > lines_.size() || n % kPadding != 0) return false;
  const std::size_t n_bytes = lines_.size() - first;
  if (codec_ != Codec::kGaps) return record_bytes(n, wide_, codec_) <= n_bytes;
  return n / 8 + 2 * n + GapWriter::kBytesBehind <= n_bytes;
}

/// The flags of a damaged file may say two bytes for each step. Where these would end outside, a
/// copy with zeros behind is read.
float Records::score_gaps(const float* table, const Place& place) const {
  thread_local std::vector<std::byte> copy;
  const std::size_t n = place.n_padded;
  const std::size_t most = n / 8 + 3 * n + GapWriter::kBytesBehind;
  const std::byte* from = record(place);
  const auto n_left = static_cast<std::size_t>(lines_.data() + lines_.size() - from);
  if (n_left < most) {
    copy.assign(from, from + n_left);
    copy.resize(most);
    from = copy.data();
  }
  return kernels().records.score_gaps(table, n_terms_, from, n);
}

float Records::score(const float* table, std::uint32_t row) const {
  const Place place = places_[row];
  if (!is_inside(place)) return 0;
  const std::byte* terms = record(place);
  float score = 0;
  if (codec_ == Codec::kGaps) {
    score = score_gaps(table, place) * scale_;
  } else {
    const std::byte* values = terms + std::size_t{place.n_padded} * (wide_ ? 4 : 2);
    const auto type = static_cast<std::size_t>(row_type_of(codec_));
    score = kernels().records.score[wide_ ? 1 : 0][type](table, n_terms_, terms, values,
                                                         place.n_padded) *
            scale_;
  }
  return std::isnan(score) ? 0 : score;
}

void Records::prefetch(std::uint32_t row) const {
  prefetch_bytes(record(places_[row]), std::min(bytes_of(row), kMostPrefetched));
}

std::uint64_t Records::bytes() const { return places_.size() * sizeof(Place) + lines_.size(); }

}  // namespace quiver::index::sparse
