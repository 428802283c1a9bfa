// `quiver advise`: measures ways to keep and index the user's own vectors and says which one suits.
// docs/embeddings-storage.md explains the output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "dataset/vectors.h"

namespace quiver::bench {

struct AdviseOptions {
  std::string base;               ///< source of dense vectors (dataset/vectors.h)
  std::string queries;            ///< source of queries; empty: rows are held out
  std::string metric = "cosine";  ///< or dot, euclid
  std::uint32_t k = 10;
  std::optional<double> recall;     ///< least recall, in (0, 1]; .95 if no limit is given
  std::optional<double> max_bytes;  ///< most bytes of a vector, row and index
  double min_qps = 1000;            ///< least searches a second on one thread
  std::uint32_t sample = 20'000;    ///< rows on which all ways are tried
  double seconds = 90;              ///< time after which no further way is begun
  std::string json;                 ///< file for all figures
  std::string svg;                  ///< file for the plot
  std::string field;                ///< vector name in the printed requests
  std::string data;                 ///< name of the data in reports; empty: `base`
  std::string cache;                ///< directory for truth and indexes, as for `quiver bench ann`
  std::uint64_t seed = 1;
};

/// Checks the flags without reading files.
[[nodiscard]] Result<> check_usage(const AdviseOptions& options);

/// Measures and prints the advice. Success also if no way meets the limits: the output says so.
/// `rows`: dense vectors that `options.base` names but that are not read from there.
[[nodiscard]] Result<> run_advise(const AdviseOptions& options,
                                  std::optional<dataset::Vectors> rows = {});

}  // namespace quiver::bench
