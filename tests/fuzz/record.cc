// Records and texts that the server keeps on disk, chosen by the first byte: manifests, the
// catalog, entries of logs, parts of snapshots. What is read is written again as something that
// reads the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backup/layout.h"
#include "engine/backup/manifest.h"
#include "engine/backup/tar.h"
#include "engine/model/config.h"
#include "engine/shard/state/manifest.h"
#include "engine/write/bulk_intent.h"
#include "engine/write/entry.h"
#include "engine/write/shard_log.h"
#include "storage/catalog/catalog_format.h"

namespace quiver::engine {
namespace {

template <class T>
bool is_told(const Result<T>& read) {
  if (!read && read.error().message().empty()) std::abort();
  return read.has_value();
}

void expect(bool holds) {
  if (!holds) std::abort();
}

void read_manifest(std::string_view text) {
  const auto read = decode_manifest(text);
  if (is_told(read)) expect(decode_manifest(encode_manifest(*read)) == *read);
}

void read_catalog(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  const auto read = storage::decode_catalog(bytes, "catalog");
  if (is_told(read))
    expect(storage::decode_catalog(storage::encode_catalog(*read), "c").has_value());
}

void read_intent(std::string_view text) {
  const auto read = decode_intent(text);
  if (is_told(read)) expect(decode_intent(encode_intent(*read)) == *read);
}

void read_operation(std::string_view text) {
  const auto read = decode_op(text);
  if (is_told(read)) expect(encode_op(read->is_put, read->id) == text);
}

void read_entry(std::string_view text) {
  static const std::vector<FieldSchema> fields = {
      {"dense", FieldKind::kDense, 2, DType::kF32, Metric::kDot, {}},
      {"tokens", FieldKind::kMulti, 2, DType::kF32, Metric::kDot, {}},
      {"words", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}}};
  const auto read = decode_entry(text, fields);
  if (is_told(read)) expect(decode_entry(encode_entry(*read), fields).has_value());
}

void read_snapshot(std::string_view text) {
  const auto read = decode_snapshot_manifest(text);
  if (is_told(read)) expect(decode_snapshot_manifest(encode_snapshot_manifest(*read)).has_value());
}

void read_config(std::string_view text) {
  const auto read = parse_config(text);
  if (is_told(read)) expect(parse_config(to_json(*read)).has_value());
}

void read(unsigned which, std::string_view text) {
  switch (which % 9) {
    case 0:
      return read_manifest(text);
    case 1:
      return read_catalog(text);
    case 2:
      return read_intent(text);
    case 3:
      return read_operation(text);
    case 4:
      return read_entry(text);
    case 5:
      return read_snapshot(text);
    case 6:
      return read_config(text);
    case 7:
      (void)is_told(decode_intro(text));
      return;
    default:
      if (text.size() >= 512) (void)is_told(parse_tar_header(text.substr(0, 512)));
  }
}

}  // namespace
}  // namespace quiver::engine

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  quiver::engine::read(data[0] - static_cast<unsigned>('a'),
                       {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
