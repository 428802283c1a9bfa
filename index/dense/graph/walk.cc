#include "index/dense/graph/walk.h"

#include <algorithm>
#include <cmath>

#include "base/prefetch.h"
#include "index/cost.h"
#include "index/dense/graph/reach.h"
#include "index/dense/lists/byte_rows.h"
#include "index/dense/lists/search/code_scan.h"
#include "index/dense/lists/search/list_router.h"

namespace quiver::index::dense {
namespace {

/// Bytes read between two polls of `cancel`.
constexpr double kBytesPerPoll = 256 * 1024;
/// Rows of the nearest list that start the walk.
constexpr std::size_t kEntryRows = 16;
/// Rows nearer than half of the usual distance from a row to its centroid are equally near for a
/// `Reach`: codes do not tell much smaller distances from none.
constexpr float kLeastReachedShare = 0.25F;

}  // namespace

struct Walk::Visit {
  float score = 0;  ///< score by second code
  std::uint32_t row = 0;

  /// Nearest first.
  friend bool operator<(const Visit& a, const Visit& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  }
};

/// Memory of one thread's walks, reused.
struct Walk::Scratch {
  QueryLines lines;
  RotatedQuery query;
  ByteQuery byte_query;
  ScanScratch scan;
  ScanScratch centroids;
  RouteScratch route;
  Beam beam;
  Reach reach;
  std::vector<std::uint64_t> seen;   ///< a bit for each node
  std::vector<std::uint32_t> nodes;  ///< nodes whose bit is set
  std::size_t n_visited = 0;
  bool has_left_nodes = false;  ///< a node is beyond the reach
  std::vector<Visit> visits;    ///< allowed rows
  std::vector<float> denied;    ///< scores of visited rows that are not allowed
  std::vector<std::uint32_t> rows;

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
  scratch.has_left_nodes = false;
  const auto& facts = lists_.lists().facts();
  scratch.reach.reset(
      request.k, request.reach,
      {lists_.similarity(), facts.length, kLeastReachedShare * facts.spread * facts.spread});
  scratch.visits.clear();
  scratch.denied.clear();
}

/// Offers the best rows of the nearest list to the beam.
void Walk::begin(const WalkRequest& request, Scratch& scratch) const {
  const auto& lists = lists_.lists();
  scratch.beam.clear();
  const ListRouter router(lists, lists_.similarity());
  for (const auto& probe : router.nearest(scratch.query, 1, scratch.centroids, scratch.route)) {
    CodeScan scan(kEntryRows, scratch.scan);
    const CodeBlocks blocks = lists.blocks(probe.list);
    scan.scan(scratch.query.tables, blocks, probe.base, nullptr, lists.first_position(probe.list));
    const CodeHits& hits = scan.best();
    for (std::size_t i = 0; i < hits.n; ++i) {
      const std::uint32_t node = graph_.node(lists.rows()[hits.positions[i]]);
      if (node < graph_.facts().n && scratch.see(node)) scratch.beam.add(hits.scores[i], node);
    }
    dense::count(blocks, blocks.n, request.work);
  }
}

Result<> Walk::visit_all(const WalkRequest& request, Scratch& scratch) const {
  const auto& second = *lists_.second();
  const auto between = static_cast<std::size_t>(kBytesPerPoll / visit_bytes()) + 1;
  for (; scratch.n_visited < request.ef && !scratch.beam.empty(); ++scratch.n_visited) {
    if (scratch.beam.next_score() < scratch.reach.bound()) {
      scratch.has_left_nodes = true;
      return {};
    }
    const std::uint32_t node = scratch.beam.take();
    // Most of the next nodes are known before this one is scored. To fetch one again helps: not all
    // of its lines arrive at the first time.
    scratch.beam.for_next_two([this](std::uint32_t next) { fetch(next); });
    if ((scratch.n_visited + 1) % between == 0) QV_TRY(request.cancel.check());
    Visit visit{0, graph_.row(node)};
    if (visit.row >= lists_.n_rows()) continue;  // the file is damaged while it is in use
    second.score(scratch.byte_query, {&visit.row, 1}, &visit.score);
    if (request.filter == nullptr || request.filter->allows(visit.row)) {
      scratch.visits.push_back(visit);
      scratch.reach.add(visit.score);
    } else {
      scratch.denied.push_back(visit.score);
    }
    score_links(node, visit.score, scratch);
    scratch.beam.for_next([this](std::uint32_t next) { fetch(next); });
  }
  return {};
}

/// Offers the nodes linked from `node` to the beam. `score`: the score of `node`.
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
    if (to < graph_.facts().n && scratch.see(to)) scratch.beam.add(scores[i], to);
  }
}

/// Into L2: L1 has too few buffers for so many lines.
void Walk::fetch(std::uint32_t node) const {
  lists_.second()->prefetch(graph_.row(node));
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
  const std::size_t n = scratch.n_visited;
  const std::size_t degree = graph_.facts().degree;
  request.work.n_blocks += n * degree / CodeBlocks::kRows;
  request.work.n_codes_scored += n * (degree + 1);
  request.work.n_bytes +=
      n * (graph_.node_bytes() + graph_.link_bytes() + lists_.second()->row_bytes());
}

/// In bytes of codes.
double Walk::visit_bytes() const {
  const std::size_t read = graph_.node_bytes() + graph_.link_bytes() + lists_.second()->row_bytes();
  return cost::kVisitSeekBytes + static_cast<double>(read);
}

double Walk::find_bytes(double n_visits) const { return n_visits * visit_bytes(); }

}  // namespace quiver::index::dense
