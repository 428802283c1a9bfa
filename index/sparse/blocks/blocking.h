// Cuts a posting list into blocks of similar rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/sparse/blocks/block_params.h"
#include "index/sparse/blocks/grouping.h"
#include "index/sparse/blocks/pruning.h"
#include "index/sparse/rows/coded_rows.h"

namespace quiver::index::sparse {

/// Shallow k-means: some rows of the list are centroids, and each row joins the centroid of the
/// largest inner product with its strongest components. Small clusters are dissolved. An inverted
/// index over the centroids finds the products. Unlike the paper, products are of codes, and large
/// clusters are split. Memory: 8 bytes per term; one thread.
class Blocker {
 public:
  Blocker(const CodedRows& rows, const BlockParams& params);

  /// Rows of a block ascend; no block is empty. The same list and seed give the same blocks.
  void group(std::span<const Posting> list, std::uint64_t seed, Grouping& out);

 private:
  struct Entry {
    std::uint32_t centroid = 0;
    std::uint32_t code = 0;
  };

  void group_fixed(std::span<const Posting> list, Grouping& out) const;
  void choose_centroids(std::uint64_t seed);
  void index_centroids();
  void forget_centroids();
  /// The nearest centroid that is not closed.
  std::uint32_t nearest(std::uint32_t row);
  void assign_all();
  void dissolve_small();
  void write_clusters(Grouping& out);
  [[nodiscard]] std::size_t max_block_size() const;

  const CodedRows& rows_;
  const BlockParams& params_;
  std::vector<std::uint32_t> begin_;  ///< first entry of each term; valid where size_ is not 0
  std::vector<std::uint32_t> size_;
  std::vector<std::uint32_t> touched_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> members_;    ///< rows of the list, ascending
  std::vector<std::uint32_t> clusters_;   ///< cluster of each member
  std::vector<std::uint32_t> centroids_;  ///< rows that are centroids
  std::vector<std::uint32_t> products_;   ///< product with each centroid
  std::vector<std::uint32_t> sizes_;      ///< members of each centroid
  std::vector<std::uint8_t> closed_;      ///< 1: no row may join the centroid
};

}  // namespace quiver::index::sparse
