// Points by the words of a payload field: BM25 over the columns of a text index.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/query/stages/field_query.h"
#include "engine/query/stages/stages.h"
#include "engine/segment/columns.h"
#include "engine/segment/segment_rows.h"
#include "engine/segment/tenants.h"
#include "payload/bm25/bm25.h"
#include "payload/bm25/text_vector.h"
#include "payload/bm25/word_rules.h"
#include "payload/text/analyzer.h"

namespace quiver::engine {
namespace {

/// The best candidates so far.
class BestHits {
 public:
  explicit BestHits(std::uint64_t limit) : limit_(limit) {}

  void offer(const Candidate& candidate) {
    if (limit_ == 0) return;
    if (heap_.size() == limit_) {
      if (!is_better(candidate, heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end(), is_better);
      heap_.pop_back();
    }
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end(), is_better);
  }
  /// The score that a candidate must reach.
  [[nodiscard]] float threshold() const {
    if (limit_ == 0) return std::numeric_limits<float>::infinity();
    return heap_.size() < limit_ ? 0.0F : heap_.front().score;
  }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  /// Best first.
  [[nodiscard]] Candidates take() {
    keep_best(heap_, limit_);
    return std::move(heap_);
  }

 private:
  std::uint64_t limit_;
  Candidates heap_;  ///< the worst is at the front
};

class SegmentSink final : public payload::RowSink {
 public:
  SegmentSink(const Segment& segment, BestHits& hits) : segment_(segment), hits_(hits) {}

  void offer(std::uint32_t row, float score) override {
    hits_.offer({segment_.data->ids[row], score, &segment_, row, {}});
  }
  [[nodiscard]] float threshold() const override { return hits_.threshold(); }
  [[nodiscard]] std::size_t limit() const override { return hits_.limit(); }

 private:
  const Segment& segment_;
  BestHits& hits_;
};

/// One key of the query: where its tokens are in each segment of the snapshot.
struct KeyTexts {
  payload::KeyQuery query;
  std::vector<payload::Occurrences> occurrences;
  payload::Bm25 bm25;
};

Result<const payload::FieldIndex*> scored_index(const CollectionConfig& config,
                                                const std::string& key) {
  const auto* index = find_index(config.indexes, key);
  if (index != nullptr && index->scoring) return index;
  return fail(Code::kInvalidArgument,
              fmt::format("a text query needs a payload index of type `text` with `scoring`, and "
                          "`using` names its key: `{}` {}",
                          key, index == nullptr ? "has no index" : "has an index without scoring"));
}

Result<std::vector<payload::ColumnView>> columns_of(const Snapshot& snapshot,
                                                    const payload::FieldIndex& index) {
  std::vector<payload::ColumnView> columns;
  for (const Segment* segment : snapshot.segments()) {
    const auto column = segment->data->columns.find(index.key);
    if (column == segment->data->columns.end() || !same_column(*column->second.index, index)) {
      return fail(Code::kUnavailable,
                  fmt::format("the index of `{}` is still being built", index.key));
    }
    columns.push_back(column->second);
  }
  return columns;
}

/// The rows of each segment over which statistics or hits are taken; nullopt: all rows.
using RowsOfSegments = std::vector<std::optional<Bitset>>;

class TextStage final : public PlanStage {
 public:
  TextStage(const TextMatch& kind, PlanNode node) : kind_(kind), node_(std::move(node)) {}

  [[nodiscard]] Result<CorpusCounts> count(const SearchEnvironment& environment) const {
    CorpusCounts counts;
    QV_TRY(const auto corpus, corpus_rows(environment));
    for (const auto& [key, boost] : keys_of_query()) {
      QV_TRY(texts_of(environment, key, boost, corpus, &counts.of_key[key]));
    }
    return counts;
  }

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    const auto& made = environment.config.text_vectors;
    if (const auto field = made.find(node_.query.using_field); field != made.end()) {
      return search_vectors(environment, field->second);
    }
    const auto named = keys_of_query();
    // What is wrong in any state is told before what may end: a column that is still being built.
    for (const auto& [key, boost] : named) QV_TRY(scored_index(environment.config, key));
    QV_TRY(const auto corpus, corpus_rows(environment));
    std::vector<KeyTexts> keys;
    for (const auto& [key, boost] : named) {
      QV_TRY(auto texts, texts_of(environment, key, boost, corpus, nullptr));
      keys.push_back(std::move(texts));
    }
    BestHits hits(node_.limit);
    QV_TRY(node_.inputs.empty() ? search_all(environment, keys, corpus, hits)
                                : search_inputs(environment, keys, hits));
    return Ranking{hits.take()};
  }

 private:
  /// Ranks by the vectors that the server makes of payloads.
  [[nodiscard]] Result<Ranking> search_vectors(const SearchEnvironment& environment,
                                               const TextVectorField& field) const {
    if (!kind_.expansion.is_none() || !kind_.rules.empty() ||
        kind_.params != payload::Bm25Params()) {
      return fail(
          Code::kInvalidArgument,
          fmt::format("`using` names the vector `{}`, which is made of texts: a text query "
                      "for it has no options; those of a key with a text index are `fuzzy`, "
                      "`prefix`, `required`, `excluded`, `minimum_should_match` and "
                      "`scoring`",
                      node_.query.using_field));
    }
    auto made = payload::text_vector(field.model, kind_.text, payload::TokenUse::kQuery);
    if (made.indices.empty()) return Ranking{};
    Query query = node_.query;
    query.kind =
        Nearest{VectorValue(SparseVector{std::move(made.indices), std::move(made.values)})};
    PlanNode node{query, node_.filter, node_.limit, {}};
    QV_TRY(auto rankings, run_inputs(node_, environment));
    for (auto& ranking : rankings) {
      node.inputs.push_back(known_ranking(std::move(ranking)));
    }
    return make_stage(std::get<Nearest>(query.kind), std::move(node))->run(environment);
  }

  [[nodiscard]] std::vector<TextKey> keys_of_query() const {
    if (!kind_.keys.empty()) return kind_.keys;
    return {{node_.query.using_field, 1}};
  }

  /// The corpus that the query names, or the points of the tenants that its filter names; nullptr:
  /// all live points.
  [[nodiscard]] FilterPtr corpus_filter(const SearchEnvironment& environment) const {
    const auto& named = node_.query.params.idf_corpus;
    if (named != nullptr || node_.filter == nullptr) return named;
    return tenant_filter(*node_.filter, environment.config.indexes);
  }

  [[nodiscard]] Result<RowsOfSegments> corpus_rows(const SearchEnvironment& environment) const {
    const auto filter = corpus_filter(environment);
    PredicatePtr predicate;
    if (filter != nullptr) {
      QV_TRY(predicate, payload::compile(*filter, environment.config.indexes));
    }
    return rows_of(environment, predicate.get());
  }

  /// The live rows that match.
  [[nodiscard]] static Result<RowsOfSegments> rows_of(const SearchEnvironment& environment,
                                                      const payload::Predicate* predicate) {
    RowsOfSegments all;
    for (const Segment* segment : environment.snapshot.segments()) {
      all.emplace_back();
      if (segment->n_deleted == 0 && predicate == nullptr) continue;
      QV_TRY(all.back(), matching_rows(*segment, predicate, environment.cancel));
    }
    return all;
  }

  [[nodiscard]] Result<KeyTexts> texts_of(const SearchEnvironment& environment,
                                          const std::string& key, double boost,
                                          const RowsOfSegments& corpus_rows,
                                          TextCounts* counted) const {
    QV_TRY(const auto* index, scored_index(environment.config, key));
    QV_TRY(const auto columns, columns_of(environment.snapshot, *index));
    auto query = payload::analyze_query({kind_.text, kind_.rules, kind_.expansion},
                                        payload::analyzer_of_thread(index->text), columns);
    const auto& tokens = query.tokens;
    std::vector<payload::Occurrences> occurrences;
    payload::CorpusStatistics corpus;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      QV_TRY(environment.cancel.check());
      occurrences.emplace_back(columns[i], tokens.texts);
      corpus.add(occurrences.back(), corpus_rows[i] ? &*corpus_rows[i] : nullptr);
    }
    corpus.n_with_token.resize(tokens.texts.size(), 0);
    if (counted != nullptr) *counted = counts_of(corpus, tokens);
    if (node_.query.params.counts != nullptr) {
      corpus = known_counts(*node_.query.params.counts, key, tokens);
    }
    corpus.unite(tokens);
    const payload::Bm25 bm25(tokens, corpus, kind_.params, boost);
    return KeyTexts{std::move(query), std::move(occurrences), bm25};
  }

  [[nodiscard]] static TextCounts counts_of(const payload::CorpusStatistics& corpus,
                                            const payload::QueryTokens& tokens) {
    TextCounts counts{corpus.n_texts, corpus.n_tokens, {}};
    for (std::size_t i = 0; i < tokens.texts.size(); ++i) {
      counts.tokens[tokens.texts[i]] = {corpus.n_with_token[i], tokens.texts[tokens.origins[i]]};
    }
    return counts;
  }

  /// A word that resembles a token is as frequent as the most frequent of all that do, also if
  /// those are in other parts of the collection.
  [[nodiscard]] static payload::CorpusStatistics known_counts(const CorpusCounts& counts,
                                                              const std::string& key,
                                                              const payload::QueryTokens& tokens) {
    payload::CorpusStatistics corpus;
    corpus.n_with_token.resize(tokens.texts.size(), 0);
    const auto known = counts.of_key.find(key);
    if (known == counts.of_key.end()) return corpus;
    corpus.n_texts = known->second.n_texts;
    corpus.n_tokens = known->second.n_tokens;
    for (const auto& [text, token] : known->second.tokens) {
      const std::size_t origin = tokens.find(token.origin);
      if (origin == payload::QueryTokens::kNone) continue;
      auto& n = corpus.n_with_token[origin];
      n = std::max(n, token.n_texts);
    }
    return corpus;
  }

  /// The keys as they are in segment `i`.
  [[nodiscard]] static std::vector<payload::ScoredTexts> in_segment(
      const std::vector<KeyTexts>& keys, std::size_t i) {
    std::vector<payload::ScoredTexts> scored;
    for (const auto& key : keys) scored.push_back({key.occurrences[i], key.bm25});
    return scored;
  }

  /// The rows of segment `i` with the words that the query demands; nullopt: all rows.
  [[nodiscard]] std::optional<Bitset> by_rules(const std::vector<KeyTexts>& keys,
                                               std::size_t i) const {
    if (kind_.rules.empty()) return std::nullopt;
    std::vector<payload::RuledTexts> ruled;
    for (const auto& key : keys) ruled.push_back({key.query, key.occurrences[i]});
    return payload::rows_by_rules(ruled, keys.front().occurrences[i].column().n_rows);
  }

  [[nodiscard]] Result<> search_all(const SearchEnvironment& environment,
                                    const std::vector<KeyTexts>& keys, const RowsOfSegments& corpus,
                                    BestHits& hits) const {
    QV_TRY(const auto predicate, compile_filter(node_, environment));
    const bool is_corpus = predicate == nullptr && node_.query.params.idf_corpus == nullptr;
    RowsOfSegments matching;
    if (!is_corpus) {
      QV_TRY(matching, rows_of(environment, predicate.get()));
    }
    const auto& rows = is_corpus ? corpus : matching;
    const auto& segments = environment.snapshot.segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      SegmentSink sink(*segments[i], hits);
      auto within = by_rules(keys, i);
      if (within && rows[i]) *within &= *rows[i];
      const auto& allowed = within ? within : rows[i];
      QV_TRY(payload::search_texts(in_segment(keys, i), allowed ? &*allowed : nullptr, sink,
                                   environment.cancel));
    }
    return {};
  }

  /// Scores what the prefetches found.
  [[nodiscard]] Result<> search_inputs(const SearchEnvironment& environment,
                                       const std::vector<KeyTexts>& keys, BestHits& hits) const {
    QV_TRY(const auto rankings, run_inputs(node_, environment));
    struct Scored {
      std::vector<payload::ScoredTexts> keys;
      std::optional<Bitset> allowed;
    };
    std::unordered_map<const Segment*, Scored> scored;
    const auto& segments = environment.snapshot.segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      scored.emplace(segments[i], Scored{in_segment(keys, i), by_rules(keys, i)});
    }
    for (auto& candidate : union_of(rankings)) {
      QV_TRY(environment.cancel.check());
      const auto& [texts, allowed] = scored.at(candidate.segment);
      if (allowed && !allowed->test(candidate.row)) continue;
      candidate.score = payload::score_row(texts, candidate.row);
      if (candidate.score > 0) hits.offer(candidate);
    }
    return {};
  }

  const TextMatch& kind_;
  const PlanNode node_;
};

}  // namespace

Result<CorpusCounts> count_texts(const SearchEnvironment& environment, const Query& query) {
  const auto& text = std::get<TextMatch>(query.kind);
  FilterPtr filter(FilterPtr(), query.filter ? &*query.filter : nullptr);
  if (!environment.config.text_vectors.contains(query.using_field)) {
    return TextStage(text, PlanNode{query, std::move(filter), 0, {}}).count(environment);
  }
  Query as_vector = query;
  const auto& model = environment.config.text_vectors.at(query.using_field).model;
  auto made = payload::text_vector(model, text.text, payload::TokenUse::kQuery);
  as_vector.kind =
      Nearest{VectorValue(SparseVector{std::move(made.indices), std::move(made.values)})};
  return count_indices(environment, as_vector);
}

StagePtr make_stage(const TextMatch& kind, PlanNode node) {
  const Query& query = node.query;
  return with_threshold(query, std::make_unique<TextStage>(kind, std::move(node)));
}

}  // namespace quiver::engine
