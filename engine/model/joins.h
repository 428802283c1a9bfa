// Joins of a field with itself: what is asked of one and what comes of it. Plain structs.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/io/shared_span.h"
#include "engine/model/query.h"
#include "payload/filter.h"

namespace quiver::engine {

inline constexpr std::uint64_t kMaxJoinNeighbours = 1000;
/// Entries of a graph or pairs: each takes 8 bytes of memory while a job runs, twice that at times.
inline constexpr std::uint64_t kMaxJoinEntries = std::uint64_t{1} << 28;
inline constexpr std::uint32_t kMaxNodeVectorDim = 4096;
inline constexpr std::size_t kMaxNodeVectorHops = 10;

/// The nearest others of each point.
struct KnnJoin {
  std::uint64_t k = 10;            ///< 1 to kMaxJoinNeighbours
  std::optional<float> min_score;  ///< worse neighbours are left out; a distance: farther ones
};

/// Which point of a group of duplicates is the one that the others are duplicates of.
enum class KeptDuplicate : std::uint8_t { kSmallestId, kLargestId };

/// All pairs at least so similar, and the groups that they connect.
struct DuplicatesJoin {
  float min_score = 0;  ///< a distance: the largest
  KeptDuplicate keep = KeptDuplicate::kSmallestId;
};

/// Which clusters of the tree are taken: those that last longest, or the smallest and densest.
enum class ClusterSelection : std::uint8_t { kStable, kLeaves };

/// HDBSCAN (Campello, Moulavi, Sander 2013) over the k-NN graph.
struct ClustersJoin {
  std::uint64_t k = 15;        ///< neighbours in the graph, 2 to kMaxJoinNeighbours
  std::uint64_t min_size = 5;  ///< points of a cluster, at least 2
  /// A point's core distance is that of this neighbour, 1 to `k`; 0: `min_size`, at most `k`.
  std::uint64_t min_samples = 0;
  ClusterSelection selection = ClusterSelection::kStable;
};

/// Vectors of the nodes of the k-NN graph, or of links in payloads: FastRP (Chen et al., CIKM
/// 2019).
struct NodeVectorsJoin {
  std::uint64_t k = 10;  ///< neighbours in the k-NN graph
  std::uint32_t dim = 128;
  std::vector<float> weights = {0, 1, 1};  ///< of the first, second, ... power of the graph
  std::uint64_t seed = 0;
  /// Payload path of the ids of the points that a point is linked to; "": the k-NN graph. Points
  /// without a link have no vector then.
  std::string links = {};
};

inline constexpr std::uint64_t kMinTranslatedPairs = 100;
inline constexpr std::uint64_t kMaxTranslatedPairs = 65'536;
inline constexpr std::uint64_t kMaxTranslationAnchors = 8192;

/// Estimates of the vectors that points would have in another field, which some already have: those
/// of a new embedding model.
struct TranslateJoin {
  std::string to;                ///< the other field, dense as the first
  std::uint64_t pairs = 16'384;  ///< points with both to learn from, at most
  std::uint64_t anchors = 4096;  ///< 16 to kMaxTranslationAnchors
};

struct JoinRequest {
  std::variant<KnnJoin, DuplicatesJoin, ClustersJoin, NodeVectorsJoin, TranslateJoin> kind;
  std::string using_field;
  std::optional<payload::Filter> filter;  ///< points that take part
  SearchParams params = {};               ///< of the searches
  /// Payload key, or for vectors the field, into which the outcome is written; "": nowhere.
  std::string into;
};

/// How good estimated vectors are, by points that were left out of the learning.
struct TranslationFacts {
  std::uint64_t n_pairs = 0;  ///< learned from
  /// Points left out: `recall` is the share of their 10 nearest among themselves that their
  /// estimates find, with true vectors as queries. 0 points: not measured.
  std::uint64_t n_judged = 0;
  double recall = 0;
  double r2 = 0;  ///< share of the variance of their vectors that the estimates explain
  /// By which scores of estimates are multiplied before they are compared with those of vectors.
  double weight = 1;
};

/// The outcome of a join, by point. Parts that a kind does not have are empty.
struct JoinTable {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  SharedSpan<PointId> ids;  ///< `[n]`, ascending; duplicates: points of at least one pair
  /// Point i has neighbours `[offsets[i], offsets[i + 1])`, best first.
  SharedSpan<std::uint64_t> offsets;
  SharedSpan<std::uint32_t> neighbours;  ///< positions in `ids`
  SharedSpan<float> scores;              ///< as users see them
  /// `[n]`. Duplicates: the position of the point that is kept. Clusters: the number of the
  /// cluster; kNone: noise.
  SharedSpan<std::uint32_t> groups;
  SharedSpan<float> strengths;  ///< `[n]`; clusters: how firmly a point belongs, 0 to 1
  SharedSpan<float> vectors;    ///< `[n, dim]`
  std::uint32_t dim = 0;
  std::optional<TranslationFacts> translation = std::nullopt;
};

/// How far a join is; any thread reads.
struct JoinProgress {
  std::atomic<std::uint64_t> n_done = 0;   ///< steps: searches, and writes that follow
  std::atomic<std::uint64_t> n_total = 0;  ///< 0: not known yet
};

}  // namespace quiver::engine
