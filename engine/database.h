// All collections of one data directory: catalog, aliases, threads, start and stop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "base/result.h"
#include "base/threads/executor.h"
#include "engine/collection.h"
#include "engine/indexing/indexes.h"
#include "engine/model/alias.h"
#include "engine/model/jobs.h"
#include "engine/model/repair_report.h"
#include "engine/model/replication.h"
#include "engine/model/scrub.h"
#include "engine/snapshots.h"
#include "storage/rows/runtime.h"

namespace quiver::engine {

struct DatabaseOptions {
  std::string data_dir;
  std::string snapshots_dir;             ///< empty: `snapshots` below `data_dir`
  std::uint32_t compute_threads = 0;     ///< 0: one per core
  std::uint32_t background_threads = 0;  ///< 0: one per core, at least 2
  std::uint64_t block_cache_bytes = 256ULL << 20;
  std::uint64_t write_buffer_bytes = 256ULL << 20;  ///< over all shards
  std::uint64_t max_queued_bytes = 64ULL << 20;     ///< per shard; more is refused
  std::uint32_t max_open_collections = 1024;        ///< more idle ones are closed (LRU)
  /// Seconds after which idle collections beyond the 64 used last are closed; 0: never.
  double close_idle_s = 60;
  /// Time that `close` waits for a shard's updates, for its jobs, and again after cancelling them:
  /// then up to four times as long while the process gets less CPU time than that.
  std::chrono::milliseconds close_patience = std::chrono::seconds(5);
  gpu::Devices* devices = nullptr;  ///< help with searches; outlive the database; nullptr: none
  /// The cluster that the collections are parts of; outlives the database; nullptr: none.
  Replication* replication = nullptr;
  DecodeJob decode_job;        ///< reads the requests of jobs; empty: collections run no jobs
  ScrubOptions scrub;          ///< how mapped files are read again
  bool record_queries = true;  ///< keep samples of queries, also on disk
  bool watch_recall = true;    ///< watch the recall that is asked for, and measure it by themselves
  /// Seams for fault tests: the file system of the shard stores, and the directories of segments.
  std::shared_ptr<storage::FileSystemSeam> store_file_system;
  std::function<Result<std::unique_ptr<Directory>>(const std::string&)> open_directory;
  /// Seam for fault tests: the directory of the catalog.
  std::function<Result<std::unique_ptr<Directory>>(const std::string&)> open_data_directory =
      open_real_directory;
  /// Seam for tests: the time that expiring points meet, seconds since 1970.
  std::function<std::int64_t()> unix_s;
  /// Seam for tests: the index types of fields.
  IndexChooser choose_index = default_index;
};

/// Memory of the stores of all collections.
struct StoreMemory {
  std::uint64_t cache_bytes = 0;         ///< at most about `block_cache_bytes`
  std::uint64_t write_buffer_bytes = 0;  ///< rows not yet in table files
};

class Database {
 public:
  /// Locks the directory, reads the catalog, checks every manifest; opens no collection fully.
  [[nodiscard]] static Result<std::unique_ptr<Database>> open(DatabaseOptions options);
  virtual ~Database() = default;

  /// Names, ascending.
  [[nodiscard]] virtual std::vector<std::string> collection_names() const = 0;
  /// By name or alias; opens it at first touch. kNotFound about the collection.
  [[nodiscard]] virtual Result<std::shared_ptr<Collection>> collection(const std::string& name) = 0;
  /// The collection, by name or alias, if it is open now, else nullptr. Never blocks.
  [[nodiscard]] virtual std::shared_ptr<Collection> collection_if_open(const std::string&) {
    return nullptr;
  }
  /// The collections that are open now, by name; opens none.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::shared_ptr<Collection>>>
  open_collections() const {
    return {};
  }
  [[nodiscard]] virtual StoreMemory store_memory() const { return {}; }
  /// Names below `collections/` that belonged to no collection at the start; they are left alone.
  [[nodiscard]] virtual std::vector<std::string> strangers() const { return {}; }
  [[nodiscard]] virtual bool exists(const std::string& name_or_alias) const = 0;
  /// Notes the time of creation in the configuration. kAlreadyExists about the collection.
  virtual Result<> create_collection(const std::string& name, CollectionConfig config) = 0;
  /// Reads all files of a collection. kFailedPrecondition if it is open.
  [[nodiscard]] virtual Result<CollectionFindings> check(const std::string& name) {
    return fail(Code::kUnimplemented, "check of " + name);
  }
  /// Rebuilds the shards whose rows are gone or damaged (engine/collections/repair.h).
  /// kFailedPrecondition if the collection is open, or if it is damaged and belongs to a cluster.
  virtual Result<CollectionRepair> repair(const std::string& name) {
    return fail(Code::kUnimplemented, "repair of " + name);
  }
  /// The collection is on this node only from now on. Nothing changes if it is already.
  /// kFailedPrecondition if it is open.
  virtual Result<> leave_cluster(const std::string& name) {
    return fail(Code::kUnimplemented, "leaving a cluster with " + name);
  }
  /// Drops its aliases, too. False if there was none.
  virtual Result<bool> drop_collection(const std::string& name) = 0;
  /// Calls `change` on a copy of the configuration and stores the outcome durably.
  virtual Result<> update_config(const std::string& name,
                                 const std::function<Result<>(CollectionConfig&)>& change) = 0;

  /// All or nothing.
  virtual Result<> update_aliases(const std::vector<AliasAction>& actions) = 0;
  /// The aliases that there would be after `update_aliases`, which would succeed. Errors as of it.
  [[nodiscard]] virtual Result<std::vector<Alias>> plan_aliases(
      const std::vector<AliasAction>& actions) const {
    (void)actions;
    return fail(Code::kUnimplemented, "aliases are not planned here");
  }
  [[nodiscard]] virtual std::vector<Alias> aliases() const = 0;

  /// Replaces ids to be looked up in other collections (`lookup_from`) by their vectors. `name`:
  /// the collection that the query is for. kNotFound if a named collection does not exist, needed
  /// or not.
  virtual Result<> resolve_lookups(const std::string& name, Query& query) = 0;

  /// nullptr if this database makes none.
  [[nodiscard]] virtual Snapshots* snapshots() { return nullptr; }

  /// Reads all mapped files again, now or as soon as a running pass has ended, and returns at once:
  /// the number of whole passes (`ScrubStatus::n_passes`) after which that is done.
  [[nodiscard]] virtual Result<std::uint64_t> request_scrub() {
    return fail(Code::kUnimplemented, "files are not read again here");
  }
  [[nodiscard]] virtual ScrubStatus scrub_status() const { return {}; }

  /// True when every collection can serve; else the reason in `why`.
  [[nodiscard]] virtual bool ready(std::string* why) const = 0;
  /// The executor for queries that are not small, but short.
  [[nodiscard]] virtual Executor& compute() = 0;
  /// The executor for long queries, facets and the like, of a lower priority than `compute`.
  [[nodiscard]] virtual Executor& expensive() { return compute(); }
  /// Finishes what is queued, then closes everything. Called once, before destruction.
  /// kDeadlineExceeded, naming what still runs, if a collection does not end in time. Destruction
  /// would wait for it, so the process should end without; nothing acknowledged is lost.
  virtual Result<> close() = 0;
};

}  // namespace quiver::engine
