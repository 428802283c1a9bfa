// The certified pass over all rows (docs/gpu.md), a tile at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/abi.h"
#include "gpu/emulated/select.h"

namespace quiver::gpu::emulated {

/// Rows of a part in memory.
struct StoredRows {
  std::uint32_t stride = 0;
  std::vector<std::int8_t> codes;
  std::vector<qv_row> rows;
};

class DensePass {
 public:
  DensePass(const qv_dense& job, const StoredRows& rows);

  /// Does some of the work, a tile of rows for all queries; true when all is done and written.
  [[nodiscard]] bool step();

 private:
  struct Found {
    std::uint32_t row;
    float lower;
    float center;
  };
  struct Query {
    float bar = 0;  ///< a score that `k` rows certainly reach; of the sample, then of `found`
    std::vector<float> slabs;  ///< the best lower end of each sampled slab
    std::vector<Found> found;
    std::uint64_t n_found = 0;  ///< may be more than there is room for
    bool is_wanted = true;      ///< the pass goes on for this query
  };

  enum class Phase : std::uint8_t { kSample, kFirstPass, kSecondPass };
  void sample_tile(std::uint64_t tile);
  void pass_tile(std::uint64_t tile);
  void finish_sample();
  /// True if some query needs the second pass.
  [[nodiscard]] bool finish_pass();
  void write(std::uint32_t query);
  [[nodiscard]] std::uint32_t k_of(std::uint32_t query) const { return job_.queries[query].k; }
  [[nodiscard]] bool is_allowed(std::uint32_t query, std::uint64_t row) const {
    return allows(job_.masks, job_.queries[query].mask, rows_.rows.size(), row);
  }
  [[nodiscard]] int product(std::uint32_t query, std::uint64_t row) const;

  const qv_dense job_;
  const StoredRows& rows_;
  std::uint64_t n_tiles_;
  std::uint64_t step_;          ///< every how many tiles one is sampled
  qv_query group_ = {};         ///< the largest numbers of all queries
  std::vector<float> margins_;  ///< of each row, for all queries
  std::vector<Query> queries_;
  Phase phase_ = Phase::kSample;
  std::uint64_t tile_ = 0;
};

}  // namespace quiver::gpu::emulated
