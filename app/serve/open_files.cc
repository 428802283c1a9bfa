#include "app/serve/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "base/observe/log.h"

namespace quiver::app {
namespace {

/// Files of one busy shard: RocksDB's tables (`max_open_files` of storage/rows/runtime.h), its log,
/// files being written; also event loops and standard streams.
constexpr std::uint64_t kMinFilesForStorage = 192;
/// Kept even if storage then has too few files, so that the server can answer.
constexpr std::uint64_t kMinConnections = 16;

}  // namespace

std::uint64_t raise_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<std::uint64_t>::max();
  const rlim_t soft = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (soft == limit.rlim_max || setrlimit(RLIMIT_NOFILE, &limit) == 0) return limit.rlim_cur;
  log_warning("cannot raise the limit of open files from {} to {}", soft, limit.rlim_max);
  return soft;
}

std::uint32_t connections_within(std::uint64_t max_open_files, std::uint32_t wanted) {
  const std::uint64_t kept = std::max(max_open_files / 2, kMinFilesForStorage);
  const std::uint64_t left = max_open_files > kept ? max_open_files - kept : 0;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(wanted, std::max(left, kMinConnections)));
}

}  // namespace quiver::app
