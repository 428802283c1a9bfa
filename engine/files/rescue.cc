#include "engine/files/rescue.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "base/io/file_tree.h"
#include "engine/collections/repair.h"
#include "engine/files/data_directory.h"
#include "engine/model/config.h"
#include "storage/rows/shard_store.h"

namespace quiver::engine {
namespace {

namespace fs = std::filesystem;
using storage::Catalog;
using storage::CatalogEntry;

/// What of a shard is lost or may be wrong, one line each.
std::vector<std::string> losses_of(const std::string& shard, const ShardRepair& repair) {
  std::vector<std::string> lines;
  const auto add = [&](std::string text) { lines.push_back(shard + ": " + std::move(text)); };
  if (repair.rows_are_gone) add("no row could be read: points that were not sealed are lost");
  if (repair.n_lost != 0) {
    add(fmt::format("{} points that the rows name, but no file holds", repair.n_lost));
  }
  if (repair.n_bad_segments != 0) {
    add(fmt::format("{} segments could not be read", repair.n_bad_segments));
  }
  if (repair.n_older != 0) {
    add(fmt::format("{} points are there in an older version", repair.n_older));
  }
  if (repair.has_damaged_logs) add("changes whose records in the logs are damaged");
  if (repair.rows_are_gone || repair.has_damaged_logs || !repair.deletes_are_known) {
    add("points deleted or replaced after they were sealed may be back");
  }
  return lines;
}

class Rescue {
 public:
  Rescue(const RescueRequest& request, DataDirectory from)
      : request_(request), from_(std::move(from)) {}

  Result<RescueReport> run() {
    const ReadCatalog read = from_.read_catalog();
    if (!read.state) {
      return fail(Code::kDataLoss,
                  fmt::format("{}, and there is no copy of it that can be read: the fields of the "
                              "collections are known nowhere else",
                              read.problem));
    }
    if (read.is_copy) {
      report_.lost.push_back(fmt::format(
          "catalog: {}; taken from catalog.copy, which may lack the last change", read.problem));
    }
    QV_TRY(to_, open_new(request_.to));
    QV_TRY(catalog_, Catalog::open(*to_));
    QV_TRY(take_collections(*read.state));
    QV_TRY(take_aliases(*read.state));
    QV_TRY(catalog_->refresh_copy());
    take_files();
    list_leftovers(*read.state);
    QV_TRY(sync_tree(request_.to));
    return std::move(report_);
  }

 private:
  static Result<std::unique_ptr<Directory>> open_new(const std::string& path) {
    std::error_code error;
    if (fs::exists(path) && !fs::is_empty(path, error)) {
      return fail(Code::kAlreadyExists,
                  fmt::format("`{}` is not empty: name a new directory", path));
    }
    return open_real_directory(path);
  }
  [[nodiscard]] bool is_wanted(const std::string& name) const {
    return request_.collection.empty() || request_.collection == name;
  }

  Result<> take_collections(const Catalog::State& state) {
    bool found = request_.collection.empty();
    for (const auto& [name, entry] : state.collections) {
      if (!is_wanted(name)) continue;
      found = true;
      QV_TRY(take_collection(entry));
    }
    if (found) return {};
    return fail(Code::kNotFound, fmt::format("there is no collection `{}`", request_.collection));
  }
  Result<> take_collection(const CatalogEntry& entry) {
    const auto config = parse_config(entry.config);
    if (!config) {
      report_.lost.push_back(
          fmt::format("collection {}: {}", entry.name, config.error().message()));
      return {};
    }
    QV_TRY(const CatalogEntry made, catalog_->create(entry.name, entry.config));
    for (const std::uint32_t shard : shard_numbers(*config)) {
      QV_TRY(take_shard(entry, made, *config, shard));
    }
    return catalog_->complete(entry.name);
  }
  static std::string path_of(const std::string& data_dir, const CatalogEntry& entry,
                             std::uint32_t shard) {
    return fmt::format("{}/{}/{}/shard-{}", data_dir, Catalog::kCollectionsDirectory,
                       entry.directory, shard);
  }

  Result<> take_shard(const CatalogEntry& entry, const CatalogEntry& made,
                      const CollectionConfig& config, std::uint32_t shard) {
    const std::string from = path_of(from_.path(), entry, shard);
    const std::string to = path_of(request_.to, made, shard);
    const std::string name = fmt::format("collection {}, shard {}", entry.name, shard);
    auto rescued = rescue_shard(from, to, config, from_.context());
    if (rescued) {
      for (auto& line : losses_of(name, rescued->report)) report_.lost.push_back(std::move(line));
      report_.shards.push_back({entry.name, shard, rescued->n_points, std::move(rescued->report)});
      return {};
    }
    // A disk that is full, or cannot be written, is no damage of what is read.
    if (rescued.error().code() != Code::kDataLoss && rescued.error().code() != Code::kNotFound) {
      return fail(rescued.error());
    }
    if (entry.complete) report_.lost.push_back(name + ": " + rescued.error().message());
    QV_TRY(remove_tree(to));
    QV_TRY(auto store, storage::ShardStore::open(to + "/rows", from_.context().runtime));
    QV_TRY(store->close());
    report_.shards.push_back({entry.name, shard, 0, {}});
    return {};
  }

  Result<> take_aliases(const Catalog::State& state) {
    for (const auto& [alias, collection] : state.aliases) {
      if (!is_wanted(collection)) continue;
      const storage::AliasChange change{storage::AliasChange::Kind::kCreate, alias, collection};
      if (auto made = catalog_->apply_aliases({&change, 1}); !made) {
        report_.lost.push_back(fmt::format("alias {}: {}", alias, made.error().message()));
      } else {
        ++report_.n_aliases;
      }
    }
    return {};
  }

  /// Quotas and the audit log.
  void take_files() {
    if (!request_.collection.empty()) return;
    take_file("quotas.json");
    const auto audit = files_below(from_.path() + "/audit");
    if (!audit || audit->empty()) return;
    for (const auto& file : *audit) take_file("audit/" + file.path);
  }
  void take_file(const std::string& name) {
    const std::string from = from_.path() + "/" + name;
    if (!fs::exists(from)) return;
    const std::string to = request_.to + "/" + name;
    auto made = make_directories(fs::path(to).parent_path().string());
    if (made) made = copy_file(from, to);
    if (!made) report_.lost.push_back(fmt::format("{}: {}", name, made.error().message()));
  }

  void list_leftovers(const Catalog::State& state) {
    if (fs::exists(from_.path() + "/snapshots")) {
      report_.left_over.push_back("snapshots: not taken; they stay where they are");
    }
    std::set<std::string> known;
    for (const auto& [name, entry] : state.collections) known.insert(entry.directory);
    for (const auto& name : from_.names_below_collections()) {
      if (known.contains(name) || state.garbage.contains(name)) continue;
      report_.left_over.push_back(
          fmt::format("collections/{}: belongs to no collection; not taken", name));
    }
  }

  const RescueRequest& request_;
  const DataDirectory from_;
  std::unique_ptr<Directory> to_;
  std::unique_ptr<Catalog> catalog_;
  RescueReport report_;
};

}  // namespace

Result<RescueReport> rescue_data_directory(const RescueRequest& request) {
  QV_TRY(auto from, DataDirectory::open(request.from));
  return Rescue(request, std::move(from)).run();
}

}  // namespace quiver::engine
