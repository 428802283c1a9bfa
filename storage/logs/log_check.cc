#include "storage/logs/log_check.h"

#include <fmt/format.h>
#include <rocksdb/env.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "storage/logs/log_records.h"
#include "storage/logs/rocksdb_status.h"

namespace quiver::storage {
namespace {

constexpr std::string_view kManifestPrefix = "MANIFEST-";
constexpr std::string_view kLogSuffix = ".log";
/// Bytes before the changes of a batch: sequence number of the first change (u64), number of
/// changes (u32).
constexpr std::size_t kBatchHeadBytes = 12;

tl::unexpected<Error> damaged_store(const std::string& path, std::string_view what) {
  return fail(Code::kDataLoss, fmt::format("`{}` is damaged: {}; it was not opened and nothing was "
                                           "changed",
                                           path, what));
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Makes the contents of a damaged file safe to print.
std::string printable(std::string_view text) {
  std::string shown(text.substr(0, 40));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

std::string log_name(std::uint64_t number) { return fmt::format("{:06}{}", number, kLogSuffix); }

/// The number of the manifest that `CURRENT` names; nullopt if there is no `CURRENT`.
Result<std::optional<std::uint64_t>> current_manifest(rocksdb::Env& env, const std::string& store) {
  if (!env.FileExists(store + "/CURRENT").ok()) return std::optional<std::uint64_t>();
  std::string text;
  QV_TRY(to_result(rocksdb::ReadFileToString(&env, store + "/CURRENT", &text), "read", store));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::optional<std::uint64_t> number;
  if (text.starts_with(kManifestPrefix)) {
    number = parse_number(std::string_view(text).substr(kManifestPrefix.size()));
  }
  if (!number) {
    return damaged_store(store, fmt::format("its file CURRENT holds \"{}\"", printable(text)));
  }
  return number;
}

/// Numbers of the store's logs, ascending.
Result<std::vector<std::uint64_t>> log_numbers(rocksdb::Env& env, const std::string& store) {
  std::vector<std::string> files;
  QV_TRY(to_result(env.GetChildren(store, &files), "list", store));
  std::vector<std::uint64_t> numbers;
  for (std::string_view file : files) {
    if (!file.ends_with(kLogSuffix)) continue;
    file.remove_suffix(kLogSuffix.size());
    if (const auto number = parse_number(file)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<> check_size(const std::string& store, std::string_view file, std::uint64_t found,
                    std::uint64_t synced) {
  if (found >= synced) return {};
  return damaged_store(store, fmt::format("{} is sound up to byte {}, but was synced up to byte {}",
                                          file, found, synced));
}

Result<> check_scan(const std::string& store, std::string_view file, const LogScan& scan) {
  if (!scan.damaged_at || scan.n_behind == 0) return {};
  return damaged_store(store,
                       fmt::format("{} cannot be read at byte {}, and {} records follow, so that "
                                   "this is no torn end",
                                   file, *scan.damaged_at, scan.n_behind));
}

Result<> check_manifest_number(const std::string& store, std::uint64_t current,
                               const SyncedState& synced) {
  if (current >= synced.manifest) return {};
  return damaged_store(
      store, fmt::format("CURRENT names the manifest {}, older than the manifest {} that was "
                         "synced",
                         current, synced.manifest));
}

/// Checks that sequence numbers continue from log to log.
class LogChain {
 public:
  LogChain(rocksdb::Env& env, const std::string& store) : env_(env), store_(store) {}

  Result<> add(std::uint64_t number, const std::optional<SyncedState>& synced) {
    const std::string file = log_name(number);
    std::optional<std::uint64_t> first;
    QV_TRY(const LogScan scan, scan_log(env_, fmt::format("{}/{}", store_, file),
                                        [&](std::string_view batch, bool behind_damage) {
                                          if (behind_damage || batch.size() < kBatchHeadBytes)
                                            return;
                                          const auto sequence = note(batch);
                                          if (!first) first = sequence;
                                        }));
    QV_TRY(check_scan(store_, file, scan));
    if (synced && synced->log == number) {
      QV_TRY(check_size(store_, file, scan.sound_bytes, synced->log_bytes));
    }
    QV_TRY(check_gap(file, first));
    if (scan.damaged_at) torn_ = file;
    end_ = next_;
    return {};
  }

 private:
  /// Records a batch and returns the sequence number of its first change.
  std::uint64_t note(std::string_view batch) {
    std::uint64_t sequence = 0;
    std::uint32_t n_changes = 0;
    std::memcpy(&sequence, batch.data(), sizeof(sequence));
    std::memcpy(&n_changes, batch.data() + sizeof(sequence), sizeof(n_changes));
    next_ = sequence + n_changes;
    return sequence;
  }

  /// kDataLoss if changes are missing after a log with a torn end. The next log must continue where
  /// the sound part ended, because torn changes had no sequence number yet.
  Result<> check_gap(const std::string& file, const std::optional<std::uint64_t>& first) const {
    if (torn_.empty() || !first || end_ == 0 || *first <= end_) return {};
    return damaged_store(store_,
                         fmt::format("{} cannot be read to its end: the changes {} to {} are "
                                     "missing before those of {}",
                                     torn_, end_, *first - 1, file));
  }

  rocksdb::Env& env_;
  const std::string& store_;
  std::string torn_;        ///< last log that cannot be read to its end
  std::uint64_t next_ = 0;  ///< sequence number after the last change read; 0 before any
  std::uint64_t end_ = 0;   ///< `next_` before the current log
};

}  // namespace

Result<> check_manifest(rocksdb::Env& env, const std::string& store,
                        const std::optional<SyncedState>& synced) {
  QV_TRY(const auto number, current_manifest(env, store));
  if (!number) return {};
  const std::string file = fmt::format("{}{:06}", kManifestPrefix, *number);
  auto scan = scan_log(env, fmt::format("{}/{}", store, file), nullptr);
  if (!scan) {
    if (scan.error().code() != Code::kNotFound) return fail(std::move(scan).error());
    return damaged_store(store, fmt::format("{}, which CURRENT names, is missing", file));
  }
  QV_TRY(check_scan(store, file, *scan));
  if (!synced) return {};
  QV_TRY(check_manifest_number(store, *number, *synced));
  return *number == synced->manifest
             ? check_size(store, file, scan->sound_bytes, synced->manifest_bytes)
             : Result<>();
}

Result<std::vector<std::string>> log_files(rocksdb::Env& env, const std::string& store) {
  QV_TRY(const auto numbers, log_numbers(env, store));
  std::vector<std::string> names;
  for (const std::uint64_t number : numbers) names.push_back(log_name(number));
  return names;
}

bool has_log(rocksdb::Env& env, const std::string& store, std::uint64_t number) {
  return env.FileExists(fmt::format("{}/{}", store, log_name(number))).ok();
}

Result<> check_sizes(rocksdb::Env& env, const std::string& store, const SyncedState& synced) {
  std::uint64_t size = 0;
  const std::string log = log_name(synced.log);
  if (env.GetFileSize(fmt::format("{}/{}", store, log), &size).ok()) {
    QV_TRY(check_size(store, log, size, synced.log_bytes));
  }
  QV_TRY(const auto number, current_manifest(env, store));
  if (!number) return {};
  QV_TRY(check_manifest_number(store, *number, synced));
  const std::string manifest = fmt::format("{}{:06}", kManifestPrefix, *number);
  if (*number == synced.manifest &&
      env.GetFileSize(fmt::format("{}/{}", store, manifest), &size).ok()) {
    QV_TRY(check_size(store, manifest, size, synced.manifest_bytes));
  }
  return {};
}

Result<> check_logs(rocksdb::Env& env, const std::string& store,
                    const std::optional<SyncedState>& synced) {
  QV_TRY(check_manifest(env, store, synced));
  QV_TRY(const auto numbers, log_numbers(env, store));
  LogChain chain(env, store);
  for (const std::uint64_t number : numbers) QV_TRY(chain.add(number, synced));
  return {};
}

}  // namespace quiver::storage
