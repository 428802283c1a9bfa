#include "index/listed_rows.h"

#include <utility>

namespace quiver::index {
namespace {

/// Larger bitmaps, 2 MiB, are not kept.
constexpr std::size_t kMostKeptBits = std::size_t{1} << 24;

/// All bits are 0.
Bitset& spare_bits() {
  thread_local Bitset spare;
  return spare;
}

}  // namespace

ListedRows::ListedRows(std::uint32_t n_rows, std::vector<std::uint32_t> rows)
    : n_rows_(n_rows), rows_(std::move(rows)), bits_(std::exchange(spare_bits(), Bitset())) {
  if (bits_.size() < n_rows) bits_.resize(n_rows);
  for (const std::uint32_t row : rows_) bits_.set(row);
}

ListedRows::~ListedRows() {
  const bool is_moved_from = bits_.words().empty();
  if (is_moved_from || bits_.size() > kMostKeptBits) return;
  for (const std::uint32_t row : rows_) bits_.reset(row);
  if (bits_.size() > spare_bits().size()) spare_bits() = std::move(bits_);
}

}  // namespace quiver::index
