// A graph of near rows, as it lies in its file: of each row the links, and beside them the codes of
// the rows that they lead to, around the row itself (Gou et al., SymphonyQG, SIGMOD 2025, 3).
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

/// Numbers that say how the rest is to be read; part of the file.
struct GraphFacts {
  std::uint32_t padded_dim = 0;  ///< of the rotated vectors
  std::uint32_t degree = 0;
  std::uint32_t n_bits = 1;
  std::uint32_t n = 0;  ///< rows that have a vector
};

/// What column the files were written for.
struct GraphColumn {
  std::uint32_t padded_dim = 0;
  std::uint32_t n_rows = 0;
  std::uint32_t n_present = 0;
};

/// Mapped and immutable; copies share memory. A node is a row, by its number among those that have
/// a vector.
class Graph {
 public:
  /// Links the rows and writes them. The same bytes for any number of threads.
  static Result<> write(const RowSource& source, const CandidateSearch& lists,
                        const LinkParams& params, const BuildContext& context, Directory& out);
  /// True if any of its files is there.
  [[nodiscard]] static bool exists(const Directory& directory);
  static Result<> remove(Directory& directory);
  /// kDataLoss if the files are damaged or of another column. Adds their size to `n_bytes`.
  [[nodiscard]] static Result<Graph> open(const Directory& directory, const GraphColumn& column,
                                          std::uint64_t& n_bytes);

  [[nodiscard]] const GraphFacts& facts() const { return facts_; }
  /// Codes of the rows that it links to, in the order of its links.
  [[nodiscard]] CodeBlocks blocks(std::uint32_t node) const {
    return {blocks_.data() + node * node_bytes_, facts_.padded_dim / 32, facts_.n_bits,
            facts_.degree / CodeBlocks::kRows};
  }
  [[nodiscard]] const std::uint32_t* links(std::uint32_t node) const {
    return links_.data() + std::size_t{node} * facts_.degree;
  }
  /// In the column.
  [[nodiscard]] std::uint32_t row(std::uint32_t node) const {
    return rows_.empty() ? node : rows_[node];
  }
  /// Of a row of the column that has a vector.
  [[nodiscard]] std::uint32_t node(std::uint32_t row) const;
  /// Of the codes beside the links of a node, and of the links.
  [[nodiscard]] std::size_t node_bytes() const { return node_bytes_; }
  [[nodiscard]] std::size_t link_bytes() const { return facts_.degree * sizeof(std::uint32_t); }

 private:
  Result<> read_links(const SectionReader& reader, std::uint32_t n_rows);

  GraphFacts facts_;
  std::size_t node_bytes_ = 0;
  SharedBytes blocks_;
  SharedSpan<std::uint32_t> links_;
  SharedSpan<std::uint32_t> rows_;  ///< of each node; empty: they are the same
};

}  // namespace quiver::index::dense
