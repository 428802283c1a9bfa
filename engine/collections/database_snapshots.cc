#include "engine/collections/database_snapshots.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/io/file.h"
#include "base/io/file_tree.h"
#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "base/threads/pacer.h"
#include "engine/backup/folder.h"
#include "engine/backup/unpacker.h"
#include "engine/collections/closed_collection.h"
#include "engine/collections/privacy/ledger_files.h"
#include "engine/model/part_name.h"
#include "engine/shard/recovery.h"
#include "engine/write/replicated_log.h"
#include "storage/rows/shard_store.h"

namespace quiver::engine {
namespace {

namespace fs = std::filesystem;

SnapshotKind kind_of(const SnapshotScope& scope) {
  if (scope.collection.empty()) return SnapshotKind::kStorage;
  return scope.shard ? SnapshotKind::kShard : SnapshotKind::kCollection;
}

/// An archive that removes its folder with itself.
class PassingReader final : public SnapshotReader {
 public:
  PassingReader(std::unique_ptr<SnapshotDraft> draft, std::unique_ptr<SnapshotReader> reader)
      : draft_(std::move(draft)), reader_(std::move(reader)) {}
  [[nodiscard]] std::uint64_t size_bytes() const override { return reader_->size_bytes(); }
  [[nodiscard]] Result<std::size_t> read(std::uint64_t offset, std::span<char> out) override {
    return reader_->read(offset, out);
  }

 private:
  std::unique_ptr<SnapshotDraft> draft_;  // outlives the reader
  std::unique_ptr<SnapshotReader> reader_;
};

/// A reserved directory, given up unless it becomes a collection.
class Reservation {
 public:
  Reservation(CollectionTable& table, CollectionTable::Reserved reserved)
      : table_(table), reserved_(std::move(reserved)) {}
  ~Reservation() {
    if (!kept_) table_.give_up(reserved_);
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  [[nodiscard]] const CollectionTable::Reserved& get() const { return reserved_; }
  void keep() { kept_ = true; }

 private:
  CollectionTable& table_;
  const CollectionTable::Reserved reserved_;
  bool kept_ = false;
};

Result<> check_kind(const SnapshotScope& scope, const SnapshotManifest& manifest) {
  if (manifest.kind == kind_of(scope) && manifest.collections.size() == 1) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("the snapshot holds a {}, not a {}", to_string(manifest.kind),
                          to_string(kind_of(scope))));
}

/// The configuration in a snapshot, which anybody may have written.
Result<CollectionConfig> config_of(const SnapshotCollection& collection) {
  constexpr std::uint32_t kMaxDim = 1 << 16;
  constexpr std::uint32_t kMaxNextShard = 1U << 31U;  // leaves numbers for later keys
  auto config = parse_config(collection.config);
  if (!config) {
    return fail(Code::kInvalidArgument, fmt::format("the snapshot's configuration is damaged: {}",
                                                    config.error().message()));
  }
  if (config->shard_number == 0 || config->shard_number > kMaxShardNumber) {
    return fail(Code::kInvalidArgument,
                fmt::format("the snapshot's collection has {} shards, must be 1 to {}",
                            config->shard_number, kMaxShardNumber));
  }
  if (shard_numbers(*config).size() > kMaxShardNumber || config->next_shard > kMaxNextShard) {
    return fail(Code::kInvalidArgument,
                fmt::format("the snapshot's collection has {} shards in keys, must be {} at most",
                            shard_numbers(*config).size(), kMaxShardNumber));
  }
  for (const auto& field : config->fields) {
    if (field.kind == FieldKind::kSparse || (field.dim > 0 && field.dim <= kMaxDim)) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("the snapshot's vector `{}` has {} dimensions, must be 1 to {}",
                            field.name, field.dim, kMaxDim));
  }
  return config;
}

/// Every shard that the configuration needs is in the snapshot, and nothing else.
Result<> check_shards_of(const SnapshotScope& scope, const SnapshotCollection& found,
                         const CollectionConfig& config) {
  std::vector<std::uint32_t> wanted;
  for (const std::uint32_t i : shard_numbers(config)) {
    if (!scope.shard || *scope.shard == i) wanted.push_back(i);
  }
  std::vector<std::uint32_t> numbers;
  for (const auto& shard : found.shards) numbers.push_back(shard.number);
  if (numbers == wanted) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("the snapshot holds shards [{}], wanted [{}]", fmt::join(numbers, ", "),
                          fmt::join(wanted, ", ")));
}

/// A collection that takes another state keeps what it has spent. Durable on return.
Result<> keep_private_sums(const std::string& old, const std::string& fresh) {
  const std::string from = fmt::format("{}/{}", old, LedgerFiles::kDirectory);
  const std::string to = fmt::format("{}/{}", fresh, LedgerFiles::kDirectory);
  if (!fs::exists(from)) return {};
  QV_TRY(const auto files, files_below(from));
  QV_TRY(make_directories(to));
  for (const TreeFile& file : files) {
    QV_TRY(copy_file(from + "/" + file.path, to + "/" + file.path));
  }
  return sync_tree(fresh);
}

Result<> begin_logs_anew(const std::string& path, const CollectionConfig& config,
                         const ShardContext& context) {
  for (const std::uint32_t i : shard_numbers(config)) {
    QV_TRY(const auto store,
           storage::ShardStore::open(rows_path(shard_path(path, i)), context.runtime));
    QV_TRY(begin_log_anew(*store));
    QV_TRY(store->close());
  }
  return {};
}

/// Links the other shards of a closed collection, and copies files that may change: logs,
/// manifests. Of the two, one is garbage from the next change of the catalog on, the other one
/// until then.
Result<> link_other_shards(const std::string& from, const std::string& to, std::uint32_t shard,
                           const CollectionConfig& config) {
  for (const std::uint32_t i : shard_numbers(config)) {
    if (i == shard) continue;
    QV_TRY(const auto files, files_below(shard_path(from, i)));
    for (const auto& file : files) {
      const std::string source = fmt::format("{}/{}", shard_path(from, i), file.path);
      const std::string target = fmt::format("{}/{}", shard_path(to, i), file.path);
      QV_TRY(make_directories(fs::path(target).parent_path()));
      QV_TRY(is_immutable(source) ? link_or_copy_file(source, target) : copy_file(source, target));
    }
  }
  return sync_tree(to);
}

std::string describe(const std::optional<PartOf>& part) {
  if (!part) return "a whole collection";
  return fmt::format("shard {} of {}", part->number, part->n_parts);
}

}  // namespace

/// A whole collection brings its shard keys along; a shard must have the same place.
Result<> check_fits(const CollectionConfig& present, const CollectionConfig& found, bool is_shard) {
  if (present.part != found.part) {
    return fail(Code::kInvalidArgument,
                fmt::format("Snapshot is not compatible with existing collection: it is of {}, "
                            "and not of {}",
                            describe(found.part), describe(present.part)));
  }
  const bool same_keys = !is_shard || present.shard_keys == found.shard_keys;
  if (present.fields == found.fields && present.shard_number == found.shard_number &&
      present.sharding == found.sharding && same_keys) {
    return {};
  }
  return fail(Code::kInvalidArgument,
              "Snapshot is not compatible with existing collection: vectors or number of shards "
              "differ. Delete the collection first, or recover under another name");
}

/// Unpacks an archive into a reserved directory while it arrives.
class DatabaseSnapshots::Receiver final : public SnapshotReceiver {
 public:
  Receiver(DatabaseSnapshots& owner, SnapshotUse use, SnapshotScope scope, std::string checksum,
           CollectionTable::Reserved reserved)
      : owner_(owner),
        use_(std::move(use)),
        scope_(std::move(scope)),
        checksum_(std::move(checksum)),
        reservation_(owner.collections_, std::move(reserved)),
        unpacker_(reservation_.get().path) {}

  [[nodiscard]] Result<> write(std::string_view bytes) override {
    QV_TRY(owner_.closing_.check());
    return unpacker_.write(bytes);
  }

  [[nodiscard]] Result<CollectionConfig> check() override {
    QV_TRY(auto manifest, unpacker_.finish(checksum_));
    QV_TRY(auto config, owner_.check_files(use_, scope_, manifest, reservation_.get()));
    manifest_ = std::move(manifest);
    return config;
  }

  [[nodiscard]] Result<> finish() override {
    if (!manifest_) QV_TRY(check());
    QV_TRY(owner_.install(use_, scope_, *manifest_, reservation_.get()));
    reservation_.keep();
    return {};
  }

 private:
  DatabaseSnapshots& owner_;
  const SnapshotUse use_;
  const SnapshotScope scope_;
  const std::string checksum_;
  Reservation reservation_;
  Unpacker unpacker_;
  std::optional<SnapshotManifest> manifest_;  ///< of checked files
};

DatabaseSnapshots::DatabaseSnapshots(std::string snapshots_dir, const std::string& data_dir,
                                     CatalogGate& gate, CollectionTable& collections,
                                     const ShardContext& context, Executor& readers)
    : gate_(gate),
      collections_(collections),
      context_(context),
      readers_(readers),
      shelf_(snapshots_dir.empty() ? data_dir + "/snapshots" : std::move(snapshots_dir),
             data_dir + "/snapshot-drafts") {}

Result<SnapshotScope> DatabaseSnapshots::resolved(const SnapshotScope& scope) {
  if (scope.collection.empty()) return scope;
  const auto name = gate_.catalog().resolve(scope.collection);
  if (!name) return no_such_collection(scope.collection);
  if (scope.shard) {
    QV_TRY(const auto stored, collections_.current_config(*name));
    if (std::ranges::count(shard_numbers(*stored.config), *scope.shard) == 0) {
      return fail(Code::kNotFound,
                  fmt::format("shard {} of collection `{}` does not exist", *scope.shard, *name));
    }
  }
  return SnapshotScope{*name, scope.shard};
}

Result<SnapshotScope> DatabaseSnapshots::target_of(const SnapshotScope& scope) {
  if (scope.collection.empty()) {
    return fail(Code::kInvalidArgument, "only collections and shards can be recovered");
  }
  if (!scope.shard && !gate_.catalog().resolve(scope.collection)) return scope;
  return resolved(scope);
}

Result<> DatabaseSnapshots::check_scope(const SnapshotScope& scope) {
  QV_TRY(resolved(scope));
  return {};
}

Result<SnapshotDescription> DatabaseSnapshots::create(const SnapshotScope& scope) {
  QV_TRY(const auto own, resolved(scope));
  QV_TRY(const auto draft, shelf_.new_draft());
  QV_TRY(const auto manifest, fill(own, *draft));
  return shelf_.keep(own, *draft, manifest.created_at_s);
}

Result<SnapshotManifest> DatabaseSnapshots::fill(const SnapshotScope& scope,
                                                 const SnapshotDraft& draft) {
  SnapshotManifest manifest;
  manifest.kind = kind_of(scope);
  manifest.created_at_s = unix_time_ms() / 1000;
  if (manifest.kind != SnapshotKind::kStorage) {
    QV_TRY(manifest.collections.emplace_back(),
           link_collection(scope.collection, "", scope.shard, draft));
  } else {
    for (const auto& alias : gate_.catalog().aliases()) {
      manifest.aliases.push_back({alias.name, alias.collection});
    }
    for (const auto& entry : collections_.all()) {
      const auto prefix = fmt::format("collections/{}/", manifest.collections.size());
      auto linked = link_collection(entry->name, prefix, std::nullopt, draft);
      if (!linked && collections_.find(entry->name) == nullptr) continue;  // dropped meanwhile
      if (!linked) return fail(linked.error().with_context("in collection " + entry->name));
      manifest.collections.push_back(*std::move(linked));
    }
    std::erase_if(manifest.aliases, [&](const Alias& alias) {
      return std::ranges::find(manifest.collections, alias.collection, &SnapshotCollection::name) ==
             manifest.collections.end();
    });
  }
  QV_TRY(write_new_manifest(draft.path(), manifest));
  return manifest;
}

Result<SnapshotCollection> DatabaseSnapshots::link_collection(const std::string& name,
                                                              const std::string& prefix,
                                                              std::optional<std::uint32_t> shard,
                                                              const SnapshotDraft& draft) {
  QV_TRY(const auto collection, collections_.open(name));
  SnapshotCollection linked{name, prefix, {}, {}};
  std::string target = fmt::format("{}/{}", files_of_folder(draft.path()), prefix);
  if (target.ends_with('/')) target.pop_back();
  QV_TRY(auto files, collection->link_files(target, shard));
  linked.shards = std::move(files.shards);
  linked.config = to_json(*files.config);
  return linked;
}

Result<ArchiveFacts> DatabaseSnapshots::complete_there(const std::string& folder,
                                                       const Cancel& cancel) {
  QV_TRY(auto known, read_archive_facts(folder));
  if (!known.sha256.empty()) return known;  // waits for nobody
  std::promise<Result<ArchiveFacts>> promise;
  auto facts = promise.get_future();
  auto task = [&] {
    Pacer pacer;
    const auto may_go_on = [&]() -> Result<> {
      pacer.rest();
      QV_TRY(closing_.check());
      return cancel.check();
    };
    promise.set_value(guarded([&] { return complete_folder(folder, may_go_on); }));
  };
  if (!readers_.post(Priority::kLow, task)) return fail(Code::kCancelled, "closing");
  return facts.get();
}

Result<SnapshotDescription> DatabaseSnapshots::complete(const SnapshotScope& scope,
                                                        const std::string& name,
                                                        const Cancel& cancel) {
  QV_TRY(const auto own, resolved(scope));
  QV_TRY(const auto folder, shelf_.find(own, name));
  QV_TRY(complete_there(folder, cancel));
  return shelf_.describe(folder);
}

Result<std::vector<SnapshotDescription>> DatabaseSnapshots::list(const SnapshotScope& scope) {
  QV_TRY(const auto own, resolved(scope));
  return shelf_.list(own);
}

Result<> DatabaseSnapshots::remove(const SnapshotScope& scope, const std::string& name) {
  QV_TRY(const auto own, resolved(scope));
  return shelf_.remove(own, name);
}

Result<std::unique_ptr<SnapshotReader>> DatabaseSnapshots::open(const SnapshotScope& scope,
                                                                const std::string& name) {
  QV_TRY(const auto own, resolved(scope));
  QV_TRY(const auto folder, shelf_.find(own, name));
  QV_TRY(complete_there(folder, Cancel()));
  return open_folder(folder);
}

Result<std::unique_ptr<SnapshotReader>> DatabaseSnapshots::stream(const SnapshotScope& scope) {
  QV_TRY(const auto own, resolved(scope));
  QV_TRY(auto draft, shelf_.new_draft());
  QV_TRY(fill(own, *draft));
  QV_TRY(auto reader, open_new_folder(draft->path()));
  return std::make_unique<PassingReader>(std::move(draft), std::move(reader));
}

Result<> DatabaseSnapshots::recover(const SnapshotScope& scope, const std::string& path,
                                    const std::string& checksum) {
  QV_TRY(const auto target, target_of(scope));
  QV_TRY(const auto place, place_of(target, path));
  if (place.is_folder) return recover_folder(target, place.path, checksum);
  return recover_archive(target, place.path, checksum);
}

Result<DatabaseSnapshots::Place> DatabaseSnapshots::place_of(const SnapshotScope& scope,
                                                             const std::string& path) {
  if (check_file_name(path)) {  // the name of a stored one
    QV_TRY(auto folder, shelf_.find(scope, path));
    return Place{std::move(folder), true};
  }
  std::error_code error;
  if (!fs::exists(path, error)) {
    return fail(Code::kFailedPrecondition,
                fmt::format("Snapshot file \"{}\" does not exist", path));
  }
  const auto place = fs::canonical(path, error);
  const auto allowed = fs::weakly_canonical(shelf_.directory(), error);
  const auto [end, ignored] = std::ranges::mismatch(allowed, place);
  if (error || end != allowed.end()) {
    return fail(Code::kPermissionDenied,
                fmt::format("Snapshot file path must be inside the snapshots directory \"{}\"",
                            allowed.string()));
  }
  return Place{place, is_snapshot_folder(place)};
}

Result<std::unique_ptr<SnapshotReader>> DatabaseSnapshots::open_place(const SnapshotScope& scope,
                                                                      const std::string& path,
                                                                      const std::string& checksum) {
  QV_TRY(const auto target, target_of(scope));
  QV_TRY(const auto place, place_of(target, path));
  if (place.is_folder) {
    QV_TRY(check_checksum(place.path, checksum));
    return open_folder(place.path);
  }
  return open_archive(place.path);
}

Result<> DatabaseSnapshots::check_checksum(const std::string& folder, const std::string& checksum) {
  QV_TRY(const auto facts, complete_there(folder, Cancel()));
  const auto lower = [](std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  };
  if (checksum.empty() || lower(checksum) == facts.sha256) return {};
  return fail(Code::kInvalidArgument, fmt::format("Snapshot checksum mismatch: expected {}, got {}",
                                                  checksum, facts.sha256));
}

Result<> DatabaseSnapshots::recover_folder(const SnapshotScope& scope, const std::string& folder,
                                           const std::string& checksum) {
  QV_TRY(check_checksum(folder, checksum));
  QV_TRY(auto reserved, collections_.reserve());
  Reservation reservation(collections_, std::move(reserved));
  QV_TRY(const auto manifest, read_snapshot_manifest(folder));
  QV_TRY(check_kind(scope, manifest));
  QV_TRY(unfold(folder, manifest, "", reservation.get().path, Sharing::kLinks));
  QV_TRY(check_files({}, scope, manifest, reservation.get()));
  QV_TRY(install({}, scope, manifest, reservation.get()));
  reservation.keep();
  return {};
}

Result<std::string> DatabaseSnapshots::folder_of(const SnapshotScope& scope,
                                                 const std::string& name) {
  QV_TRY(const auto own, resolved(scope));
  return shelf_.find(own, name);
}

Result<std::vector<std::string>> DatabaseSnapshots::restore_storage(const std::string& folder) {
  QV_TRY(const auto manifest, read_snapshot_manifest(folder));
  if (manifest.kind != SnapshotKind::kStorage) {
    return fail(Code::kInvalidArgument,
                fmt::format("`{}` holds a {}, not a storage", folder, to_string(manifest.kind)));
  }
  for (const auto& collection : manifest.collections) {
    if (!gate_.catalog().resolve(collection.name)) continue;
    return fail(Code::kAlreadyExists, Subject::kCollection, collection.name,
                fmt::format("collection `{}` exists already", collection.name));
  }
  std::vector<std::string> names;
  std::vector<std::unique_ptr<Reservation>> reservations;
  for (const auto& collection : manifest.collections) {  // everything is checked first
    QV_TRY(auto reserved, collections_.reserve());
    reservations.push_back(std::make_unique<Reservation>(collections_, std::move(reserved)));
    QV_TRY(unfold(folder, manifest, collection.prefix, reservations.back()->get().path,
                  Sharing::kCopies));
  }
  for (std::size_t i = 0; i < reservations.size(); ++i) {
    SnapshotManifest one;
    one.collections.push_back(manifest.collections[i]);
    names.push_back(one.collections.front().name);
    const SnapshotScope scope{names.back(), std::nullopt};
    one.kind = SnapshotKind::kCollection;
    QV_TRY(check_files({}, scope, one, reservations[i]->get()));
    QV_TRY(install({}, scope, one, reservations[i]->get()));
    reservations[i]->keep();
  }
  std::vector<storage::AliasChange> aliases;
  for (const auto& [alias, collection] : manifest.aliases) {
    aliases.push_back({storage::AliasChange::Kind::kCreate, alias, collection});
  }
  QV_TRY(gate_.checked(gate_.catalog().apply_aliases(aliases)));
  return names;
}

Result<> DatabaseSnapshots::recover_archive(const SnapshotScope& scope, const std::string& path,
                                            const std::string& checksum) {
  QV_TRY(const auto archive, open_archive(path));
  QV_TRY(auto receiver, receive(scope, checksum));
  QV_TRY(copy_archive(*archive, *receiver));
  return receiver->finish();
}

Result<std::unique_ptr<SnapshotReceiver>> DatabaseSnapshots::receive(const SnapshotScope& scope,
                                                                     const std::string& checksum) {
  return receive_as({}, scope, checksum);
}

Result<std::unique_ptr<SnapshotReceiver>> DatabaseSnapshots::receive_as(
    const SnapshotUse& use, const SnapshotScope& scope, const std::string& checksum) {
  QV_TRY(auto target, target_of(scope));
  QV_TRY(auto reserved, collections_.reserve());
  return std::make_unique<Receiver>(*this, use, std::move(target), checksum, std::move(reserved));
}

/// The configuration of the collection afterwards.
Result<CollectionConfig> DatabaseSnapshots::fit(const SnapshotUse& use, const SnapshotScope& scope,
                                                const SnapshotManifest& manifest) const {
  QV_TRY(auto found, config_of(manifest.collections.front()));
  QV_TRY(check_shards_of(scope, manifest.collections.front(), found));
  const bool is_copy = use.kind == SnapshotUse::Kind::kCopy;
  // What was restored on this server alone is no part of the cluster that it came from.
  if (!is_copy) found.cluster_id = use.cluster_id;
  // In a cluster a shard with nodes of its own is `docs/0`. Under another name it is a collection.
  const bool is_part = !is_copy && use.kind == SnapshotUse::Kind::kShared &&
                       parse_part_name(scope.collection).has_value();
  if (!is_copy && !is_part) found.part.reset();
  if (!gate_.catalog().find(scope.collection)) return found;
  QV_TRY(const auto stored, collections_.current_config(scope.collection));
  if (!is_copy && use.must_fit) {
    QV_TRY(check_fits(*stored.config, found, scope.shard.has_value()));
  }
  return scope.shard ? *stored.config : found;
}

Result<CollectionConfig> DatabaseSnapshots::check_files(
    const SnapshotUse& use, const SnapshotScope& scope, const SnapshotManifest& manifest,
    const CollectionTable::Reserved& reserved) const {
  QV_TRY(check_kind(scope, manifest));
  QV_TRY(auto config, fit(use, scope, manifest));
  if (!scope.shard) {
    QV_TRY(check_manifests(reserved.path, config, context_, storage::Opening::kMustExist));
  }
  if (use.kind == SnapshotUse::Kind::kShared) {
    QV_TRY(begin_logs_anew(reserved.path, config, context_));
  }
  return config;
}

Result<> DatabaseSnapshots::install(const SnapshotUse& use, const SnapshotScope& scope,
                                    const SnapshotManifest& manifest,
                                    const CollectionTable::Reserved& reserved) {
  const auto prepare = [&](const std::string& old) -> Result<CollectionConfig> {
    QV_TRY(auto now, fit(use, scope, manifest));
    if (!old.empty()) QV_TRY(keep_private_sums(old, reserved.path));
    if (scope.shard) {
      QV_TRY(link_other_shards(old, reserved.path, *scope.shard, now));
      QV_TRY(check_manifests(reserved.path, now, context_, storage::Opening::kMustExist));
    }
    return now;
  };
  QV_TRY(collections_.replace(scope.collection, reserved, prepare));
  log_info("collection `{}` was recovered from a snapshot", scope.collection);
  return {};
}

}  // namespace quiver::engine
