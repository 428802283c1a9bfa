// What a check of a data directory finds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quiver::engine {

enum class Severity : std::uint8_t {
  kLoss,      ///< the server refuses the collection or the start; a repair is needed
  kRebuilt,   ///< damage that the server repairs by itself when it opens the collection
  kMissing,   ///< the server makes it, or did not need it: no damage
  kLeftover,  ///< belongs to nothing; nobody reads it
};
/// "loss", "rebuilt", "missing", "leftover".
[[nodiscard]] std::string_view to_string(Severity severity);

struct Finding {
  Severity severity = Severity::kLoss;
  std::string path;  ///< of the file or directory, below the data directory
  std::string problem;
  std::string remedy;  ///< what to do, or what the server does
};

/// One shard, as far as it could be read.
struct ShardCounts {
  std::string collection;
  std::uint32_t shard = 0;
  std::uint64_t n_rows = 0;         ///< points in the store
  std::uint64_t n_in_segments = 0;  ///< live rows of sealed segments
  std::uint64_t n_unsealed = 0;     ///< points changed since the last seal
  std::uint64_t n_segments = 0;     ///< segments whose rows are sound
  std::uint64_t n_files = 0;        ///< files of segments that were read whole
  std::uint64_t bytes = 0;          ///< of all files of the shard
};

struct CheckReport {
  std::vector<ShardCounts> shards;
  std::vector<Finding> findings;
  std::uint64_t n_snapshots = 0;     ///< snapshots whose files were read whole
  std::vector<std::string> repairs;  ///< what was repaired, one line each

  /// True if there is damage.
  [[nodiscard]] bool is_damaged() const;
  void add(Severity severity, std::string path, std::string problem, std::string remedy) {
    findings.push_back({severity, std::move(path), std::move(problem), std::move(remedy)});
  }
};

}  // namespace quiver::engine
