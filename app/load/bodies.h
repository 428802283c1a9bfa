// The JSON bodies that the load generator sends, and what is sent around them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "app/client/http.h"
#include "app/load/load.h"
#include "dataset/vectors.h"

namespace quiver::app {

/// Of POST /collections/{c}/points/query, for row `i` of `queries`.
[[nodiscard]] std::string query_body(const LoadOptions& options, const dataset::Vectors& queries,
                                     std::size_t i);

/// That query as a whole request.
[[nodiscard]] std::string query_request(const Endpoint& endpoint, const LoadOptions& options,
                                        const dataset::Vectors& queries, std::size_t i);

/// Of PUT /collections/{c}/points, point by point.
class UpsertBody {
 public:
  /// `vector_name` empty: the unnamed vector.
  explicit UpsertBody(std::string_view vector_name) : vector_name_(vector_name) {}

  /// `payload` is a JSON object, or empty for none.
  void add(std::uint64_t id, std::span<const float> vector, std::string_view payload);
  /// The whole body; begins a new one.
  [[nodiscard]] std::string finish();

 private:
  std::string vector_name_;
  std::string text_;
};

}  // namespace quiver::app
