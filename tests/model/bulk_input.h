// Points as a bulk chunk, with the memory that the chunk borrows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/bulk.h"
#include "engine/model/config.h"
#include "engine/model/operation.h"

namespace quiver::model {

class OwnedChunk {
 public:
  OwnedChunk(const engine::CollectionConfig& config, std::vector<engine::PointInput> points,
             std::optional<std::string> cursor = std::nullopt);

  /// Valid while this object lives.
  [[nodiscard]] engine::BulkChunk view() const;

 private:
  /// The vectors of one field. Members that its kind does not use stay empty.
  struct Field {
    FieldSchema schema;
    std::vector<std::uint8_t> present;
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> indices;
    std::vector<float> values;
  };
  void add(Field& field, const engine::PointInput& point);

  std::vector<engine::PointInput> points_;
  std::optional<std::string> cursor_;
  std::vector<PointId> ids_;
  std::vector<std::string_view> payloads_;
  std::vector<Field> fields_;
};

}  // namespace quiver::model
