// The advice as text for people, as JSON for programs, as a picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/schema.h"
#include "bench/advise/choice.h"
#include "bench/advise/measured.h"
#include "bench/advise/ways.h"

namespace quiver::bench::advise {

/// A row type that cannot hold the vectors.
struct Refused {
  DType dtype = DType::kF32;
  std::string reason;
};

struct Advice {
  std::string data;    ///< name of the rows
  FieldSchema schema;  ///< of the rows as given, f32
  bool held_out = false;
  std::size_t n_rows = 0;  ///< rows that are searched
  std::size_t n_sample = 0;
  std::size_t n_queries = 0;
  std::size_t k = 10;
  Limits limits;
  std::vector<MeasuredWay> ways;     ///< on all rows, not empty
  std::vector<MeasuredWay> sampled;  ///< on the sample
  std::vector<Refused> refused;
  std::size_t n_untried = 0;     ///< ways that were not tried at all for lack of time
  std::size_t n_unfinished = 0;  ///< good ways of the sample that were not measured on all rows
  double seconds = 0;
};

/// The point of each of `ways` that suits the limits best, by number of the way.
[[nodiscard]] std::vector<Point> best_points(std::span<const MeasuredWay> ways,
                                             const Limits& limits);
/// The point that is recommended.
[[nodiscard]] Point best_point(const Advice& advice);
/// Numbers of the ways in the table: those that no smaller one replaces, and the recommended one.
[[nodiscard]] std::vector<std::size_t> front_of(const Advice& advice);

/// What applies a way to a collection, as JSON.
struct Requests {
  std::string create;   ///< body of PUT /collections/{name}
  std::string indexes;  ///< body of PATCH /v1/collections/{name}/indexes; empty: not needed
  std::string search;   ///< `params` of a query; empty: none are needed
};
[[nodiscard]] Requests requests_of(const Advice& advice, const Point& point);

[[nodiscard]] std::string to_text(const Advice& advice);
[[nodiscard]] std::string to_json(const Advice& advice);
/// A picture (SVG 1.1) of bytes against recall; colours show rates.
[[nodiscard]] std::string to_svg(const Advice& advice);

}  // namespace quiver::bench::advise
