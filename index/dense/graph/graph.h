// A graph of near rows in its files: for each row its links, and beside them codes of the linked
// rows, coded around the row itself (Gou et al., SymphonyQG, SIGMOD 2025, section 3).
#pragma once

#include <cstdint>
#include <span>

#include "base/io/file.h"
#include "base/io/section_file.h"
#include "base/io/shared_span.h"
#include "base/result.h"
#include "index/dense/graph/links.h"
#include "index/dense/lists/row_source.h"
#include "index/dense/lists/search/candidate_search.h"
#include "index/index.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {

/// Header of the files.
struct GraphFacts {
  std::uint32_t padded_dim = 0;  ///< dimensions of the rotated vectors
  std::uint32_t degree = 0;
  std::uint32_t n_bits = 1;
  std::uint32_t n = 0;  ///< number of nodes: rows that have a vector
};

/// The column that files must belong to.
struct GraphColumn {
  std::uint32_t padded_dim = 0;
  std::uint32_t n_rows = 0;
  std::uint32_t n_present = 0;
  bool has_distances = false;  ///< distances follow from scores, whatever the lengths of rows
};

/// Mapped and immutable; copies share memory. Node i is the i-th row that has a vector.
class Graph {
 public:
  /// Links the rows and writes the files. The same bytes for any number of threads.
  static Result<> write(const RowSource& source, const CandidateSearch& lists,
                        const LinkParams& params, const BuildContext& context, Directory& out);
  /// True if any file of a graph exists.
  [[nodiscard]] static bool exists(const Directory& directory);
  static Result<> remove(Directory& directory);
  /// kDataLoss if the files are damaged or belong to another column. Adds their size to `n_bytes`.
  [[nodiscard]] static Result<Graph> open(const Directory& directory, const GraphColumn& column,
                                          std::uint64_t& n_bytes);

  [[nodiscard]] const GraphFacts& facts() const { return facts_; }
  /// Codes of the linked nodes, in the order of `links`.
  [[nodiscard]] CodeBlocks blocks(std::uint32_t node) const {
    return {blocks_.data() + node * node_bytes_, facts_.padded_dim / 32, facts_.n_bits,
            facts_.degree / CodeBlocks::kRows};
  }
  [[nodiscard]] const std::uint32_t* links(std::uint32_t node) const {
    return links_.data() + std::size_t{node} * facts_.degree;
  }
  /// Row of the column.
  [[nodiscard]] std::uint32_t row(std::uint32_t node) const {
    return rows_.empty() ? node : rows_[node];
  }
  /// Node of a row that has a vector.
  [[nodiscard]] std::uint32_t node(std::uint32_t row) const;
  /// Bytes of a node's codes, and of its links.
  [[nodiscard]] std::size_t node_bytes() const { return node_bytes_; }
  /// True if distances follow from scores, so that walks may end by their `Reach`: rows are about
  /// equally long, or scores are distances.
  [[nodiscard]] bool has_distances() const { return has_distances_; }
  [[nodiscard]] std::size_t link_bytes() const { return facts_.degree * sizeof(std::uint32_t); }

 private:
  Result<> read_variation(const SectionReader& reader);
  Result<> read_links(const SectionReader& reader, std::uint32_t n_rows);

  GraphFacts facts_;
  std::size_t node_bytes_ = 0;
  bool has_distances_ = false;
  SharedBytes blocks_;
  SharedSpan<std::uint32_t> links_;
  SharedSpan<std::uint32_t> rows_;  ///< row of each node; empty: node i is row i
};

}  // namespace quiver::index::dense
