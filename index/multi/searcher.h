// Search of a multi-vector index in stages. The documents' vectors give a pool, and signs of tokens
// choose candidates from it. Approximate MaxSim of token codes compares candidates until `patience`
// ends it. Exact MaxSim ranks the best.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gpu/placing.h"
#include "index/dense/lists/search/candidate_search.h"
#include "index/exact/searcher.h"
#include "index/index.h"
#include "index/multi/stages/index_facts.h"
#include "index/multi/stages/params.h"
#include "index/multi/tokens/token_codes.h"
#include "index/multi/tokens/token_signs.h"

namespace quiver::index::multi {

/// What ranks the hits (`rerank` in params.h).
enum class Rerank : std::uint8_t { kNone, kCodes, kFull };

struct MultiSearchOptions {
  static constexpr std::string_view kWhat = "search parameters of `multi`";
  MultiSearchParams params;
  Rerank rerank = Rerank::kFull;
};

/// The opened parts of an index.
struct MultiParts {
  MultiFacts facts;
  SharedSpan<ProbeRow> probe;
  ProbeFacts probed;
  EncoderPtr encoder;  ///< encoder of queries
  std::uint64_t encoder_bytes = 0;
  TokenCodes tokens;
  std::optional<TokenSigns> signs;
  dense::CandidateSearch candidates;
  std::uint64_t n_bytes = 0;  ///< mapped files
};

class MultiSearcher final : public Searcher {
 public:
  MultiSearcher(FieldColumn column, MultiParts parts);

  Result<> search(const PreparedQuery& query, const AnyParams& params, const RowFilter& filter,
                  const SearchContext& context, TopK& out, WorkCounters& work) const override;
  /// Exact searches share the jobs of a device.
  Result<> search_batch(std::span<const PreparedQuery* const> queries, const AnyParams& params,
                        const RowFilter& filter, const SearchContext& context,
                        std::span<TopK* const> results, WorkCounters& work) const override;
  Result<> search_filtered(std::span<const FilteredQuery> queries, const AnyParams& params,
                           const SearchContext& context, WorkCounters& work) const override;
  [[nodiscard]] std::uint64_t bytes_per_search() const override;
  [[nodiscard]] std::uint64_t bytes_per_exact_search() const override {
    return flat_.bytes_per_search();
  }
  [[nodiscard]] bool is_on_device(std::size_t n_allowed) const override {
    return flat_.is_on_device(n_allowed);
  }
  bool place(gpu::Devices& devices, gpu::Placing placing) const override {
    return flat_.place(devices, placing);
  }
  Result<> hold(gpu::Devices& devices, const gpu::Held& wanted,
                const Cancel& cancel) const override {
    return flat_.hold(devices, {.rows = wanted.rows}, cancel);
  }
  [[nodiscard]] MemoryUse memory() const override {
    return {sizeof(*this) + parts_.encoder_bytes, parts_.n_bytes};
  }
  /// Includes the probe's table.
  [[nodiscard]] Description describe() const override;

 private:
  struct Request;
  struct Scratch;

  /// Largest numbers of rows compared.
  struct Limits {
    std::size_t pool = 0;        ///< documents compared by signs; without signs, `candidates`
    std::size_t candidates = 0;  ///< documents compared by token codes
  };

  [[nodiscard]] Limits limits_of(const MultiSearchOptions& options, std::size_t k) const;
  [[nodiscard]] double row_bytes(const PreparedQuery& query) const;
  Result<bool> find(const Request& request, Scratch& scratch) const;
  static void take_all(const Request& request, Scratch& scratch);
  static void keep_best(std::size_t n, Scratch& scratch);
  Result<> compare_signs(const Request& request, Scratch& scratch) const;
  static std::size_t n_near(const Request& request, Scratch& scratch);
  Result<> compare_codes(const Request& request, Scratch& scratch) const;
  Result<> offer_exact_scores(const Request& request, std::span<const std::uint32_t> rows) const;

  FieldColumn column_;
  FlatSearcher flat_;
  MultiParts parts_;
  double tokens_per_row_;
};

}  // namespace quiver::index::multi
