// Makes the checksums of a changed file of sections right, so that what is behind them is reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/hash.h"
#include "base/io/section_file.h"
#include "base/io/section_layout.h"

namespace quiver::fuzz {

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

/// The file becomes one of the first version, which names no place of its own. Sections that are
/// not inside the file are left as they are.
inline void make_section_file_right(std::span<std::byte> bytes) {
  using section_layout::Trailer;
  const auto is_inside = [](std::size_t size, std::uint64_t offset, std::uint64_t n) {
    return offset <= size && n <= size - offset;
  };
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

}  // namespace quiver::fuzz
