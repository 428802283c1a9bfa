// Files of segments, payload columns and attributes, chosen by the first byte, and then read whole.
// All checksums are made right first: else nothing behind them would be reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/hash.h"
#include "engine/segment/segment_file.h"
#include "payload/attribute/attribute_file.h"
#include "payload/column/column.h"
#include "payload/column/format.h"
#include "tests/fuzz/section_checksums.h"

namespace quiver {
namespace {

using fuzz::make_section_file_right;
using fuzz::read_at;
using fuzz::write_at;

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
