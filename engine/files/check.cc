#include "engine/files/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/io/file_tree.h"
#include "engine/backup/folder.h"
#include "engine/collections/repair.h"
#include "engine/files/data_directory.h"
#include "engine/files/shard_check.h"
#include "engine/files/verify.h"
#include "engine/model/config.h"

namespace quiver::engine {
namespace {

namespace fs = std::filesystem;
using storage::Catalog;
using storage::CatalogEntry;

/// Names in a data directory that belong there.
constexpr std::string_view kKnownNames[] = {
    "catalog", "catalog.copy",    "LOCK",        "collections", "snapshots",
    "audit",   "snapshot-drafts", "quotas.json", "ledger",      "restores"};

std::string repair_line(const std::string& shard, const ShardRepair& repair) {
  return fmt::format(
      "{}: {} points from rows, {} from logs after the damage, {} from segments, {} in an older "
      "version, {} lost",
      shard, repair.n_from_store, repair.n_from_logs, repair.n_from_segments, repair.n_older,
      repair.n_lost);
}

class Check {
 public:
  Check(const CheckRequest& request, DataDirectory directory)
      : request_(request), directory_(std::move(directory)) {}

  Result<CheckReport> run() {
    QV_TRY(check_catalog());
    if (state_) {
      QV_TRY(check_collections());
    }
    if (request_.collection.empty()) {
      find_strangers();
      check_snapshots();
    }
    return std::move(report_);
  }

 private:
  [[nodiscard]] bool may_repair() const { return request_.repairs == Repairs::kAsked; }

  Result<> check_catalog() {
    ReadCatalog read = directory_.read_catalog();
    state_ = std::move(read.state);
    if (!read.copy_problem.empty()) {
      report_.add(Severity::kRebuilt, std::string(Catalog::kCopyName), read.copy_problem,
                  "the next start of the server writes it again");
    }
    if (read.problem.empty()) return {};
    const bool is_new = !state_ && !directory_.directory().exists(Catalog::kFileName) &&
                        directory_.names_below_collections().empty();
    if (is_new) return {};
    if (!state_) {
      report_.add(Severity::kLoss, std::string(Catalog::kFileName), read.problem,
                  "put it back from a backup: neither it nor catalog.copy can be read");
      return {};
    }
    if (!may_repair()) {
      report_.add(Severity::kLoss, std::string(Catalog::kFileName), read.problem,
                  "`quiver check --repair` takes catalog.copy");
      return {};
    }
    return take_copy();
  }
  /// The damaged catalog stays under another name.
  Result<> take_copy() {
    Directory& directory = directory_.directory();
    QV_TRY(const auto copy, directory.read_file(Catalog::kCopyName));
    if (directory.exists(Catalog::kFileName)) {
      for (int i = 1;; ++i) {
        const std::string name = fmt::format("{}.damaged-{}", Catalog::kFileName, i);
        if (directory.exists(name)) continue;
        QV_TRY(directory.rename_file(Catalog::kFileName, name));
        break;
      }
    }
    QV_TRY(directory.replace_file(Catalog::kFileName, copy));
    report_.repairs.push_back("catalog: taken from catalog.copy");
    return {};
  }

  Result<> check_collections() {
    bool found = request_.collection.empty();
    for (const auto& [name, entry] : state_->collections) {
      if (!request_.collection.empty() && name != request_.collection) continue;
      found = true;
      QV_TRY(check_collection(entry));
    }
    if (found) return {};
    return fail(Code::kNotFound, fmt::format("there is no collection `{}`", request_.collection));
  }
  Result<> check_collection(const CatalogEntry& entry) {
    const std::string shown = fmt::format("{}/{}", Catalog::kCollectionsDirectory, entry.directory);
    const std::string path = fmt::format("{}/{}", directory_.path(), shown);
    const auto config = parse_config(entry.config);
    if (!config) {
      report_.add(Severity::kLoss, std::string(Catalog::kFileName),
                  fmt::format("collection `{}`: {}", entry.name, config.error().message()),
                  "a newer server may know this configuration");
      return {};
    }
    if (!entry.complete) {
      report_.add(Severity::kMissing, shown,
                  fmt::format("the creation of collection `{}` was not finished", entry.name),
                  "the next start finishes it");
      return {};
    }
    for (const std::uint32_t shard : shard_numbers(*config)) {
      QV_TRY(check_shard(entry, *config, path, shown, shard));
    }
    check_beside_shards(*config, path, shown);
    return {};
  }
  Result<> check_shard(const CatalogEntry& entry, const CollectionConfig& config,
                       const std::string& path, const std::string& shown, std::uint32_t shard) {
    const std::string name = fmt::format("shard-{}", shard);
    const ShardPlace place{path + "/" + name, shown + "/" + name, entry.name, shard};
    CheckReport found;
    const bool needs_repair = check_shard_files(place, config, directory_.context(), found);
    if (needs_repair && may_repair()) {
      auto repaired = repair_shard(place.path, config, directory_.context());
      if (repaired) {
        report_.repairs.push_back(repair_line(place.shown, *repaired));
        for (const auto& kept : repaired->kept) report_.repairs.push_back("kept: " + kept);
        found = CheckReport();
        check_shard_files(place, config, directory_.context(), found);
      } else {
        report_.repairs.push_back(
            fmt::format("{}: not repaired: {}", place.shown, repaired.error().message()));
      }
    }
    std::ranges::move(found.shards, std::back_inserter(report_.shards));
    std::ranges::move(found.findings, std::back_inserter(report_.findings));
    return {};
  }

  void check_beside_shards(const CollectionConfig& config, const std::string& path,
                           const std::string& shown) {
    std::set<std::string> known;
    for (const std::uint32_t shard : shard_numbers(config)) {
      known.insert(fmt::format("shard-{}", shard));
    }
    const auto directory = open_existing_directory(path);
    const auto entries = directory ? (*directory)->list() : Result<std::vector<DirectoryEntry>>();
    if (!directory || !entries) return;
    for (const auto& entry : *entries) {
      if (known.contains(entry.name)) continue;
      const std::string name = shown + "/" + entry.name;
      if (entry.name == "jobs" && entry.kind == EntryKind::kDirectory) {
        check_jobs(**directory, name);
      } else if (entry.name == "private" && entry.kind == EntryKind::kDirectory) {
        check_private_sums(**directory, name);
      } else if (!entry.name.starts_with("queries-") || entry.kind != EntryKind::kFile) {
        report_.add(Severity::kLeftover, name, "belongs to nothing", "the server leaves it");
      } else if (const auto fine = verify_file(**directory, entry.name); !fine) {
        report_.add(Severity::kRebuilt, name, fine.error().message(),
                    "the sample of queries starts empty");
      }
    }
  }

  void check_jobs(const Directory& collection, const std::string& shown) {
    const auto directory = collection.open_subdirectory("jobs");
    const auto entries = directory ? (*directory)->list() : Result<std::vector<DirectoryEntry>>();
    if (!directory || !entries) return;
    for (const auto& entry : *entries) {
      if (entry.kind != EntryKind::kFile) continue;
      if (const auto fine = verify_file(**directory, entry.name); !fine) {
        report_.add(Severity::kRebuilt, shown + "/" + entry.name, fine.error().message(),
                    "the server says so when its job is asked for");
      }
    }
  }

  /// Points are served all the same.
  void check_private_sums(const Directory& collection, const std::string& shown) {
    const auto directory = collection.open_subdirectory("private");
    const auto entries = directory ? (*directory)->list() : Result<std::vector<DirectoryEntry>>();
    if (!directory || !entries) return;
    for (const auto& entry : *entries) {
      if (entry.kind != EntryKind::kFile) continue;
      if (const auto fine = verify_file(**directory, entry.name); !fine) {
        report_.add(Severity::kLoss, shown + "/" + entry.name, fine.error().message(),
                    entry.name == "ledger" ? "the server makes and answers no private sums until "
                                             "it is restored"
                                           : "the server says so when that private sum is asked");
      }
    }
  }

  void find_strangers() {
    const auto entries = directory_.directory().list();
    if (!entries) return;
    for (const auto& entry : *entries) {
      if (std::ranges::find(kKnownNames, entry.name) != std::end(kKnownNames)) continue;
      const bool was_put_aside = entry.name.starts_with("catalog.damaged-");
      report_.add(
          Severity::kLeftover, entry.name,
          was_put_aside ? "what a repair put aside" : "no file of Quiver's",
          was_put_aside ? "delete it when you do not need it any more" : "the server leaves it");
    }
    if (!state_) return;
    std::set<std::string, std::less<>> known = state_->garbage;
    for (const auto& [name, entry] : state_->collections) known.insert(entry.directory);
    for (const auto& name : directory_.names_below_collections()) {
      const std::string shown = fmt::format("{}/{}", Catalog::kCollectionsDirectory, name);
      if (state_->garbage.contains(name)) {
        report_.add(Severity::kLeftover, shown, "a dropped collection",
                    "the next start of the server removes it");
      } else if (!known.contains(name)) {
        report_.add(Severity::kLeftover, shown, "belongs to no collection", "the server leaves it");
      }
    }
  }

  void check_snapshots() {
    const fs::path root = fs::path(directory_.path()) / "snapshots";
    std::error_code error;
    std::vector<fs::path> folders;
    for (fs::recursive_directory_iterator at(root, error);
         !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      if (!at->is_directory() || !is_snapshot_folder(at->path().string())) continue;
      folders.push_back(at->path());
      at.disable_recursion_pending();
    }
    std::sort(folders.begin(), folders.end());
    for (const auto& folder : folders) check_snapshot(folder);
  }
  void check_snapshot(const fs::path& folder) {
    const std::string shown = folder.lexically_relative(directory_.path()).string();
    ++report_.n_snapshots;
    const auto manifest = read_snapshot_manifest(folder.string());
    if (!manifest) return lose_snapshot(shown + "/manifest.json", manifest.error().message());
    for (const auto& file : manifest->files) {
      const std::string path = files_of_folder(folder.string()) + "/" + file.path;
      Checksum sum;
      const auto read = read_whole_file(path, file.size_bytes, [&](auto bytes) -> Result<> {
        sum.update(bytes);
        return {};
      });
      const std::string name = shown + "/files/" + file.path;
      if (!read) {
        lose_snapshot(name, read.error().message());
      } else if (file.checksum && *file.checksum != sum.digest()) {
        lose_snapshot(name, "wrong checksum");
      }
    }
  }
  void lose_snapshot(std::string path, std::string problem) {
    report_.add(Severity::kLoss, std::move(path), std::move(problem),
                "make another snapshot and delete this one");
  }

  const CheckRequest& request_;
  const DataDirectory directory_;
  std::optional<Catalog::State> state_;
  CheckReport report_;
};

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kLoss:
      return "loss";
    case Severity::kRebuilt:
      return "rebuilt";
    case Severity::kMissing:
      return "missing";
    case Severity::kLeftover:
      return "leftover";
  }
  return "loss";
}

bool CheckReport::is_damaged() const {
  return std::ranges::any_of(findings, [](const Finding& finding) {
    return finding.severity == Severity::kLoss || finding.severity == Severity::kRebuilt;
  });
}

Result<CheckReport> check_data_directory(const CheckRequest& request) {
  QV_TRY(auto directory, DataDirectory::open(request.data_dir));
  return Check(request, std::move(directory)).run();
}

}  // namespace quiver::engine
