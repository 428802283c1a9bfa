// Makes the attributes of a segment from its documents.
#pragma once

#include <cstdint>
#include <memory>

#include "payload/attribute/attribute.h"
#include "payload/json/document.h"

namespace quiver::payload {

/// What attributes may cost.
struct AttributeLimits {
  std::uint32_t max_paths = 64;
  std::uint32_t max_depth = 8;  ///< keys in a path
  std::uint64_t max_bytes = 0;  ///< of all attributes together
};

/// Documents are added in the order of the rows. One thread.
class AttributeBuilder {
 public:
  explicit AttributeBuilder(const AttributeLimits& limits);
  ~AttributeBuilder();
  AttributeBuilder(const AttributeBuilder&) = delete;
  AttributeBuilder& operator=(const AttributeBuilder&) = delete;

  void add(const Value& document);
  /// The attributes of all rows added. The cheapest are kept first. Call once.
  [[nodiscard]] AttributeSet finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quiver::payload
