#include "gpu/dense_job.h"

#include <algorithm>
#include <cstring>

#include "base/threads/parallel.h"
#include "gpu/encode.h"
#include "gpu/tiles/margin.h"

namespace quiver::gpu {
namespace {

/// Rows that a device may name for a query: what is found is about 2 k (docs/gpu.md).
std::uint64_t capacity_of(std::uint64_t k) { return 16 * k + 1024; }

/// Hands out pieces of memory, each aligned to 256 bytes. Without memory it only adds up sizes.
class Pieces {
 public:
  explicit Pieces(std::byte* memory) : memory_(memory) {}
  template <class T>
  T* take(std::uint64_t n) {
    std::byte* const piece = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (n * sizeof(T) + 255) / 256 * 256;
    return reinterpret_cast<T*>(piece);
  }
  [[nodiscard]] std::uint64_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::uint64_t used_ = 0;
};

struct Places {
  std::int8_t* codes;
  qv_query* queries;
  std::uint64_t* allowed;
  std::uint32_t* rows;
  std::uint32_t* n_rows;
};

Places places(Pieces& pieces, const Part& part, std::uint64_t n, std::uint64_t capacity) {
  return {pieces.take<std::int8_t>(n * part.stride()), pieces.take<qv_query>(n),
          pieces.take<std::uint64_t>((part.n_rows() + 63) / 64),
          pieces.take<std::uint32_t>(n * capacity), pieces.take<std::uint32_t>(n)};
}

}  // namespace

std::size_t queries_per_job(std::uint64_t k) {
  constexpr std::uint64_t kMaxFound = 4 << 20;
  const std::uint64_t room = tiles::room(static_cast<unsigned>(k));
  return std::clamp<std::uint64_t>(kMaxFound / room, 1, kMaxQueries);
}

/// Each query is written to its own place, so that threads need not wait for one another. Then
/// those with a code move up.
void DenseJob::write_queries(const Part& part, std::int8_t* codes, qv_query* queries) {
  const std::size_t stride = part.stride();
  std::vector<char> has_code(numbers_.size());
  const auto write_one = [&](std::size_t j) {
    const DenseQuery& query = queries_[numbers_[j]];
    has_code[j] = encode_query(query.vector, rows_.similarity, codes + j * stride, queries[j]);
    queries[j].k = static_cast<std::uint32_t>(query.k);
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

bool DenseJob::write(Lane& lane, const Part& part, const std::uint64_t* allowed) {
  std::uint64_t most = 0;
  for (const std::size_t i : numbers_) most = std::max(most, queries_[i].k);
  const std::uint64_t capacity = capacity_of(most);
  Pieces size(nullptr);
  places(size, part, numbers_.size(), capacity);
  std::byte* const memory = lane.memory(size.used());
  if (memory == nullptr) return false;
  Pieces pieces(memory);
  const Places at = places(pieces, part, numbers_.size(), capacity);
  write_queries(part, at.codes, at.queries);
  if (allowed != nullptr) {
    std::memcpy(at.allowed, allowed, (part.n_rows() + 63) / 64 * sizeof(*allowed));
  }
  job_ = {.size = sizeof job_,
          .n_queries = static_cast<std::uint32_t>(written_.size()),
          .part = part.handle(),
          .codes = at.codes,
          .queries = at.queries,
          .allowed = allowed == nullptr ? nullptr : at.allowed,
          .rounding = kernel_rounding(rows_.view.dim),
          .capacity = static_cast<std::uint32_t>(capacity),
          .rows = at.rows,
          .n_rows = at.n_rows};
  return true;
}

std::size_t DenseJob::read(RowLists& lists) const {
  std::size_t n_certain = 0;
  for (std::size_t j = 0; j < written_.size(); ++j) {
    const std::uint32_t n = job_.n_rows[j];
    if (n > job_.capacity) continue;  // QV_NOT_CERTIFIED
    const std::uint32_t* first = job_.rows + std::size_t{j} * job_.capacity;
    auto& list = lists[written_[j]].emplace(first, first + n);
    std::sort(list.begin(), list.end());
    // A device that names rows that are not there must not make the caller read them.
    if (!list.empty() && list.back() >= rows_.view.n_rows) {
      lists[written_[j]].reset();
      continue;
    }
    ++n_certain;
  }
  return n_certain;
}

}  // namespace quiver::gpu
