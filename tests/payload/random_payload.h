// Random documents and filters over few keys and values, so that they often match.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "payload/filter.h"
#include "payload/json/document.h"
#include "payload/schema.h"

namespace quiver::payload {

class RandomPayload {
 public:
  explicit RandomPayload(std::uint64_t seed) : random_(seed) {}

  /// An object with some of the keys a, b, c, nested objects under o and arrays of objects under r.
  [[nodiscard]] Value document();
  [[nodiscard]] Filter filter(int depth = 2);
  [[nodiscard]] ValueCondition condition();
  [[nodiscard]] std::string key();
  /// Any index on one of the keys that `key` returns.
  [[nodiscard]] FieldIndex index();

  [[nodiscard]] int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  [[nodiscard]] bool chance(double p) { return std::uniform_real_distribution<>()(random_) < p; }

 private:
  [[nodiscard]] Value scalar();
  [[nodiscard]] Value value();
  [[nodiscard]] Value object(int depth);
  [[nodiscard]] std::string text();
  [[nodiscard]] std::string word();
  [[nodiscard]] std::string datetime();
  [[nodiscard]] std::string uuid();
  [[nodiscard]] std::int64_t integer();
  [[nodiscard]] Number number();
  [[nodiscard]] GeoPoint point();
  [[nodiscard]] std::vector<MatchScalar> scalars();
  [[nodiscard]] std::string some_string();
  [[nodiscard]] Condition condition(int depth);
  [[nodiscard]] std::vector<Condition> conditions(int depth, double p);

  std::mt19937_64 random_;
};

}  // namespace quiver::payload
