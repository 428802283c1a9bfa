// Files of segments, payload columns and attributes, chosen by the first byte, and then read whole.
// All checksums are made right first: else nothing behind them would be reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/io/section_file.h"
#include "base/io/section_layout.h"
#include "engine/segment/segment_file.h"
#include "payload/attribute/attribute_file.h"
#include "payload/column/column.h"
#include "payload/column/format.h"

namespace quiver {
namespace {

using section_layout::Trailer;

template <class T>
T read_at(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

template <class T>
void write_at(std::span<std::byte> bytes, std::size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

bool is_inside(std::size_t size, std::uint64_t offset, std::uint64_t n) {
  return offset <= size && n <= size - offset;
}

/// The file as one of the first version, which names no place of its own.
void make_section_file_right(std::span<std::byte> bytes) {
  if (bytes.size() < section_layout::kAlignment + sizeof(Trailer)) return;
  auto head = read_at<section_layout::Head>(bytes, 0);
  head.version = section_layout::kWithoutOrigin;
  head.origin = {};
  write_at(bytes, 0, head);
  const std::size_t trailer_at = bytes.size() - sizeof(Trailer);
  auto trailer = read_at<Trailer>(bytes, trailer_at);
  const std::uint64_t table_bytes = std::uint64_t{trailer.n_sections} * sizeof(SectionEntry);
  if (!is_inside(trailer_at, trailer.table_offset, table_bytes)) return;
  for (std::uint64_t i = 0; i < trailer.n_sections; ++i) {
    const std::uint64_t at = trailer.table_offset + i * sizeof(SectionEntry);
    auto entry = read_at<SectionEntry>(bytes, at);
    if (!is_inside(bytes.size(), entry.offset, entry.size)) continue;
    entry.checksum = checksum(bytes.subspan(entry.offset, entry.size));
    write_at(bytes, at, entry);
  }
  trailer.table_checksum = checksum(bytes.subspan(trailer.table_offset, table_bytes));
  write_at(bytes, trailer_at, trailer);
}

void make_column_right(std::span<std::byte> bytes) {
  if (bytes.size() < sizeof(payload::format::Header)) return;
  auto header = read_at<payload::format::Header>(bytes, 0);
  header.version = 1;
  header.owner = header.path = 0;
  header.file_bytes = bytes.size();
  header.checksum = 0;
  write_at(bytes, 0, header);
  header.checksum = checksum(bytes);
  write_at(bytes, 0, header);
}

template <class T>
bool is_told(const Result<T>& read) {
  if (!read && read.error().message().empty()) std::abort();
  return read.has_value();
}

void read_segment(const Directory& directory) {
  static const std::vector<FieldSchema> fields = {
      {"dense", FieldKind::kDense, 2, DType::kF32, Metric::kDot, {}},
      {"tokens", FieldKind::kMulti, 2, DType::kF32, Metric::kDot, {}},
      {"words", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}}};
  (void)is_told(engine::open_segment_file(directory, 1, fields));
}

void read_column(const Directory& directory, unsigned kind) {
  payload::FieldIndex index;
  index.key = payload::kIndexKindNames[kind];
  index.kind = static_cast<payload::IndexKind>(kind);
  (void)is_told(payload::open_column(directory, "f", index));
}

constexpr unsigned kNumColumnKinds = payload::kIndexKindNames.size();

void read(unsigned which, std::vector<std::byte> bytes) {
  which %= kNumColumnKinds + 2;
  which < 2 ? make_section_file_right(bytes) : make_column_right(bytes);
  const auto directory = make_memory_directory();
  if (!directory->write_file(which == 0 ? "rows.qvs" : "f", bytes)) std::abort();
  if (which == 0) return read_segment(*directory);
  if (which == 1) return (void)is_told(payload::open_attributes(*directory, "f", 8));
  read_column(*directory, which - 2);
}

}  // namespace
}  // namespace quiver

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  quiver::read(data[0] - static_cast<unsigned>('a'), {bytes.begin(), bytes.end()});
  return 0;
}
