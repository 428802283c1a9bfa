// Points drawn at random.
#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

#include "engine/query/stages/stages.h"
#include "engine/segment/segment_rows.h"

namespace quiver::engine {
namespace {

/// `limit` of `all`, in random order.
Candidates drawn(const Candidates& all, std::uint64_t limit) {
  Candidates chosen;
  std::mt19937_64 random(std::random_device{}());
  // std::sample takes the number as signed and never ends if that is negative.
  const auto n_wanted = std::min<std::uint64_t>(limit, all.size());
  std::sample(all.begin(), all.end(), std::back_inserter(chosen), n_wanted, random);
  std::shuffle(chosen.begin(), chosen.end(), random);
  for (auto& candidate : chosen) candidate.score = 1.0F;
  return chosen;
}

class SampleStage final : public PlanStage {
 public:
  explicit SampleStage(PlanNode node) : node_(std::move(node)) {}

  /// A sample of the snapshot is redrawn for each page. One of prefetches' hits is cut by an offset
  /// as any list is.
  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    Ranking sample;
    sample.is_listing = true;
    sample.is_redrawn = node_.inputs.empty();
    QV_TRY(const auto all, sample.is_redrawn ? of_snapshot(environment) : of_inputs(environment));
    sample.candidates = drawn(all, node_.limit);
    return sample;
  }

 private:
  [[nodiscard]] Result<Candidates> of_inputs(const SearchEnvironment& environment) const {
    QV_TRY(const auto rankings, run_inputs(node_, environment));
    return union_of(rankings);
  }

  [[nodiscard]] Result<Candidates> of_snapshot(const SearchEnvironment& environment) const {
    QV_TRY(const auto predicate, compile_filter(node_, environment));
    Candidates all;
    for (const Segment* segment : environment.snapshot.segments()) {
      QV_TRY(const Bitset rows, matching_rows(*segment, predicate.get(), environment.cancel));
      rows.for_each([&](std::size_t i) {
        const auto row = static_cast<std::uint32_t>(i);
        all.push_back({segment->data->ids[row], 1.0F, segment, row, {}});
      });
    }
    return all;
  }

  const PlanNode node_;
};

}  // namespace

StagePtr make_stage(const Sample& /*kind*/, PlanNode node) {
  const Query& query = node.query;
  return with_threshold(query, std::make_unique<SampleStage>(std::move(node)));
}

}  // namespace quiver::engine
