// RocksDB's name for a borrowed text.
#pragma once

#include <rocksdb/slice.h>

#include <string_view>

namespace quiver::storage {

[[nodiscard]] inline rocksdb::Slice to_slice(std::string_view text) {
  return {text.data(), text.size()};
}
[[nodiscard]] inline std::string_view to_view(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

}  // namespace quiver::storage
