// Parameters of the index type `osq`: those of SQUASH (arXiv 2502.01528), with its defaults.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/params.h"
#include "base/result.h"

namespace quiver::index::dense::osq {

struct OsqBuildParams {
  static constexpr std::string_view kWhat = "build parameters of `osq`";
  /// Bits per dimension on average (b / D in the paper). A dimension has 0 to 8, by its variance.
  double bits = 4;
  /// Number of partitions (P). 0: 10, or fewer if each would have less than 80 rows a dimension.
  std::uint32_t partitions = 0;
  /// Which signs the 1-bit codes hold. `mixed`: of the centred row after a random rotation.
  /// `principal`: of its principal coordinates; most of them have little variance, and their signs
  /// hide those of the others.
  std::string signs = "mixed";
  /// Largest difference of a partition's size from the mean, as a share of it.
  double balance = 0.1;
  /// Largest number of rounds of k-means.
  std::uint32_t iterations = 30;
  /// k-means ends when centroids move by less than this share of the rows' variance.
  double tolerance = 1e-4;
  /// Largest number of rounds that improve the cells of a dimension.
  std::uint32_t lloyd_iterations = 250;
  /// The rounds end when the error falls by less than this share.
  double lloyd_tolerance = 0.005;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("bits", &OsqBuildParams::bits, {.min = 0.25, .max = 8}));
    v(field("partitions", &OsqBuildParams::partitions, {.min = 0, .max = 256}));
    v(field("signs", &OsqBuildParams::signs));
    v(field("balance", &OsqBuildParams::balance, {.min = 0.01, .max = 1}));
    v(field("iterations", &OsqBuildParams::iterations, {.min = 1, .max = 1000}));
    v(field("tolerance", &OsqBuildParams::tolerance, {.min = 0, .max = 1}));
    v(field("lloyd_iterations", &OsqBuildParams::lloyd_iterations, {.min = 0, .max = 10000}));
    v(field("lloyd_tolerance", &OsqBuildParams::lloyd_tolerance, {.min = 0, .max = 1}));
  }
};

struct OsqSearchParams {
  static constexpr std::string_view kWhat = "search parameters of `osq`";
  /// `hamming`: 1-bit codes choose the rows whose bounds are computed (approx_bqlb in the paper's
  /// code). `bounds`: bounds of all allowed rows (approx_lb). `exact`: all partitions, all bounds;
  /// as many exact scores as the bounds cannot rule out.
  std::string precision = "hamming";
  /// Partitions within so many times the distance of the nearest are searched (T).
  double distance_factor = 1.15;
  /// Percentage of a partition's allowed rows that 1-bit codes keep (H_perc).
  double hamming_percent = 10;
  /// Rows of a partition that are scored exactly, for each of the k hits (R).
  double rerank_factor = 2;
  /// Factor on `rerank_factor`.
  double oversampling = 1;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("precision", &OsqSearchParams::precision));
    v(field("distance_factor", &OsqSearchParams::distance_factor, {.min = 1, .max = 1e6}));
    v(field("hamming_percent", &OsqSearchParams::hamming_percent, {.min = 0, .max = 100}));
    v(field("rerank_factor", &OsqSearchParams::rerank_factor, {.min = 1, .max = 1e6}));
    v(field("oversampling", &OsqSearchParams::oversampling, {.min = 1, .max = 1e6}));
  }
};

/// kInvalidArgument unless words are known ones.
[[nodiscard]] Result<> check(const OsqBuildParams& params);
[[nodiscard]] Result<> check(const OsqSearchParams& params);

}  // namespace quiver::index::dense::osq
