// Search of an index of multi-vectors: candidates by the documents' vectors, MaxSim of their codes
// until no better one turns up, exact MaxSim of the best.
#pragma once

#include <cstdint>
#include <span>

#include "index/flat/searcher.h"
#include "index/index.h"
#include "index/ivf/candidates.h"
#include "index/multi/facts.h"
#include "index/multi/params.h"
#include "index/multi/token_codes.h"

namespace quiver::index::multi {

/// What decides which rows are the answer.
enum class Rerank : std::uint8_t { kNone, kCodes, kFull };

struct SearchOptions {
  SearchParams params;
  Rerank rerank = Rerank::kFull;
};

/// The parts of an index as they lie in its files.
struct Parts {
  IndexFacts facts;
  SharedSpan<ProbeRow> probe;
  EncoderPtr encoder;  ///< of queries
  std::uint64_t encoder_bytes = 0;
  TokenCodes tokens;
  ivf::CandidateSearch candidates;
  std::uint64_t n_bytes = 0;  ///< mapped
};

class MultiSearcher final : public Searcher {
 public:
  MultiSearcher(FieldColumn column, Parts parts);

  Result<> search(const Query& query, const AnyParams& params, const FilterView& filter,
                  const SearchContext& context, TopK& out, WorkCounters& work) const override;
  [[nodiscard]] std::uint64_t bytes_per_search() const override;
  [[nodiscard]] MemoryUse memory() const override {
    return {sizeof(*this) + parts_.encoder_bytes, parts_.n_bytes};
  }
  /// With the probe's table.
  [[nodiscard]] Description describe() const override;

 private:
  struct Request;
  struct Scratch;

  [[nodiscard]] std::size_t most_candidates(const SearchOptions& options, std::size_t k) const;
  [[nodiscard]] double row_bytes(const Query& query) const;
  Result<bool> find(const Request& request, Scratch& scratch) const;
  static void take_all(const Request& request, Scratch& scratch);
  Result<> compare_codes(const Request& request, Scratch& scratch) const;
  Result<> offer_exact_scores(const Request& request, std::span<const std::uint32_t> rows) const;

  FieldColumn column_;
  FlatSearcher flat_;
  Parts parts_;
  double tokens_per_row_;
};

}  // namespace quiver::index::multi
