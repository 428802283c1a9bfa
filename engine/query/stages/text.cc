// Points by the words of a payload field: BM25 over the columns of a text index.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/query/stages/stages.h"
#include "engine/segment/columns.h"
#include "engine/segment/segment_rows.h"
#include "payload/bm25/bm25.h"
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
  static bool is_better(const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  }

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

/// One segment with the words of the query.
struct SegmentTexts {
  const Segment* segment;
  payload::Occurrences occurrences;
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

Result<std::vector<SegmentTexts>> texts_of(const Snapshot& snapshot, const std::string& key,
                                           const payload::QueryTokens& tokens) {
  std::vector<SegmentTexts> texts;
  for (const Segment* segment : snapshot.segments()) {
    const auto column = segment->data->columns.find(key);
    if (column == segment->data->columns.end() || !column->second.index->scoring) {
      return fail(Code::kUnavailable, fmt::format("the index of `{}` is still being built", key));
    }
    texts.push_back({segment, payload::Occurrences(column->second, tokens.texts)});
  }
  return texts;
}

class TextStage final : public PlanStage {
 public:
  TextStage(const TextMatch& kind, PlanNode node) : kind_(kind), node_(std::move(node)) {}

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    const std::string& key = node_.query.using_field;
    QV_TRY(const auto* index, scored_index(environment.config, key));
    const auto tokens = payload::QueryTokens::of(
        payload::analyzer_of_thread(index->text).tokens(kind_.text, payload::TokenUse::kQuery));
    QV_TRY(const auto texts, texts_of(environment.snapshot, key, tokens));
    QV_TRY(const auto corpus, statistics(environment, texts));
    const payload::Bm25 bm25(tokens, corpus, kind_.params);
    BestHits hits(node_.limit);
    QV_TRY(node_.inputs.empty() ? search_all(environment, texts, bm25, hits)
                                : search_inputs(environment, texts, bm25, hits));
    return Ranking{hits.take()};
  }

 private:
  /// Over the live points, or those of the corpus that the query names.
  [[nodiscard]] Result<payload::CorpusStatistics> statistics(
      const SearchEnvironment& environment, const std::vector<SegmentTexts>& texts) const {
    const auto& corpus_filter = node_.query.params.idf_corpus;
    PredicatePtr predicate;
    if (corpus_filter != nullptr) {
      QV_TRY(predicate, payload::compile(*corpus_filter, environment.config.indexes));
    }
    payload::CorpusStatistics corpus;
    for (const auto& [segment, occurrences] : texts) {
      QV_TRY(const auto rows, rows_of(*segment, predicate.get(), environment.cancel));
      corpus.add(occurrences, rows ? &*rows : nullptr);
    }
    return corpus;
  }

  /// The live rows that match; nullopt: all rows.
  [[nodiscard]] static Result<std::optional<Bitset>> rows_of(const Segment& segment,
                                                             const payload::Predicate* predicate,
                                                             const Cancel& cancel) {
    if (segment.n_deleted == 0 && predicate == nullptr) return std::optional<Bitset>();
    QV_TRY(auto rows, matching_rows(segment, predicate, cancel));
    return std::optional<Bitset>(std::move(rows));
  }

  [[nodiscard]] Result<> search_all(const SearchEnvironment& environment,
                                    const std::vector<SegmentTexts>& texts,
                                    const payload::Bm25& bm25, BestHits& hits) const {
    QV_TRY(const auto predicate, compile_filter(node_, environment));
    for (const auto& [segment, occurrences] : texts) {
      QV_TRY(const auto rows, rows_of(*segment, predicate.get(), environment.cancel));
      SegmentSink sink(*segment, hits);
      QV_TRY(payload::search_texts(occurrences, bm25, rows ? &*rows : nullptr, sink,
                                   environment.cancel));
    }
    return {};
  }

  /// Scores what the prefetches found.
  [[nodiscard]] Result<> search_inputs(const SearchEnvironment& environment,
                                       const std::vector<SegmentTexts>& texts,
                                       const payload::Bm25& bm25, BestHits& hits) const {
    QV_TRY(const auto rankings, run_inputs(node_, environment));
    std::unordered_map<const Segment*, const payload::Occurrences*> occurrences;
    for (const auto& text : texts) occurrences.emplace(text.segment, &text.occurrences);
    for (auto& candidate : union_of(rankings)) {
      QV_TRY(environment.cancel.check());
      candidate.score = bm25.score(*occurrences.at(candidate.segment), candidate.row);
      if (candidate.score > 0) hits.offer(candidate);
    }
    return {};
  }

  const TextMatch& kind_;
  const PlanNode node_;
};

}  // namespace

StagePtr make_stage(const TextMatch& kind, PlanNode node) {
  const Query& query = node.query;
  return with_threshold(query, std::make_unique<TextStage>(kind, std::move(node)));
}

}  // namespace quiver::engine
