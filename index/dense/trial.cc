#include "index/dense/trial.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/io/section_file.h"
#include "index/cost.h"
#include "index/dense/files.h"
#include "index/dense/lists/row_source.h"
#include "index/dense/searcher.h"
#include "index/exact/searcher.h"
#include "index/index_file.h"
#include "index/parallel.h"

namespace quiver::index::dense {
namespace {

constexpr std::string_view kTrialFile = "trial.qvx";
constexpr SectionFormat kTrialFormat{"dense index's trial", "QVIVFTRY", "QVIVFTEN"};
constexpr std::uint32_t kTrialFacts = 1;

/// Fewer rows measure nothing, and most collections search them exactly.
constexpr std::uint32_t kMinTrialRows = 1000;
constexpr std::uint32_t kTrialQueries = 64;
constexpr std::size_t kTrialNearest = 11;  ///< the row itself and ten others
constexpr double kSufficientRecall = 0.9;
/// A graph that finds so much by default is kept: among rows without structure it finds less.
constexpr double kRecallOfGoodGraph = 0.95;
constexpr float kTrialEffortFactors[] = {1, 4, 16, 64};

/// Queries of the trial and their exact answers. A query lies halfway between a row and one of its
/// neighbours: rows themselves are too easy, as a graph links them to their neighbours.
class Trial {
 public:
  Trial(const FieldColumn& column, const BuildContext& context)
      : column_(column), context_(context) {}

  Result<> prepare(const RowSource& source, const DenseSearcher& searcher) {
    for (const std::uint32_t row : source.rows()) present_.set(row);
    QV_TRY(choose_queries(source, searcher));
    std::vector<const PreparedQuery*> queries;
    std::vector<TopK*> results;
    for (const auto& query : queries_) queries.push_back(&query);
    for (auto& out : nearest_) results.push_back(&out);
    WorkCounters work;
    return FlatSearcher(column_).search_batch(queries, {}, filter(), {context_.cancel, nullptr},
                                              results, work);
  }

  /// Adds the work of all queries to `work`.
  Result<double> recall(const DenseSearcher& searcher, WorkCounters& work) const {
    std::vector<std::size_t> found(queries_.size(), 0);
    std::vector<WorkCounters> works(queries_.size());
    for_each(context_, queries_.size(), [&](std::size_t q) {
      TopK hits(kTrialNearest);
      const SearchContext search{context_.cancel, nullptr};
      if (!searcher.search(queries_[q], {}, filter(), search, hits, works[q]))
        return;  // the error is returned below
      const float last = nearest_[q].threshold();
      for (const Hit& hit : hits.take_sorted()) found[q] += hit.score >= last ? 1 : 0;
    });
    QV_TRY(context_.cancel.check());
    std::size_t n_found = 0;
    std::size_t n_wanted = 0;
    for (std::size_t q = 0; q < queries_.size(); ++q) {
      const std::size_t wanted = nearest_[q].size();
      n_found += std::min(found[q], wanted);
      n_wanted += wanted;
      work += works[q];
    }
    return static_cast<double>(n_found) / static_cast<double>(std::max<std::size_t>(1, n_wanted));
  }

  [[nodiscard]] std::uint32_t n_queries() const {
    return static_cast<std::uint32_t>(queries_.size());
  }

 private:
  Result<> choose_queries(const RowSource& source, const DenseSearcher& searcher) {
    const auto numbers = source.numbers();
    std::vector<float> values(column_.dense().dim);
    std::vector<float> other(values.size());
    const std::uint32_t n = std::min(kTrialQueries, source.n());
    for (std::uint32_t j = 0; j < n; ++j) {
      source.read_stored(static_cast<std::uint32_t>(std::uint64_t{source.n()} * j / n),
                         values.data());
      TopK hits(kTrialNearest);
      WorkCounters work;
      QV_TRY(searcher.search(PreparedQuery::dense(column_.schema, values), {}, filter(),
                             {context_.cancel, nullptr}, hits, work));
      const auto near = hits.take_sorted();
      if (!near.empty()) {
        source.read_stored(numbers[near.back().row], other.data());
        for (std::size_t d = 0; d < values.size(); ++d) values[d] = (values[d] + other[d]) / 2;
      }
      queries_.push_back(PreparedQuery::dense(column_.schema, values));
      nearest_.emplace_back(kTrialNearest);
    }
    return {};
  }

  [[nodiscard]] RowFilter filter() const {
    return column_.all_present() ? RowFilter::all(column_.n_rows) : RowFilter::of(present_);
  }

  const FieldColumn& column_;
  const BuildContext& context_;
  Bitset present_{column_.n_rows};
  std::vector<PreparedQuery> queries_;
  std::vector<TopK> nearest_;
};

/// What default searches find, with the effort that they need, and what they cost.
struct Tried {
  TrialFacts facts;
  double bytes = 0;  ///< index/cost.h
};

/// Bytes that all queries read, and seeks: a list and a node of a walk lie anywhere in memory.
double bytes_of(const WorkCounters& work, const OpenFiles& files) {
  const auto n_lists = static_cast<double>(work.n_lists);
  const double n_bytes = static_cast<double>(work.n_bytes) + n_lists * cost::kRowSeekBytes;
  if (!files.graph) return n_bytes;
  const Partition& lists = files.lists.lists();
  const double in_lists =
      n_lists * static_cast<double>(lists.rows().size()) / lists.facts().n_lists;
  const double per_visit = 1 + cost::kExpandedShare * files.graph->facts().degree;
  const double n_visits =
      std::max(0.0, static_cast<double>(work.n_codes_scored) - in_lists) / per_visit;
  return n_bytes +
         n_visits * (cost::kVisitSeekBytes + cost::kExpandedShare * cost::kExpansionSeekBytes);
}

Result<Tried> tried(const Trial& trial, const FieldColumn& column, const OpenFiles& files) {
  Tried tried;
  tried.facts.n_queries = trial.n_queries();
  for (const float effort : kTrialEffortFactors) {
    OpenFiles with_effort = files;
    with_effort.trial.effort = effort;
    WorkCounters work;
    QV_TRY(const double recall, trial.recall(DenseSearcher(column, std::move(with_effort)), work));
    if (effort == 1) tried.facts.recall = static_cast<float>(recall);
    tried.facts.recall_with_effort = static_cast<float>(recall);
    tried.facts.effort = effort;
    tried.bytes = bytes_of(work, files);
    if (recall >= kSufficientRecall) return tried;
  }
  tried.facts.recall_with_effort = 1;
  tried.facts.effort = 0;
  return tried;
}

/// True if `lists` alone find as much for less. If nothing finds enough, the graph is of no use.
bool is_better(const Tried& lists, const Tried& graph) {
  const bool finds_as_much =
      lists.facts.effort != 0 && lists.facts.recall_with_effort >= graph.facts.recall_with_effort;
  return graph.facts.effort == 0 || (finds_as_much && lists.bytes <= graph.bytes);
}

/// Removes the graph if its default searches find little and lists do better.
Result<Tried> tried_without_poor_graph(const Trial& trial, const FieldColumn& column,
                                       const OpenFiles& files, Directory& out) {
  QV_TRY(auto by_graph, tried(trial, column, files));
  if (!files.graph || by_graph.facts.recall >= kRecallOfGoodGraph) return by_graph;
  OpenFiles lists = files;
  lists.graph.reset();
  QV_TRY(auto by_lists, tried(trial, column, lists));
  if (!is_better(by_lists, by_graph)) return by_graph;
  QV_TRY(Graph::remove(out));
  return by_lists;
}

}  // namespace

Result<> try_out(const FieldColumn& column, bool may_drop_graph, const BuildContext& context,
                 Directory& out) {
  if (column.n_present < kMinTrialRows) return {};
  QV_TRY(const auto files, open_files(out, column));
  Trial trial(column, context);
  QV_TRY(trial.prepare(RowSource(column, files.lists.transform()), DenseSearcher(column, files)));
  QV_TRY(const auto tried_out, may_drop_graph ? tried_without_poor_graph(trial, column, files, out)
                                              : tried(trial, column, files));
  QV_TRY(auto file, out.create_file(kTrialFile));
  SectionWriter writer(kTrialFormat, std::move(file));
  writer.section(kTrialFacts, std::span<const TrialFacts>(&tried_out.facts, 1));
  return writer.finish(column.n_rows);
}

Result<TrialFacts> open_trial(const Directory& directory, std::uint32_t n_rows,
                              std::uint64_t& n_bytes) {
  if (!directory.exists(kTrialFile)) return TrialFacts{};
  QV_TRY(const auto reader, open_index_file(directory, kTrialFile, kTrialFormat, n_rows, n_bytes));
  QV_TRY(const auto facts, reader.get<TrialFacts>(kTrialFacts, 0, 1));
  return facts[0];
}

}  // namespace quiver::index::dense
