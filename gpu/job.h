// What all kinds of jobs share: pieces of a lane's memory, and the rows that a device names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/devices.h"

namespace quiver::gpu {

/// Rows that a device may name for a query: what is found is about 2 k (docs/gpu.md).
[[nodiscard]] constexpr std::uint64_t capacity_of(std::uint64_t k) { return 16 * k + 1024; }

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

/// The masks of a job's queries, each once.
class JobMasks {
 public:
  /// `numbers`: the job's queries, in the order of their masks. `n_rows`: bits of a mask.
  template <class Query>
  JobMasks(std::span<const Query> queries, std::span<const std::size_t> numbers,
           std::uint64_t n_rows)
      : n_words_((n_rows + 63) / 64) {
    for (const std::size_t i : numbers) of_queries_.push_back(add(queries[i].allowed));
  }

  /// Of each query, the number of its mask.
  [[nodiscard]] std::span<const std::uint32_t> of_queries() const { return of_queries_; }
  /// Words of all masks.
  [[nodiscard]] std::uint64_t n_words() const { return masks_.size() * n_words_; }
  /// Copies them to `words`, which has room for `n_words()`.
  [[nodiscard]] qv_masks write(std::uint64_t* words) const {
    for (std::size_t i = 0; i < masks_.size(); ++i) {
      std::copy_n(masks_[i], n_words_, words + i * n_words_);
    }
    return {words, static_cast<std::uint32_t>(masks_.size())};
  }

 private:
  std::uint32_t add(const std::uint64_t* allowed) {
    if (allowed == nullptr) return QV_ALL_ROWS;
    if (masks_.empty() || masks_.back() != allowed) masks_.push_back(allowed);
    return static_cast<std::uint32_t>(masks_.size() - 1);
  }

  std::uint64_t n_words_;
  std::vector<const std::uint64_t*> masks_;
  std::vector<std::uint32_t> of_queries_;
};

/// How many of the first `numbers` make a job: at least one, at most kMaxQueries, whose sizes add
/// up to no more than `most`.
template <class SizeOf>
std::size_t n_within(std::span<const std::size_t> numbers, std::uint64_t most, SizeOf size_of) {
  std::uint64_t size = 0;
  std::size_t n = 0;
  for (const std::size_t i : numbers.first(std::min(kMaxQueries, numbers.size()))) {
    size += size_of(i);
    if (n > 0 && size > most) break;
    ++n;
  }
  return n;
}

/// nullptr: all rows are allowed.
template <class Query>
const std::uint64_t* mask_of(const Query& query) {
  if constexpr (requires { query.allowed; }) {
    return query.allowed;
  } else {
    return nullptr;
  }
}

/// How many of the first `numbers` make a job whose masks take at most 64 MiB of a device: at least
/// one, and all with its mask.
template <class Query>
std::size_t n_within_masks(std::span<const Query> queries, std::span<const std::size_t> numbers,
                           std::size_t n_rows) {
  constexpr std::uint64_t kMaxBytes = 64ULL << 20;
  const std::uint64_t n_most = std::max<std::uint64_t>(1, kMaxBytes / (n_rows / 8 + 1));
  std::uint64_t n_masks = 0;
  const std::uint64_t* last = nullptr;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const std::uint64_t* const mask = mask_of(queries[numbers[n]]);
    if (mask == last) continue;
    last = mask;
    if (++n_masks > n_most) return n;
  }
  return numbers.size();
}

/// What a job wrote.
struct Named {
  std::uint32_t capacity;
  const std::uint32_t* rows;    ///< `[n, capacity]`
  const std::uint32_t* n_rows;  ///< `[n]`
};

/// Fills in the lists of the queries `numbers` where the device is certain; returns their number.
/// Lists that name a row from `n_rows` on are left out: they must not make the caller read what is
/// not there.
std::size_t read_named(const Named& named, std::span<const std::size_t> numbers,
                       std::uint64_t n_rows, RowLists& lists);

}  // namespace quiver::gpu
