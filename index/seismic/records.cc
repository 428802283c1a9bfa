#include "index/seismic/records.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "index/seismic/coded_rows.h"
#include "index/seismic/lines.h"
#include "index/seismic/sections.h"
#include "kernels/kernels.h"

namespace quiver::index::seismic {
namespace {

constexpr std::size_t kLineBytes = Lines::kBytes;
constexpr std::size_t kPadding = 16;  ///< terms

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

/// Writes records into lines that are zero.
class RecordWriter {
 public:
  RecordWriter(const TermMap& terms, Codec codec, bool wide, float scale)
      : terms_(terms), codec_(codec), wide_(wide), scale_(scale) {}

  void write(const SparseView& row, std::size_t n_padded, std::byte* out) const {
    for (std::size_t i = 0; i < n_padded; ++i) {
      const bool here = i < row.indices.size();
      const std::uint32_t term =
          here ? terms_.at(TermMap::key_of(row.indices[i], row.values[i])) : terms_.size();
      put_term(out, i, term);
    }
    std::byte* values = out + n_padded * (wide_ ? 4 : 2);
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      put_value(values, i, std::abs(row.values[i]));
    }
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
    if (codec_ == Codec::kF32) return put(out, i, value);
    if (codec_ == Codec::kU8) {
      const float code = std::min(kLargestCode, std::round(value / scale_));
      return put(out, i, static_cast<std::uint8_t>(code));
    }
    std::uint16_t half = 0;
    kernels().convert.f32_to_f16(&value, 1, &half);
    put(out, i, half);
  }

  const TermMap& terms_;
  Codec codec_;
  bool wide_;
  float scale_;
};

}  // namespace

Records Records::build(const SparseColumn& column, std::uint32_t n_rows, const TermMap& terms,
                       Codec codec) {
  Records records;
  // Halves overflow at 65,520; such values are kept in full.
  const float max = largest(column.values.span());
  records.codec_ = codec == Codec::kF16 && max >= 65504.0F ? Codec::kF32 : codec;
  records.wide_ = terms.size() > 0xFFFF;
  if (records.codec_ == Codec::kU8 && max > 0) {
    records.scale_ = max / kLargestCode;
  }
  std::vector<Place> places(n_rows);
  std::size_t n_bytes = 0;
  for (std::uint32_t row = 0; row < n_rows; ++row) {
    const std::size_t n = column.offsets[row + 1] - column.offsets[row];
    const std::size_t n_padded = (n + kPadding - 1) / kPadding * kPadding;
    places[row] = {static_cast<std::uint32_t>(n_bytes / kLineBytes),
                   static_cast<std::uint32_t>(n_padded)};
    n_bytes += record_bytes(n_padded, records.wide_, records.codec_);
  }
  Lines lines(n_bytes);
  const RecordWriter writer(terms, records.codec_, records.wide_, records.scale_);
  for (std::uint32_t row = 0; row < n_rows; ++row) {
    writer.write(column.row(row), places[row].n_padded,
                 lines.data() + places[row].line * kLineBytes);
  }
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
  if (facts[0].codec > static_cast<std::uint32_t>(Codec::kU8)) return in.damaged("unknown codec");
  records.codec_ = static_cast<Codec>(facts[0].codec);
  records.wide_ = facts[0].wide != 0;
  records.scale_ = facts[0].scale;
  if (records.wide_ != (n_terms > 0xFFFF)) return in.damaged("width of terms");
  QV_TRY(records.places_, in.get<Place>(kRecordPlaces, 0, n_rows));
  QV_TRY(records.lines_, in.get<std::byte>(kRecordLines));
  for (const Place& place : records.places_) {
    const std::size_t end =
        place.line * kLineBytes + record_bytes(place.n_padded, records.wide_, records.codec_);
    if (place.n_padded % kPadding != 0 || end > records.lines_.size()) {
      return in.damaged("a record is out of place");
    }
    if (records.largest_term(place) > n_terms) return in.damaged("a record has an unknown term");
  }
  return records;
}

std::uint32_t Records::largest_term(const Place& place) const {
  const std::byte* terms = lines_.data() + std::size_t{place.line} * kLineBytes;
  std::uint32_t largest = 0;
  if (wide_) {
    const auto* first = reinterpret_cast<const std::uint32_t*>(terms);
    for (std::uint32_t i = 0; i < place.n_padded; ++i) largest = std::max(largest, first[i]);
  } else {
    const auto* first = reinterpret_cast<const std::uint16_t*>(terms);
    for (std::uint32_t i = 0; i < place.n_padded; ++i) {
      largest = std::max<std::uint32_t>(largest, first[i]);
    }
  }
  return largest;
}

float Records::score(const float* table, std::uint32_t row) const {
  const Place& place = places_[row];
  const std::byte* terms = lines_.data() + std::size_t{place.line} * kLineBytes;
  const std::byte* values = terms + std::size_t{place.n_padded} * (wide_ ? 4 : 2);
  const auto type = static_cast<std::size_t>(row_type_of(codec_));
  return kernels().records.score[wide_ ? 1 : 0][type](table, terms, values, place.n_padded) *
         scale_;
}

void Records::prefetch(std::uint32_t row) const {
  const Place& place = places_[row];
  const std::byte* first = lines_.data() + std::size_t{place.line} * kLineBytes;
  const std::size_t n = record_bytes(place.n_padded, wide_, codec_);
  for (std::size_t at = 0; at < n; at += kLineBytes) __builtin_prefetch(first + at);
}

std::uint64_t Records::bytes() const { return places_.size() * sizeof(Place) + lines_.size(); }

}  // namespace quiver::index::seismic
