#include "gpu/dense_job.h"

#include <algorithm>
#include <cstring>

#include "base/threads/parallel.h"
#include "gpu/encode.h"
#include "gpu/tiles/margin.h"

namespace quiver::gpu {
namespace {

struct Places {
  std::int8_t* codes;
  qv_query* queries;
  std::uint64_t* masks;
  std::uint32_t* rows;
  std::uint32_t* n_rows;
};

Places places(Pieces& pieces, const Part& part, std::uint64_t n, std::uint64_t n_words,
              std::uint64_t capacity) {
  return {pieces.take<std::int8_t>(n * part.shape().stride), pieces.take<qv_query>(n),
          pieces.take<std::uint64_t>(n_words), pieces.take<std::uint32_t>(n * capacity),
          pieces.take<std::uint32_t>(n)};
}

}  // namespace

std::size_t DenseJob::n_together(const DenseRows& /*rows*/, std::span<const DenseQuery> queries,
                                 std::span<const std::size_t> numbers) {
  constexpr std::uint64_t kMaxFound = 4 << 20;
  std::uint64_t most = 0;
  for (const std::size_t i : numbers) most = std::max(most, queries[i].k);
  const std::uint64_t room = tiles::room(static_cast<unsigned>(most));
  return std::clamp<std::uint64_t>(kMaxFound / room, 1, kMaxQueries);
}

/// Each query is written to its own place, so that threads need not wait for one another. Then
/// those with a code move up.
void DenseJob::write_queries(const Part& part, std::span<const std::uint32_t> masks,
                             std::int8_t* codes, qv_query* queries) {
  const std::size_t stride = part.shape().stride;
  std::vector<char> has_code(numbers_.size());
  const auto write_one = [&](std::size_t j) {
    const DenseQuery& query = queries_[numbers_[j]];
    has_code[j] = encode_query(query.vector, rows_.similarity, codes + j * stride, queries[j]);
    queries[j].k = static_cast<std::uint32_t>(query.k);
    queries[j].mask = masks[j];
  };
  parallel_if_many(executor_, numbers_.size(), write_one);
  for (std::size_t j = 0; j < numbers_.size(); ++j) {
    if (has_code[j] == 0) continue;
    const std::size_t n = written_.size();
    if (n != j) {
      std::memcpy(codes + n * stride, codes + j * stride, stride);
      queries[n] = queries[j];
    }
    written_.push_back(numbers_[j]);
  }
}

bool DenseJob::write(Lane& lane, const Part& part) {
  std::uint64_t most = 0;
  for (const std::size_t i : numbers_) most = std::max(most, queries_[i].k);
  const JobMasks masks(queries_, numbers_, part.shape().n_items);
  const std::uint64_t capacity = capacity_of(most);
  Pieces size(nullptr);
  places(size, part, numbers_.size(), masks.n_words(), capacity);
  std::byte* const memory = lane.memory(size.used());
  if (memory == nullptr) return false;
  Pieces pieces(memory);
  const Places at = places(pieces, part, numbers_.size(), masks.n_words(), capacity);
  write_queries(part, masks.of_queries(), at.codes, at.queries);
  job_ = {.size = sizeof job_,
          .n_queries = static_cast<std::uint32_t>(written_.size()),
          .part = part.handle(),
          .codes = at.codes,
          .queries = at.queries,
          .masks = masks.write(at.masks),
          .rounding = kernel_rounding(rows_.view.dim),
          .capacity = static_cast<std::uint32_t>(capacity),
          .rows = at.rows,
          .n_rows = at.n_rows};
  return true;
}

std::size_t DenseJob::read(RowLists& lists) const {
  return read_named({job_.capacity, job_.rows, job_.n_rows}, written_, rows_.view.n_rows, lists);
}

}  // namespace quiver::gpu
