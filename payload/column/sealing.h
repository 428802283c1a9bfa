// Merges rows of several columns into one sealed column, in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "payload/column/column.h"

namespace quiver::payload {

/// Number of blocks of `ColumnView::kPostingsPerBlock` postings.
[[nodiscard]] constexpr std::size_t blocks_of(std::size_t n_postings) {
  return (n_postings + ColumnView::kPostingsPerBlock - 1) / ColumnView::kPostingsPerBlock;
}

/// Row i of the result is `rows[i]` of `sources`; see `write_column`.
[[nodiscard]] ColumnView seal(std::span<const ColumnView> sources, std::span<const RowOrigin> rows);

/// The first 8 bytes of a text as a number; 0 in place of missing ones. Ordered as the texts are.
[[nodiscard]] std::uint64_t text_start(std::string_view text);

/// Sets what a sealed column has in memory only: `n_texts`, `n_tokens` and `term_samples`.
void add_derived(ColumnView& column);

}  // namespace quiver::payload
