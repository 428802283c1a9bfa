// The requests of the load generator, with their JSON bodies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bench/load/load.h"
#include "dataset/vectors.h"
#include "service/client/http.h"

namespace quiver::bench {

/// Body of POST /collections/{c}/points/query for row `i` of `queries`.
[[nodiscard]] std::string query_body(const LoadOptions& options, const dataset::Vectors& queries,
                                     std::size_t i);

/// The whole request for that query: head and body.
[[nodiscard]] std::string query_request(const client::Endpoint& endpoint,
                                        const LoadOptions& options, const dataset::Vectors& queries,
                                        std::size_t i);

/// Body of PUT /collections/{c}/points, written point by point.
class UpsertBody {
 public:
  /// An empty `vector_name` means the unnamed vector.
  explicit UpsertBody(std::string_view vector_name) : vector_name_(vector_name) {}

  /// `payload` is a JSON object, or empty for none.
  void add(std::uint64_t id, std::span<const float> vector, std::string_view payload);
  /// Returns the whole body and starts a new one.
  [[nodiscard]] std::string finish();

 private:
  std::string vector_name_;
  std::string text_;
};

}  // namespace quiver::bench
