#include "index/dense/graph/walk.h"

#include <algorithm>
#include <cmath>

#include "base/prefetch.h"
#include "index/cost.h"
#include "index/dense/lists/byte_rows.h"
#include "index/dense/lists/search/code_scan.h"
#include "index/dense/lists/search/list_router.h"

namespace quiver::index::dense {
namespace {

/// Bytes read between two polls of `cancel`.
constexpr double kBytesPerPoll = 256 * 1024;
/// Nodes that are visited or expanded together, so that one's memory arrives while others are
/// scored.
constexpr std::size_t kTogether = 4;
/// Rows nearer than half of the usual distance from a row to its centroid are equally near for a
/// `Reach`: codes do not tell much smaller distances from none.
constexpr float kLeastReachedShare = 0.25F;

/// Posting lists in which a walk for `k` hits starts: many hits lie in more lists.
std::size_t n_entry_lists(std::size_t k) {
  constexpr double kMost = 8;
  return static_cast<std::size_t>(std::clamp(std::round(std::sqrt(k)), 1.0, kMost));
}

/// Rows of these lists that start it.
std::size_t n_entry_rows(std::size_t k) {
  constexpr std::size_t kFew = 32;
  constexpr std::size_t kMost = 1024;
  return std::min(kFew + 2 * k, kMost);
}

}  // namespace

struct Walk::Visit {
  float score = 0;  ///< score by second code
  std::uint32_t row = 0;

  /// Nearest first.
  friend bool operator<(const Visit& a, const Visit& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  }
};

/// A node whose links are on their way from memory.
struct Walk::Expansion {
  float score = 0;
  std::uint32_t node = 0;
};

/// Memory of one thread's walks, reused.
struct Walk::Scratch {
  QueryLines lines;
  RotatedQuery query;
  ByteQuery byte_query;
  ScanScratch scan;
  ScanScratch centroids;
  RouteScratch route;
  Beam entries;  ///< nodes to visit, by estimate: those that start the walk
  Beam linked;   ///< the same: those that others link to
  Beam visited;  ///< nodes to expand, by score
  Reach reach;
  std::vector<std::uint64_t> seen;   ///< a bit for each node
  std::vector<std::uint32_t> nodes;  ///< nodes whose bit is set
  std::size_t n_visited = 0;
  std::size_t n_expanded = 0;
  bool has_left_nodes = false;            ///< a linked node beyond the reach was not visited
  std::vector<std::uint32_t> taken;       ///< nodes that are visited next
  std::vector<std::uint32_t> taken_rows;  ///< their rows
  std::vector<Expansion> expansions;      ///< nodes that are expanded next
  std::vector<Visit> visits;              ///< allowed rows
  std::vector<float> denied;              ///< scores of visited rows that are not allowed
  std::vector<std::uint32_t> rows;

  /// Number of nodes to visit.
  [[nodiscard]] std::size_t n_waiting() const { return entries.size() + linked.size(); }
  /// The beam with the nearest node to visit; one of them must have a node.
  [[nodiscard]] Beam& next_beam() {
    if (entries.empty()) return linked;
    if (linked.empty()) return entries;
    return linked.next_score() >= entries.next_score() ? linked : entries;
  }
  /// True the first time a node is seen.
  [[nodiscard]] bool see(std::uint32_t node) {
    const std::uint64_t bit = std::uint64_t{1} << (node % 64);
    if ((seen[node / 64] & bit) != 0) return false;
    seen[node / 64] |= bit;
    nodes.push_back(node);
    return true;
  }
};

Result<WalkHits> Walk::find(const WalkRequest& request) const {
  thread_local Scratch scratch;
  prepare(request, scratch);
  begin(request, scratch);
  QV_TRY(visit_all(request, scratch));
  count(request, scratch);
  choose(request, scratch);
  return WalkHits{scratch.rows, end_of(request, scratch)};
}

void Walk::prepare(const WalkRequest& request, Scratch& scratch) const {
  scratch.query = lists_.rotate(request.vector, scratch.lines);
  scratch.byte_query.set(scratch.query.values, scratch.query.lost);
  const std::size_t n = graph_.facts().n;
  for (const std::uint32_t node : scratch.nodes) scratch.seen[node / 64] = 0;
  if (scratch.seen.size() * 64 < n) scratch.seen.resize(n / 64 + 1);
  scratch.nodes.clear();
  scratch.n_visited = 0;
  scratch.n_expanded = 0;
  scratch.has_left_nodes = false;
  scratch.visited.clear();
  scratch.expansions.clear();
  const auto& facts = lists_.lists().facts();
  scratch.reach.reset(
      request.k, request.reach,
      {lists_.similarity(), facts.length, kLeastReachedShare * facts.spread * facts.spread});
  scratch.visits.clear();
  scratch.denied.clear();
}

/// Takes the best rows of the nearest lists.
void Walk::begin(const WalkRequest& request, Scratch& scratch) const {
  const auto& lists = lists_.lists();
  scratch.entries.clear();
  scratch.linked.clear();
  const ListRouter router(lists, lists_.similarity());
  CodeScan scan(n_entry_rows(request.k), scratch.scan);
  for (const auto& probe :
       router.nearest(scratch.query, n_entry_lists(request.k), scratch.centroids, scratch.route)) {
    const CodeBlocks blocks = lists.blocks(probe.list);
    scan.scan(scratch.query.tables, blocks, probe.base, nullptr, lists.first_position(probe.list));
    dense::count(blocks, blocks.n, request.work);
  }
  const CodeHits& hits = scan.best();
  for (std::size_t i = 0; i < hits.n; ++i) {
    const std::uint32_t node = graph_.node(lists.rows()[hits.positions[i]]);
    if (node < graph_.facts().n && scratch.see(node)) scratch.entries.add(hits.scores[i], node);
  }
}

Result<> Walk::visit_all(const WalkRequest& request, Scratch& scratch) const {
  const double bytes = find_bytes(kTogether, request.reach);
  double unpolled = 0;
  for (;;) {
    take_visits(request, scratch);
    expand_taken(scratch);
    visit_taken(request, scratch);
    take_expansions(request, scratch);
    const bool is_done = scratch.n_waiting() == 0 && scratch.expansions.empty();
    if (is_done || scratch.n_visited >= request.ef) return {};
    unpolled += bytes;
    if (unpolled < kBytesPerPoll) continue;
    QV_TRY(request.cancel.check());
    unpolled = 0;
  }
}

/// Takes the nodes that are visited next. Forgets those beyond the reach: it does not grow.
void Walk::take_visits(const WalkRequest& request, Scratch& scratch) const {
  const auto& second = *lists_.second();
  const std::size_t most = std::min(kTogether, request.ef - scratch.n_visited);
  scratch.taken.clear();
  scratch.taken_rows.clear();
  while (scratch.taken.size() < most && scratch.n_waiting() != 0) {
    Beam& beam = scratch.next_beam();
    if (beam.next_score() < scratch.reach.bound()) {
      scratch.has_left_nodes |= !scratch.linked.empty();
      scratch.entries.clear();
      scratch.linked.clear();
      return;
    }
    const std::uint32_t node = beam.take();
    const std::uint32_t row = graph_.row(node);
    if (row >= lists_.n_rows()) continue;  // the file is damaged while it is in use
    second.prefetch(row);
    scratch.taken.push_back(node);
    scratch.taken_rows.push_back(row);
  }
}

/// Takes the nodes that are expanded next: the best that were visited.
void Walk::take_expansions(const WalkRequest& request, Scratch& scratch) const {
  // Until k rows are known there is no telling which are worth it.
  const bool ends_by_distance = std::isfinite(request.reach.expanded);
  const bool makes_k_known = scratch.visits.size() + scratch.n_waiting() >= request.k;
  if (ends_by_distance && scratch.visits.size() < request.k && makes_k_known) return;
  take_expansions_above(scratch.reach.expansion_bound(), scratch);
  // Before a walk says that it ran out of nodes, it looks at all links.
  const bool is_out = scratch.n_waiting() == 0 && scratch.expansions.empty();
  if (is_out && !scratch.has_left_nodes) take_expansions_above(Reach::kNone, scratch);
}

void Walk::take_expansions_above(float bound, Scratch& scratch) const {
  Beam& visited = scratch.visited;
  while (scratch.expansions.size() < kTogether && !visited.empty() &&
         visited.next_score() >= bound) {
    const float score = visited.next_score();
    const std::uint32_t node = visited.take();
    fetch_links(node);
    scratch.expansions.push_back({score, node});
  }
}

void Walk::expand_taken(Scratch& scratch) const {
  for (const auto& [score, node] : scratch.expansions) score_links(node, score, scratch);
  scratch.n_expanded += scratch.expansions.size();
  scratch.expansions.clear();
}

void Walk::visit_taken(const WalkRequest& request, Scratch& scratch) const {
  float scores[kTogether];
  const std::size_t n = scratch.taken.size();
  lists_.second()->score(scratch.byte_query, scratch.taken_rows, scores);
  scratch.n_visited += n;
  for (std::size_t i = 0; i < n; ++i) {
    const Visit visit{scores[i], scratch.taken_rows[i]};
    if (request.filter == nullptr || request.filter->allows(visit.row)) {
      scratch.visits.push_back(visit);
      scratch.reach.add(visit.score);
    } else {
      scratch.denied.push_back(visit.score);
    }
    scratch.visited.add(visit.score, scratch.taken[i]);
  }
}

/// Takes the nodes linked from `node`, whose score is `score`.
void Walk::score_links(std::uint32_t node, float score, Scratch& scratch) const {
  float scores[kLargestDegree + CodeBlocks::kRows];
  std::uint32_t places[kLargestDegree + CodeBlocks::kRows];
  CodeHits hits{scores, places, kLargestDegree + CodeBlocks::kRows, 0};
  const float least = scratch.reach.bound();
  kernels().codes.scan(scratch.query.tables, graph_.blocks(node), score, least, nullptr, 0, hits);
  const std::uint32_t* links = graph_.links(node);
  // Missing links come last.
  const bool has_left_some = hits.n < graph_.facts().degree && links[hits.n] != kNoLink;
  if (has_left_some && std::isfinite(least)) scratch.has_left_nodes = true;
  for (std::size_t i = 0; i < hits.n; ++i) {
    const std::uint32_t to = links[places[i]];
    // Missing links are never found, unless the codes' file is damaged while it is in use.
    if (to < graph_.facts().n && scratch.see(to)) scratch.linked.add(scores[i], to);
  }
}

/// Into L2: L1 has too few buffers for so many lines.
void Walk::fetch_links(std::uint32_t node) const {
  prefetch_bytes<Nearness::kL2>(graph_.blocks(node).first, graph_.node_bytes());
  prefetch_bytes<Nearness::kL2>(graph_.links(node), graph_.link_bytes());
}

/// The nearer half of the visited rows are usually the nearest rows of all; the farther half are
/// found by chance. So the k-th allowed row must lie in the nearer half.
WalkEnd Walk::end_of(const WalkRequest& request, const Scratch& scratch) const {
  if (scratch.n_visited < std::min<std::size_t>(request.ef, graph_.facts().n)) {
    // A walk that has left no node has seen all that it can get to.
    return scratch.has_left_nodes ? WalkEnd::kThere : WalkEnd::kStuck;
  }
  if (scratch.visits.size() < request.k) return WalkEnd::kTooShort;
  const float kth = scratch.visits[request.k - 1].score;
  const auto n_nearer = std::count_if(scratch.denied.begin(), scratch.denied.end(),
                                      [kth](float score) { return score >= kth; });
  const std::size_t place = request.k + static_cast<std::size_t>(n_nearer);
  return n_nearer == 0 || place <= request.ef / 2 ? WalkEnd::kThere : WalkEnd::kTooShort;
}

/// Leaves in `scratch.rows` the visited rows that may be among the best k, given the error of
/// second codes.
void Walk::choose(const WalkRequest& request, Scratch& scratch) const {
  auto& visits = scratch.visits;
  const std::size_t k = request.k;
  const bool is_reduced = lists_.transform().reduction().has_value();
  const std::size_t most = is_reduced ? cost::n_rescored_by_coarse_codes(k) : cost::n_rescored(k);
  const std::size_t want = std::min(visits.size(), most);
  std::partial_sort(visits.begin(), visits.begin() + static_cast<std::ptrdiff_t>(want),
                    visits.end());
  const auto& second = *lists_.second();
  scratch.rows.clear();
  for (std::size_t i = 0; i < want; ++i) {
    const auto [score, row] = visits[i];
    const bool is_hopeless =
        i >= k && score < visits[k - 1].score - cost::kSecondCodeDeviations *
                                                    second.deviation(scratch.byte_query, row);
    if (!is_hopeless) scratch.rows.push_back(row);
  }
}

void Walk::count(const WalkRequest& request, const Scratch& scratch) const {
  const std::size_t degree = graph_.facts().degree;
  request.work.n_blocks += scratch.n_expanded * degree / CodeBlocks::kRows;
  request.work.n_codes_scored += scratch.n_visited + scratch.n_expanded * degree;
  request.work.n_bytes += scratch.n_visited * lists_.second()->row_bytes() +
                          scratch.n_expanded * (graph_.node_bytes() + graph_.link_bytes());
}

double Walk::find_bytes(double n_visits, const Reach::Shares& reach) const {
  const double visit = cost::kVisitSeekBytes + static_cast<double>(lists_.second()->row_bytes());
  const double expansion =
      cost::kExpansionSeekBytes + static_cast<double>(graph_.node_bytes() + graph_.link_bytes());
  const double n_expanded = std::isfinite(reach.expanded) ? cost::kExpandedShare : 1;
  return n_visits * (visit + n_expanded * expansion);
}

}  // namespace quiver::index::dense
