// Checks one field of a bulk chunk and converts it to stored form; helpers for checking a chunk.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/io/shared_span.h"
#include "base/result.h"
#include "base/threads/executor.h"
#include "engine/model/bulk.h"
#include "index/vector_column.h"

namespace quiver::engine {

/// Rows `[first, end)` of a chunk, converted by one task.
struct BulkBlock {
  static constexpr std::size_t kRows = 1024;

  std::size_t number = 0;
  std::size_t first = 0;
  std::size_t end = 0;
};

/// Calls `fn(block)` for all rows, some blocks at a time. Returns the error of the first block that
/// has one.
template <class F>
Result<> for_each_block(std::size_t n_rows, Executor& executor, F fn) {
  const std::size_t n_blocks = (n_rows + BulkBlock::kRows - 1) / BulkBlock::kRows;
  std::vector<Result<>> results(n_blocks);
  executor.parallel_for(
      n_blocks,
      [&](std::size_t i) {
        const std::size_t first = i * BulkBlock::kRows;
        results[i] = fn(BulkBlock{i, first, std::min(first + BulkBlock::kRows, n_rows)});
      },
      Priority::kLow);
  for (auto& result : results) QV_TRY(std::move(result));
  return {};
}

template <class T>
[[nodiscard]] SharedSpan<T> borrow(std::span<const T> elements) {
  return SharedSpan<T>(elements, nullptr);
}

/// `error`, with the point that it is about.
[[nodiscard]] tl::unexpected<Error> about(const PointId& id, const Error& error);
[[nodiscard]] Result<> check_length(std::string_view what, std::size_t got, std::size_t wanted);

/// The column of `field` for the points `ids`. Values that need no conversion stay borrowed.
/// kInvalidArgument names the point that does not fit.
[[nodiscard]] Result<index::FieldColumn> make_column(std::span<const PointId> ids,
                                                     const BulkField& field,
                                                     const FieldSchema& schema, Executor& executor);

}  // namespace quiver::engine
