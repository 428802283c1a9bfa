// A collection as one map per shard, and its expected answers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model/config.h"
#include "engine/model/query.h"
#include "tests/engine/reference.h"
#include "tests/model/random_input.h"

namespace quiver::model {

class CollectionModel {
 public:
  explicit CollectionModel(engine::CollectionConfig config);

  [[nodiscard]] const engine::CollectionConfig& config() const { return config_; }
  void set_indexes(std::vector<payload::FieldIndex> indexes) {
    config_.indexes = std::move(indexes);
  }
  /// Points have no vectors of new fields, and lose those of dropped ones.
  void set_fields(std::vector<FieldSchema> fields);
  [[nodiscard]] std::uint32_t n_shards() const { return config_.shard_number; }
  [[nodiscard]] std::uint32_t shard_of(const PointId& id) const {
    return static_cast<std::uint32_t>(id.hash() % n_shards());
  }
  [[nodiscard]] const engine::testing::Model& shard(std::uint32_t i) const {
    return shards_[i].model();
  }

  /// Shards with operations of the request.
  [[nodiscard]] std::vector<bool> touched(const Request& request) const;
  /// Applies the request to one shard, whole or not at all. False if that shard refuses it.
  bool apply_to_shard(const Request& request, std::uint32_t shard);
  /// Applies the request to all shards. False if some shard refuses its part.
  bool apply(const Request& request);

  /// Every point, ascending by id.
  [[nodiscard]] engine::testing::Model points() const;
  [[nodiscard]] std::vector<PointId> matching(const std::optional<payload::Filter>& filter) const;
  struct Hit {
    PointId id;
    float score = 0;
  };
  /// nullopt stands for an error: the point or its vector does not exist.
  [[nodiscard]] std::optional<std::vector<Hit>> nearest(const engine::Query& query) const;
  /// The answer to a text query by BM25. nullopt: no index ranks one of its keys.
  [[nodiscard]] std::optional<std::vector<Hit>> texts(const engine::Query& query) const;

 private:
  [[nodiscard]] std::vector<engine::PreparedOperation> part(const Request& request,
                                                            std::uint32_t shard) const;
  [[nodiscard]] std::optional<engine::VectorValue> query_vector(
      const engine::Nearest& nearest, std::size_t field,
      const engine::testing::Model& points) const;
  void weigh_by_idf(engine::SparseVector& query, std::size_t field,
                    const engine::testing::Model& points) const;

  engine::CollectionConfig config_;
  std::vector<engine::testing::Reference> shards_;
};

}  // namespace quiver::model
