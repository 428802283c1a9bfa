// Search of an IVF index: the lists nearest to the query, their codes, the exact scores of the
// best.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "encoders/rotation.h"
#include "index/flat/searcher.h"
#include "index/index.h"
#include "index/ivf/byte_rows.h"
#include "index/ivf/code_scan.h"
#include "index/ivf/params.h"
#include "index/ivf/partition.h"
#include "index/ivf/router.h"

namespace quiver::index::ivf {

class IvfSearcher final : public Searcher {
 public:
  IvfSearcher(FieldColumn column, Partition lists, std::optional<ByteRows> second,
              std::uint64_t mapped_bytes);

  Result<> search(const Query& query, const AnyParams& params, const FilterView& filter,
                  const SearchContext& context, TopK& out, WorkCounters& work) const override;
  [[nodiscard]] std::uint64_t bytes_per_search() const override;
  [[nodiscard]] MemoryUse memory() const override { return {sizeof(*this), mapped_bytes_}; }

 private:
  struct Request;
  struct Scratch;
  /// How far below its k-th best row a search looks.
  struct Reach {
    float lists = 0;  ///< to the last centroid
    float rows = 0;   ///< to the last row that is looked at again
  };

  Result<> search_exactly(const Request& request) const;
  [[nodiscard]] double exact_bytes(const Request& request) const;
  [[nodiscard]] bool is_cheaper_exactly(const Request& request) const;
  [[nodiscard]] RotatedQuery rotate(const Query& query, Scratch& scratch) const;
  [[nodiscard]] std::span<const Probe> route(const Request& request, const RotatedQuery& query,
                                             Scratch& scratch) const;
  Result<bool> scan_unfiltered(const Request& request, const RotatedQuery& query,
                               Scratch& scratch) const;
  Result<bool> scan_filtered(const Request& request, const RotatedQuery& query,
                             Scratch& scratch) const;
  [[nodiscard]] bool tells_best(const Request& request, float usual, float depth) const;
  Result<> scan_beyond(const Request& request, const RotatedQuery& query, float end, float reach,
                       CodeScan& scan, Scratch& scratch) const;
  Result<Reach> reach_of(const Request& request, const RotatedQuery& query,
                         std::span<const Probe> probes, CodeScan& scan) const;
  [[nodiscard]] float least_key(const Request& request, const RotatedQuery& query, float reach,
                                const CodeScan& scan) const;
  Result<bool> scan_lists(const Request& request, const RotatedQuery& query,
                          std::span<const Probe> probes, float reach, CodeScan& scan,
                          Scratch& scratch) const;
  void scan_list(const Request& request, const RotatedQuery& query, const Probe& probe,
                 const std::byte* next, CodeScan& scan, Scratch& scratch) const;
  void collect_rows(const CodeHits& hits, Scratch& scratch) const;
  void drop_hopeless(const Request& request, CodeHits& hits, Scratch& scratch) const;
  void refine(const Request& request, const RotatedQuery& query, Scratch& scratch) const;

  FieldColumn column_;
  FlatSearcher flat_;
  Partition lists_;
  std::optional<ByteRows> second_;
  encoders::Rotation rotation_;
  Similarity similarity_;
  std::uint64_t mapped_bytes_;
};

}  // namespace quiver::index::ivf
