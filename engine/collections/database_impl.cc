#include "engine/database.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/io/huge_pages.h"
#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/collections/closed_collection.h"
#include "engine/collections/database_impl.h"
#include "engine/lookups.h"
#include "storage/rows/runtime.h"

namespace quiver::engine {
namespace {

constexpr auto kTickInterval = std::chrono::milliseconds(200);
constexpr int kBackgroundNice = 5;
/// Long queries give way to short ones, but not to background work. The kernel gives a thread of
/// this priority half the time of one that has the usual (weights 526 and 1024).
constexpr int kExpensiveNice = 3;
/// Reading whole snapshots gives way to everything else.
constexpr int kSnapshotNice = 15;
/// Jobs take what the others leave.
constexpr int kJobNice = 19;

std::size_t thread_count(std::uint32_t wanted, std::size_t at_least) {
  const std::size_t n = wanted != 0 ? wanted : std::thread::hardware_concurrency();
  return std::max(n, at_least);
}

std::vector<storage::AliasChange> alias_changes(const std::vector<AliasAction>& actions) {
  std::vector<storage::AliasChange> changes;
  using Kind = storage::AliasChange::Kind;
  for (const auto& action : actions) {
    if (const auto* create = std::get_if<CreateAlias>(&action)) {
      changes.push_back({Kind::kCreate, create->alias, create->collection});
    } else if (const auto* rename = std::get_if<RenameAlias>(&action)) {
      changes.push_back({Kind::kRename, rename->old_alias, rename->new_alias});
    } else {
      changes.push_back({Kind::kDelete, std::get<DeleteAlias>(action).alias, {}});
    }
  }
  return changes;
}

}  // namespace

DatabaseImpl::DatabaseImpl(DatabaseOptions options)
    : options_(std::move(options)),
      compute_(thread_count(options_.compute_threads, 1), "compute"),
      expensive_(compute_.n_threads(), "expensive", kExpensiveNice),
      lanes_(thread_count(0, 2), "lane"),
      background_(thread_count(options_.background_threads, 2), "background", kBackgroundNice),
      snapshot_readers_(1, "snapshot", kSnapshotNice),
      jobs_(thread_count(options_.background_threads, 1), "job", kJobNice),
      collections_(
          options_.data_dir,
          {.max_open = options_.max_open_collections, .close_idle_s = options_.close_idle_s},
          context_, gate_, expensive_, job_context_),
      snapshots_(options_.snapshots_dir, options_.data_dir, gate_, collections_, context_,
                 snapshot_readers_),
      scrub_(options_.scrub) {}

DatabaseImpl::~DatabaseImpl() {
  if (auto closed = close(); !closed) log_error("closing: {}", closed.error().message());
}

Result<> DatabaseImpl::start() {
  QV_TRY(directory_, options_.open_data_directory(options_.data_dir));
  QV_TRY(gate_.open(*directory_, options_.data_dir));
  QV_TRY(collections_directory_, directory_->subdirectory(storage::Catalog::kCollectionsDirectory));
  storage::RuntimeOptions runtime;
  runtime.block_cache_bytes = options_.block_cache_bytes;
  runtime.write_buffer_bytes = options_.write_buffer_bytes;
  if (options_.store_file_system) runtime.file_system = options_.store_file_system;
  QV_TRY(context_.runtime, storage::Runtime::create(runtime));
  fill_context();
  QV_TRY(collections_.add_stored(*collections_directory_));
  QV_TRY(snapshots_.start());
  log_check_ = std::thread(
      [this] { run_logged("reading logs", [this] { collections_.check_all_logs(); }); });
  scrub_.start(collections_directory_->path() + "/",
               [this](std::string_view path) { return collection_of(path); });
  ticker_ = std::thread([this] { tick_until_closed(); });
  return {};
}

std::string DatabaseImpl::collection_of(std::string_view path) const {
  const std::size_t begin = collections_directory_->path().size() + 1;
  const auto directory = path.substr(begin, path.find('/', begin) - begin);
  for (const auto& entry : collections_.all()) {
    if (entry->directory == directory) return entry->name;
  }
  return std::string(directory);
}

void DatabaseImpl::fill_context() {
  context_.lanes = &lanes_;
  context_.background = &background_;
  context_.max_queued_bytes = options_.max_queued_bytes;
  context_.devices = options_.devices;
  context_.replication = options_.replication;
  context_.choose_index = options_.choose_index;
  context_.record_queries = options_.record_queries ? RecordQueries::kYes : RecordQueries::kNo;
  context_.keep_recall = options_.watch_recall ? KeepRecall::kYes : KeepRecall::kNo;
  if (options_.open_directory) context_.open_directory = options_.open_directory;
  if (options_.unix_s) context_.unix_s = options_.unix_s;
  context_.write_gate = gate_.writes();
  context_.close_patience = options_.close_patience;
}

std::vector<std::string> DatabaseImpl::collection_names() const {
  std::vector<std::string> names;
  for (const auto& entry : collections_.all()) names.push_back(entry->name);
  return names;
}

Result<std::shared_ptr<Collection>> DatabaseImpl::collection(const std::string& name) {
  QV_TRY(auto impl, collections_.open(name));
  return std::static_pointer_cast<Collection>(std::move(impl));
}

std::vector<std::pair<std::string, std::shared_ptr<Collection>>> DatabaseImpl::open_collections()
    const {
  std::vector<std::pair<std::string, std::shared_ptr<Collection>>> open;
  for (const auto& entry : collections_.all()) {
    if (auto now = entry->now()) open.emplace_back(entry->name, std::move(now));
  }
  return open;
}

StoreMemory DatabaseImpl::store_memory() const {
  return {context_.runtime->cache_bytes(), context_.runtime->memtable_bytes()};
}

std::vector<std::string> DatabaseImpl::strangers() const { return catalog().strangers(); }

bool DatabaseImpl::exists(const std::string& name_or_alias) const {
  const auto name = catalog().resolve(name_or_alias);
  return name && collections_.find(*name) != nullptr;
}

Result<> DatabaseImpl::create_collection(const std::string& name, CollectionConfig config) {
  if (const auto collection = catalog().resolve(name); collection && *collection != name) {
    return fail(Code::kInvalidArgument, Subject::kAlias, name,
                fmt::format("a collection cannot be called `{}`: an alias has that name", name));
  }
  QV_TRY(gate_.check_open());
  // All nodes of a cluster note the same time.
  if (!config.created_at_ms) config.created_at_ms = static_cast<std::uint64_t>(unix_time_ms());
  auto created = gate_.checked(catalog().create(name, to_json(config)));
  if (!created) {
    if (created.error().code() != Code::kAlreadyExists) return fail(created.error());
    return fail(Code::kAlreadyExists, Subject::kCollection, name,
                fmt::format("collection `{}` exists already", name));
  }
  return collections_.create(*created);
}

Result<CollectionFindings> DatabaseImpl::check(const std::string& name) {
  return collections_.while_closed(
      name, [this](const CollectionEntry&, const CollectionConfig& config,
                   const std::string& path) { return check_shards(path, config, context_); });
}

Result<CollectionRepair> DatabaseImpl::repair(const std::string& name) {
  return collections_.while_closed(
      name,
      [this](CollectionEntry& entry, const CollectionConfig& config, const std::string& path) {
        auto repaired = repair_shards(path, config, context_);
        entry.failure.store(nullptr);
        collections_.check_manifests_of(entry);
        return repaired;
      });
}

Result<> DatabaseImpl::leave_cluster(const std::string& name) {
  return collections_.while_closed(
      name,
      [&](CollectionEntry& entry, const CollectionConfig& config, const std::string&) -> Result<> {
        if (config.cluster_id.empty()) return {};
        CollectionConfig own = config;
        own.cluster_id.clear();
        return gate_.checked(catalog().update(name, entry.directory, to_json(own)));
      });
}

Result<bool> DatabaseImpl::drop_collection(const std::string& name) {
  if (catalog().resolve(name) != name) return false;  // not there, or an alias
  const auto entry = collections_.find(name);
  if (entry == nullptr) return false;
  QV_TRY(gate_.check_open());
  return collections_.drop(entry);
}

Result<> DatabaseImpl::update_config(const std::string& name,
                                     const std::function<Result<>(CollectionConfig&)>& change) {
  QV_TRY(auto impl, collections_.open(name));
  return impl->change_config(change);
}

Result<> DatabaseImpl::update_aliases(const std::vector<AliasAction>& actions) {
  const auto changes = alias_changes(actions);
  QV_TRY(gate_.check_open());
  return gate_.checked(catalog().apply_aliases(changes));
}

Result<std::vector<Alias>> DatabaseImpl::plan_aliases(
    const std::vector<AliasAction>& actions) const {
  QV_TRY(const auto planned, catalog().plan_aliases(alias_changes(actions)));
  std::vector<Alias> aliases;
  for (const auto& alias : planned) aliases.push_back({alias.name, alias.collection});
  return aliases;
}

std::vector<Alias> DatabaseImpl::aliases() const {
  std::vector<Alias> aliases;
  for (const auto& alias : catalog().aliases()) aliases.push_back({alias.name, alias.collection});
  return aliases;
}

Result<> DatabaseImpl::resolve_lookups(const std::string& name, Query& query) {
  return resolve_lookups_in(*this, name, query);
}

bool DatabaseImpl::ready(std::string* why) const {
  std::string reasons = closed_ ? "closing" : "";
  if (const auto writes = gate_.check_open(); !writes) {
    reasons +=
        fmt::format("{}read-only: {}", reasons.empty() ? "" : "; ", writes.error().message());
  }
  for (const auto& entry : collections_.all()) {
    const auto failure = entry->failure.load();
    if (failure == nullptr) continue;
    reasons += fmt::format("{}collection `{}`: {}", reasons.empty() ? "" : "; ", entry->name,
                           failure->message());
  }
  if (why != nullptr) *why = reasons;
  return reasons.empty();
}

Result<> DatabaseImpl::close() {
  {
    MutexLock lock(tick_mutex_);
    if (closed_.exchange(true)) return {};
    collections_.refuse_openings();
    snapshots_.close();
    tick_wake_.notify_all();
  }
  scrub_.close();
  if (ticker_.joinable()) ticker_.join();
  if (log_check_.joinable()) log_check_.join();
  auto result = collections_.close_all();
  if (!result && result.error().code() == Code::kDeadlineExceeded) return result;
  jobs_.stop();
  compute_.stop();
  expensive_.stop();
  lanes_.stop();
  background_.stop();
  snapshot_readers_.stop();
  return result;
}

void DatabaseImpl::tick_until_closed() {
  while (true) {
    {
      MutexLock lock(tick_mutex_);
      if (!closed_) tick_wake_.wait_for(tick_mutex_, kTickInterval);
      if (closed_) return;
    }
    run_logged("looking at the catalog's file", [this] { gate_.update(); });
    run_logged("looking at the memory of copies", [] { end_huge_page_copies_if_short(); });
    collections_.tick();
  }
}

Result<std::unique_ptr<Database>> Database::open(DatabaseOptions options) {
  auto database = std::make_unique<DatabaseImpl>(std::move(options));
  QV_TRY(database->start());
  return std::unique_ptr<Database>(std::move(database));
}

}  // namespace quiver::engine
