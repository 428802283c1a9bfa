// Search of an IVF index: candidates by codes, then exact scores.
#pragma once

#include <cstdint>

#include "index/flat/searcher.h"
#include "index/index.h"
#include "index/ivf/candidates.h"

namespace quiver::index::ivf {

class IvfSearcher final : public Searcher {
 public:
  IvfSearcher(FieldColumn column, CandidateSearch candidates, std::uint64_t mapped_bytes)
      : column_(column),
        flat_(std::move(column)),
        candidates_(std::move(candidates)),
        mapped_bytes_(mapped_bytes) {}

  Result<> search(const Query& query, const AnyParams& params, const FilterView& filter,
                  const SearchContext& context, TopK& out, WorkCounters& work) const override;
  [[nodiscard]] std::uint64_t bytes_per_search() const override {
    return candidates_.bytes_per_search();
  }
  [[nodiscard]] MemoryUse memory() const override { return {sizeof(*this), mapped_bytes_}; }
  [[nodiscard]] Description describe() const override { return candidates_.describe(); }

 private:
  [[nodiscard]] double exact_bytes(std::size_t n_allowed) const;

  FieldColumn column_;
  FlatSearcher flat_;
  CandidateSearch candidates_;
  std::uint64_t mapped_bytes_;
};

}  // namespace quiver::index::ivf
