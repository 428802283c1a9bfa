#include "engine/collections/repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/bitset.h"
#include "base/observe/log.h"
#include "engine/segment/segment_file.h"
#include "engine/write/bulk_intent.h"
#include "engine/write/bulk_rows.h"
#include "engine/write/shard_log.h"
#include "storage/repair/salvage.h"
#include "storage/rows/keys.h"

namespace quiver::engine {
namespace {

namespace fs = std::filesystem;
using storage::RowBatch;

/// Facts of a replicated log (engine/write/replicated_log.cc), which no repaired collection has.
constexpr std::string_view kLogFacts = "log/";
constexpr std::size_t kBatchBytes = std::size_t{4} << 20;

struct Paths {
  fs::path shard;
  fs::path rows = shard / "rows";
  fs::path segments = shard / "segments";
  fs::path links = shard / "rows.links.tmp";         ///< what of the old store is read, if need be
  fs::path unfinished = shard / "rows.rebuilt.tmp";  ///< the new store while it is written
  fs::path finished = shard / "rows.rebuilt";        ///< complete; takes the place of `rows`
};

Result<> sync_directory(const fs::path& path) {
  QV_TRY(auto directory, open_real_directory(path.string()));
  return directory->sync();
}

Result<> rename_durably(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) return fail(file_error(error.value(), "rename", from.string()));
  return sync_directory(to.parent_path());
}

/// Moves `path` to the first free name of the form `path.word-1`; "" if there is nothing.
Result<std::string> put_aside(const fs::path& path, std::string_view word) {
  if (!fs::exists(path)) return std::string();
  for (int i = 1;; ++i) {
    const std::string name = fmt::format("{}.{}-{}", path.string(), word, i);
    if (fs::exists(name)) continue;
    QV_TRY(rename_durably(path, name));
    return name;
  }
}

/// Sealed segments in a shard's directory.
struct Segments {
  std::vector<SegmentData> sound;
  std::vector<std::string> damaged;
};

bool is_named(const StoreFacts& facts, std::uint64_t id) {
  return !facts.manifest ||
         std::ranges::find(facts.manifest->segments, id) != facts.manifest->segments.end();
}

/// False for segments that the manifest has counted and does not name: newer rows are elsewhere.
bool is_wanted(const StoreFacts& facts, std::uint64_t id) {
  return is_named(facts, id) || id >= facts.manifest->next_segment;
}

Result<SegmentData> open_segment(const Directory& segments, std::uint64_t id,
                                 const std::vector<FieldSchema>& fields) {
  QV_TRY(const auto directory, segments.open_subdirectory(std::to_string(id)));
  return open_segment_file(*directory, id, fields);
}

Result<Segments> open_segments(const Paths& paths, const StoreFacts& facts,
                               const CollectionConfig& config) {
  Segments segments;
  if (!fs::exists(paths.segments)) return segments;
  QV_TRY(const auto directory, open_real_directory(paths.segments.string()));
  QV_TRY(const auto ids, segment_ids(*directory));
  for (const std::uint64_t id : ids) {
    if (!is_wanted(facts, id)) continue;
    auto data = open_segment(*directory, id, config.fields);
    if (data) {
      segments.sound.push_back(*std::move(data));
    } else if (is_named(facts, id)) {  // others may be what a crash left of a seal
      segments.damaged.push_back(data.error().message());
    }
  }
  return segments;
}

/// Writes the new store: keeps the newest row of each point that it is given.
class Rebuild {
 public:
  Rebuild(const CollectionConfig& config, storage::ShardStore& store)
      : config_(config), store_(store) {}

  /// False if there is a newer row, or a later deletion.
  Result<bool> add(const PointId& id, Seq seq, std::string_view row) {
    Version& newest = newest_[id];
    if (seq <= newest.seq) return false;
    n_points_ += newest.is_there ? 0 : 1;
    newest = {seq, true};
    batch_.put_row(id, row);
    batch_.put_op(seq, encode_op(/*is_put=*/true, id));
    QV_TRY(write_if_full());
    return true;
  }
  /// kDataLoss if `row` is damaged.
  Result<bool> add(const PointId& id, std::string_view row) {
    QV_TRY(const Row decoded, decode_row(id, row, config_.fields));
    return add(id, decoded.seq, row);
  }
  Result<> erase(const PointId& id, Seq seq) {
    Version& newest = newest_[id];
    if (seq <= newest.seq) return {};
    n_points_ -= newest.is_there ? 1 : 0;
    newest = {seq, false};
    batch_.delete_row(id);
    batch_.put_op(seq, encode_op(/*is_put=*/false, id));
    return write_if_full();
  }
  void put_fact(std::string_view key, std::string_view value) { batch_.put_meta(key, value); }
  [[nodiscard]] bool knows(const PointId& id) const { return newest_.contains(id); }
  [[nodiscard]] std::uint64_t n_points() const { return n_points_; }

  Result<> finish() {
    QV_TRY(write());
    QV_TRY(store_.flush());
    return store_.close();
  }

 private:
  Result<> write_if_full() { return batch_.size_bytes() < kBatchBytes ? Result<>() : write(); }
  Result<> write() {
    QV_TRY(store_.write(batch_));
    batch_.clear();
    return {};
  }

  const CollectionConfig& config_;
  storage::ShardStore& store_;
  struct Version {
    Seq seq{};
    bool is_there = false;  ///< false: deleted
  };
  std::unordered_map<PointId, Version> newest_;
  std::uint64_t n_points_ = 0;
  RowBatch batch_;
};

class Repair {
 public:
  Repair(const std::string& path, const CollectionConfig& config, const ShardContext& context)
      : Repair(Paths{path}, path, config, context) {}
  /// Makes the new store in the directory `to`.
  Repair(Paths paths, const fs::path& to, const CollectionConfig& config,
         const ShardContext& context)
      : paths_(std::move(paths)), to_(to), config_(config), runtime_(context.runtime) {}

  Result<ShardRepair> run() {
    if (!fs::exists(paths_.finished)) {
      QV_TRY(check_there_is_something());
      QV_TRY(rebuild());
    }
    QV_TRY(exchange());
    return report_;
  }
  Result<RescuedShard> rescue() {
    QV_TRY(check_there_is_something());
    QV_TRY(rebuild());
    return RescuedShard{report_, n_points_};
  }

 private:
  [[nodiscard]] Result<> check_there_is_something() const {
    if (fs::exists(paths_.rows) || fs::exists(paths_.segments)) return {};
    return fail(Code::kDataLoss,
                fmt::format("`{}` holds neither rows nor segments: restore a backup, or delete "
                            "the collection",
                            paths_.shard.string()));
  }
  Result<> rebuild() {
    QV_TRY(open_real_directory(to_.string()));
    QV_TRY(storage::ShardStore::destroy(paths_.unfinished.string()));
    QV_TRY(auto store, storage::ShardStore::open(paths_.unfinished.string(), runtime_));
    {
      const storage::Salvage old(paths_.rows.string(), paths_.links.string(), runtime_,
                                 storage::Salvage::Effort::kSave);
      const StoreFacts facts = read_store_facts(old.store());
      QV_TRY(const Segments segments, open_segments(paths_, facts, config_));
      report_.n_bad_segments = segments.damaged.size();
      report_.deletes_are_known = old.knows_all_files() && facts.manifest.has_value();
      report_.rows_are_gone = old.store() == nullptr;
      report_.has_damaged_logs = old.has_damaged_logs();
      Rebuild out(config_, *store);
      QV_TRY(add_operations(old, out));
      if (old.store() != nullptr) QV_TRY(add_rows(old, segments, out));
      QV_TRY(add_segments(old, facts, segments, out));
      QV_TRY(add_late_batches(old, out));
      QV_TRY(add_older_versions(segments, out));
      for (const auto& [key, value] : facts.others) {
        if (!key.starts_with(kLogFacts)) out.put_fact(key, value);
      }
      count_lost(out);
      n_points_ = out.n_points();
      QV_TRY(out.finish());
    }
    return rename_durably(paths_.unfinished, paths_.finished);
  }

  /// Adds deletions with their numbers, and notes the ids that were put since the last seal.
  Result<> add_operations(const storage::Salvage& old, Rebuild& out) {
    if (old.store() == nullptr) return {};
    Result<> status;
    const auto scanned = old.store()->scan_ops(Seq{0}, [&](Seq seq, std::string_view bytes) {
      status = add_operation(seq, bytes, out);
      return status.has_value();
    });
    if (!scanned) log_warning("{}", scanned.error().message());
    return status;
  }
  Result<> add_operation(Seq seq, std::string_view bytes, Rebuild& out) {
    const auto op = decode_op(bytes);
    if (!op) return {};
    if (!op->is_put) return out.erase(op->id, seq);
    written_.push_back(op->id);
    return {};
  }

  Result<> add_rows(const storage::Salvage& old, const Segments& segments, Rebuild& out) {
    std::vector<PointId> known = written_;
    for (const auto& segment : segments.sound) {
      const auto ids = segment.ids.span();
      known.insert(known.end(), ids.begin(), ids.end());
    }
    std::sort(known.begin(), known.end());
    Result<> status;
    old.scan_rows(known, [&](const PointId& id, std::string_view row) {
      if (!status) return;
      auto added = out.add(id, row);
      if (added) {
        report_.n_from_store += *added ? 1 : 0;
      } else if (added.error().code() != Code::kDataLoss) {
        status = fail(added.error());
      }
    });
    return status;
  }

  Result<> add_segments(const storage::Salvage& old, const StoreFacts& facts,
                        const Segments& segments, Rebuild& out) {
    for (const auto& segment : segments.sound) {
      const auto deleted = deleted_rows(facts, segment);
      std::string row;
      for (std::uint32_t i = 0; i < segment.n_rows; ++i) {
        const Seq seq = segment.seqs[i];
        const PointId& id = segment.ids[i];
        if (deleted.test(i) || (!out.knows(id) && is_deleted(old, facts, id, seq))) continue;
        row.clear();
        append_row(segment, i, row);
        QV_TRY(const bool added, out.add(id, seq, row));
        report_.n_from_segments += added ? 1 : 0;
      }
      QV_TRY(segment.check_rows());
    }
    return {};
  }

  static Bitset deleted_rows(const StoreFacts& facts, const SegmentData& segment) {
    const auto found = facts.deleted.find(segment.id);
    if (found != facts.deleted.end()) {
      if (auto bits = decode_bitset(found->second, segment.n_rows)) return *std::move(bits);
    }
    return Bitset(segment.n_rows);
  }
  /// True if the point was deleted: the store has operation `seq`, but no row of the point.
  [[nodiscard]] bool is_deleted(const storage::Salvage& old, const StoreFacts& facts,
                                const PointId& id, Seq seq) const {
    if (!report_.deletes_are_known || seq > facts.last) return false;
    const auto row = old.store()->row(id);
    return row && !*row;
  }

  /// A row holds its own number; the number of a deletion stands in its operation.
  Result<> add_late_batches(const storage::Salvage& old, Rebuild& out) {
    if (!fs::exists(paths_.rows)) return {};
    Result<> status;
    const auto read = old.late_batches([&](const RowBatch& batch) {
      batch.for_each([&](const RowBatch::Change& change) {
        if (status) status = add_late_change(change, out);
      });
    });
    if (!read) log_warning("{}", read.error().message());
    return status;
  }
  Result<> add_late_change(const RowBatch::Change& change, Rebuild& out) {
    if (change.kind != RowBatch::Kind::kPut) return {};
    if (change.table == RowBatch::Table::kPoints) {
      const auto id = PointId::from_key(change.key);
      if (!id) return {};
      const auto added = out.add(*id, change.value);
      if (added) report_.n_from_logs += *added ? 1 : 0;
      return added || added.error().code() == Code::kDataLoss ? Result<>() : fail(added.error());
    }
    const auto op = decode_op(change.value);
    const auto seq = storage::OpKey::parse(change.key);
    if (change.table != RowBatch::Table::kOps || !op || !seq || op->is_put) return {};
    ++report_.n_from_logs;
    return out.erase(op->id, *seq);
  }

  /// Takes an older version of a point whose newest one cannot be read.
  Result<> add_older_versions(const Segments& segments, Rebuild& out) {
    std::unordered_set<PointId> missing;
    for (const PointId& id : written_) {
      if (!out.knows(id)) missing.insert(id);
    }
    std::string row;
    for (const auto& segment : segments.sound) {
      for (std::uint32_t i = 0; i < segment.n_rows && !missing.empty(); ++i) {
        if (!missing.contains(segment.ids[i])) continue;
        row.clear();
        append_row(segment, i, row);
        QV_TRY(const bool added, out.add(segment.ids[i], segment.seqs[i], row));
        report_.n_older += added ? 1 : 0;
      }
      QV_TRY(segment.check_rows());
    }
    return {};
  }

  void count_lost(const Rebuild& out) {
    for (const PointId& id : written_) report_.n_lost += out.knows(id) ? 0 : 1;
  }

  /// The new store takes the place of the old one. A crash leaves `finished`, so that the next call
  /// does the remaining steps.
  Result<> exchange() {
    QV_TRY(auto rows, put_aside(paths_.rows, "damaged"));
    QV_TRY(rename_durably(paths_.finished, paths_.rows));
    QV_TRY(auto segments, put_aside(paths_.segments, "replaced"));
    for (auto& name : {rows, segments}) {
      if (!name.empty()) report_.kept.push_back(name);
    }
    return {};
  }

  const Paths paths_;
  const fs::path to_;  ///< directory of the new store
  const CollectionConfig& config_;
  const std::shared_ptr<storage::Runtime> runtime_;
  std::uint64_t n_points_ = 0;
  std::vector<PointId> written_;  ///< put since the last seal, by the old store's log
  ShardRepair report_;
};

}  // namespace

StoreFacts read_store_facts(const storage::ShardStore* store) {
  StoreFacts facts;
  if (store == nullptr) return facts;
  const auto scanned = store->scan_meta("", [&](std::string_view key, std::string_view value) {
    if (key == kManifestKey) {
      if (auto manifest = decode_manifest(value)) facts.manifest = *std::move(manifest);
    } else if (const auto segment = segment_of_deleted_key(key)) {
      facts.deleted[*segment] = value;
    } else if (key != kBulkIntentKey) {
      facts.others.emplace_back(key, value);
    }
    return true;
  });
  if (!scanned) log_warning("{}", scanned.error().message());
  if (facts.manifest) facts.last = std::max(facts.manifest->covered, facts.manifest->last);
  if (const auto last = store->last_op(); last && *last) facts.last = std::max(facts.last, **last);
  return facts;
}

Result<ShardFindings> check_shard(const std::string& path, const CollectionConfig& config,
                                  const ShardContext& context) {
  const Paths paths{path};
  const storage::Salvage store(paths.rows.string(), context.runtime,
                               storage::Salvage::Effort::kLook);
  ShardFindings findings;
  findings.rows = store.problems();
  if (store.store() != nullptr) {
    store.scan_rows({}, [&](const PointId&, std::string_view) { ++findings.n_rows; });
  }
  QV_TRY(auto segments, open_segments(paths, read_store_facts(store.store()), config));
  findings.n_segments = segments.sound.size();
  findings.segments = std::move(segments.damaged);
  return findings;
}

Result<RescuedShard> rescue_shard(const std::string& from, const std::string& to,
                                  const CollectionConfig& config, const ShardContext& context) {
  const fs::path target(to);
  Paths paths{from};
  if (fs::exists(paths.finished)) {  // a repair that was not finished: its store has everything
    paths.rows = paths.finished;
    paths.segments.clear();
  }
  paths.links = target / "rows.links.tmp";
  paths.unfinished = target / "rows.rebuilt.tmp";
  paths.finished = target / "rows";
  return Repair(std::move(paths), target, config, context).rescue();
}

Result<ShardRepair> repair_shard(const std::string& path, const CollectionConfig& config,
                                 const ShardContext& context) {
  return Repair(path, config, context).run();
}

}  // namespace quiver::engine
