// A collection whose shards are collections of their own, here or on other machines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/threads/executor.h"
#include "engine/collection.h"

namespace quiver::engine {

/// A hash of a point's id picks its part, as it picks the shard of a collection on one machine. The
/// answers are those of one collection with all points, but each part is read at a moment of its
/// own.
///
/// A request over several parts is whole in each of them; a failure may leave it in some.
class SpreadCollection final : public Collection {
 public:
  /// `parts`: at least one, alike but for their points. `executor`: its threads wait for parts, so
  /// it should be for nothing else; outlives this.
  SpreadCollection(std::vector<std::shared_ptr<Collection>> parts, Executor& executor)
      : parts_(std::move(parts)), executor_(executor) {}

  /// Of the first part; `shard_number` counts the parts.
  [[nodiscard]] std::shared_ptr<const CollectionConfig> config() const override;
  /// Sums; the health is that of the worst part.
  [[nodiscard]] CollectionInfo info() const override;
  [[nodiscard]] OptimizationReport optimizations() const override;
  [[nodiscard]] std::vector<SegmentIndexInfo> segment_indexes() const override;
  [[nodiscard]] std::vector<SegmentAttributesInfo> segment_attributes() const override;
  [[nodiscard]] std::vector<ShardInfo> shards() const override;

  Result<> update(std::vector<Operation> operations, const UpdateTerms& terms,
                  std::function<void(Result<std::vector<UpdateResult>>)> done) override;

  [[nodiscard]] std::shared_ptr<const PlannedQuery> plan(Query query) const override;
  [[nodiscard]] Result<std::vector<Record>> query(const Query& query,
                                                  const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<std::vector<Record>>> query_batch(
      std::span<const Query> queries, const Cancel& cancel) const override;
  [[nodiscard]] Result<CorpusCounts> count_terms(const Query& query,
                                                 const Cancel& cancel) const override;
  [[nodiscard]] Result<FoundPoints> find(const Query& search, RowParts wanted,
                                         const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<Record>> retrieve(const RetrieveRequest& request) const override;
  [[nodiscard]] Result<std::vector<Explanation>> explain(const ExplainRequest& request,
                                                         const Cancel& cancel) const override;
  [[nodiscard]] Result<ScrollPage> scroll(const ScrollRequest& request,
                                          const Cancel& cancel) const override;
  [[nodiscard]] Result<std::uint64_t> count(const CountRequest& request,
                                            const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<PointGroup>> groups(const GroupsQuery& query,
                                                       const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<FacetHit>> facet(const FacetRequest& request,
                                                    const Cancel& cancel) const override;
  [[nodiscard]] Result<std::vector<Aggregate>> aggregate(const AggregateRequest& request,
                                                         const Cancel& cancel) const override;
  [[nodiscard]] Result<DistanceMatrix> distance_matrix(const MatrixRequest& request,
                                                       const Cancel& cancel) const override;

  [[nodiscard]] bool waits() const override { return true; }

  /// The first part decides; the others follow it.
  Result<> create_index(const payload::FieldIndex& index, Ack ack) override;
  Result<bool> drop_index(const std::string& key) override;
  /// kFailedPrecondition, as the next one.
  Result<> create_shard_key(const ShardKeyCreation& creation) override;
  Result<> drop_shard_key(const ShardKey& key) override;

 private:
  class Planned;

  /// `ask(part)` of all parts at a time, in their order; the first error.
  template <class Ask>
  [[nodiscard]] auto ask_all(Ask ask) const
      -> Result<std::vector<typename std::invoke_result_t<Ask, Collection&>::value_type>>;
  /// What all parts report of themselves, asked at a time.
  template <class Ask>
  [[nodiscard]] auto reports(Ask ask) const
      -> std::vector<std::invoke_result_t<Ask, const Collection&>>;
  /// Replaces ids in place of vectors by the vectors of these points.
  [[nodiscard]] Result<> resolve_ids(Query& query, const ShardSelector& shards) const;
  [[nodiscard]] Result<> add_term_counts(Query& query, const CollectionConfig& config,
                                         const Cancel& cancel) const;
  using Counts = std::shared_ptr<const CorpusCounts>;
  [[nodiscard]] Result<Counts> counts_for(const FoundPoints& sample, const std::string& using_field,
                                          const CollectionConfig& config,
                                          const Cancel& cancel) const;
  /// For each of `searches` what all parts found.
  [[nodiscard]] Result<std::vector<FoundPoints>> gather(const std::vector<Query>& searches,
                                                        RowParts wanted,
                                                        const Cancel& cancel) const;

  const std::vector<std::shared_ptr<Collection>> parts_;
  Executor& executor_;
};

}  // namespace quiver::engine
