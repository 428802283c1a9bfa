// Opening a shard: docs/formats/shard-store.md, docs/formats/segment.md.
//
// Truth is in the store's rows. The manifest says which sealed segments hold them up to which
// operation; later operations are replayed by reading the newest row of each point they name.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <unordered_set>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/segment/columns.h"
#include "engine/shard/shard.h"
#include "storage/repair/store_check.h"

namespace quiver::engine {
namespace {
/// Points whose rows are read from the store in one call.
constexpr std::size_t kReadAtOnce = 256;

std::string rows_path(const std::string& shard) { return shard + "/rows"; }

}  // namespace

Result<> Shard::check(const std::string& path, const ShardContext& context,
                      storage::Opening opening) {
  return storage::check_store(rows_path(path), *context.runtime, opening);
}

Result<> Shard::check_logs(const std::string& path, const ShardContext& context) {
  return storage::check_store_logs(rows_path(path), *context.runtime);
}

Result<> Shard::check_exists(const std::string& path, const ShardContext& context) {
  return storage::check_exists(rows_path(path), *context.runtime);
}

Result<std::unique_ptr<Shard>> Shard::open(const std::string& path,
                                           std::shared_ptr<const CollectionConfig> config,
                                           const ShardContext& context, const Shard* first) {
  std::unique_ptr<Shard> shard(new Shard(path, std::move(config), context));
  QV_TRY(guarded([&] { return shard->recover(first); }));
  return shard;
}

Result<> Shard::recover(const Shard* first) {
  QV_TRY(auto directory, context_.open_directory(path_));
  QV_TRY(segments_directory_, directory->subdirectory("segments"));
  QV_TRY(directory->sync());
  QV_TRY(store_, storage::ShardStore::open(rows_path(path_), context_.runtime));
  QV_TRY(const auto found, segment_ids(*segments_directory_));
  QV_TRY(auto stored, load_manifest());
  if (!stored) QV_TRY(check_rows_of_segments(found));
  const bool is_first = !stored;
  Manifest manifest = std::move(stored).value_or(Manifest{});
  QV_TRY(recover_bulk(manifest, first));
  QV_TRY(remove_orphans(manifest, found));
  QV_TRY(set_owner());
  damaged_ = manifest.damaged;
  QV_TRY(open_segments(manifest));
  const auto config = config_.load();
  mutable_ = std::make_unique<MutableSegment>(next_segment_++, config->fields, config->indexes);
  QV_TRY(const auto last, store_->last_op());
  const Seq last_seq = std::max({manifest.covered, manifest.last, last.value_or(Seq{0})});
  next_seq_ = Seq{to_number(last_seq) + 1};
  install_recovered_bulk();
  publish();
  QV_TRY(replay(Seq{to_number(manifest.covered) + 1}));
  if (!damaged_.empty()) QV_TRY(rebuild_from_rows());
  applied_seq_ = Seq{to_number(next_seq_) - 1};
  publish();
  if (bulk_) QV_TRY(end_bulk());
  // From now on a record says what counts; a store that takes no writes gets it with its first
  // seal.
  if (is_first && store_->takes_writes()) QV_TRY(save_manifest(nullptr));
  wants_tick_ = true;
  if (context_.queries != nullptr) drift_due_at_ = next_drift_check(context_.queries->n_seen());
  lane_->post([this] { start_due_jobs(); });
  return {};
}

/// Random, and kept with the rows: files of other shards, of other servers too, are told from the
/// own. Where it cannot be kept, files are written without, as in version 1, until the next
/// opening.
Result<> Shard::set_owner() {
  QV_TRY(auto text, store_->meta(kOwnerKey));
  if (!text) {
    std::random_device random;
    text = fmt::format("{:08x}{:08x}", random(), random());
    storage::RowBatch batch;
    batch.put_meta(kOwnerKey, *text);
    if (auto written = store_->write(batch); !written) {
      log_warning("shard {}: files are written without their owner: {}", path_,
                  written.error().message());
      return {};
    }
  }
  std::uint64_t owner = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), owner, 16);
  if (error != std::errc() || end != text->data() + text->size()) {
    return fail(Code::kDataLoss,
                fmt::format("the shard's owner of files is damaged: `{}` is no number", *text));
  }
  segments_directory_->set_owner(owner);
  return {};
}

/// nullopt: none was ever written.
Result<std::optional<Manifest>> Shard::load_manifest() {
  QV_TRY(const auto text, store_->meta(kManifestKey));
  if (!text) return std::optional<Manifest>();
  QV_TRY(auto manifest, decode_manifest(*text));
  return std::optional<Manifest>(std::move(manifest));
}

Result<bool> Shard::is_store_empty() const {
  bool is_empty = true;
  QV_TRY(store_->scan_rows(std::nullopt,
                           [&](const PointId&, std::string_view) { return is_empty = false; }));
  QV_TRY(const auto last, store_->last_op());
  QV_TRY(const auto row_files, store_->row_files());  // a bulk load writes its segment first
  return is_empty && !last && row_files.empty();
}

/// Of a store without a manifest. Segments are made from rows: where the store never had any, it is
/// not the one that the segments were made from, and they may be the last copy.
Result<> Shard::check_rows_of_segments(std::span<const std::uint64_t> found) const {
  if (found.empty()) return {};
  QV_TRY(const bool is_empty, is_store_empty());
  if (!is_empty) return {};
  return fail(Code::kDataLoss,
              fmt::format("the rows are gone: `{}` is empty, but `{}` holds segment {}",
                          rows_path(path_), segments_directory_->path(), found.front()));
}

/// Removes the segments that the manifest has counted and does not name: the output of a job that a
/// crash cut short, or its inputs. Of later ones no record says that they are worth nothing: they
/// stay until a manifest has counted them, and their numbers are not used again.
Result<> Shard::remove_orphans(const Manifest& manifest, std::span<const std::uint64_t> found) {
  next_segment_ = manifest.next_segment;
  for (const std::uint64_t id : found) {
    next_segment_ = std::max(next_segment_, id + 1);
    const bool is_named = std::ranges::find(manifest.segments, id) != manifest.segments.end() ||
                          std::ranges::find(manifest.damaged, id) != manifest.damaged.end();
    if (is_named || id >= manifest.next_segment) continue;
    QV_TRY(segments_directory_->remove_subdirectory(std::to_string(id)));
  }
  return {};
}

Result<> Shard::open_segments(const Manifest& manifest) {
  std::vector<Result<State>> opened(manifest.segments.size(), fail(Code::kInternal, "not opened"));
  context_.lanes->parallel_for(
      opened.size(), [&](std::size_t i) { opened[i] = open_segment(manifest.segments[i]); });
  for (std::size_t i = 0; i < opened.size(); ++i) {
    if (opened[i]) {
      segments_.push_back(*std::move(opened[i]));
      continue;
    }
    const Code code = opened[i].error().code();
    if (code != Code::kDataLoss && code != Code::kNotFound) return fail(opened[i].error());
    log_error("shard {}: {}; its rows are rebuilt from the store", path_,
              opened[i].error().message());
    damaged_.push_back(manifest.segments[i]);
  }
  return {};
}

Result<Shard::State> Shard::open_segment(std::uint64_t id) const {
  const auto config = config_.load();
  QV_TRY(auto directory, segments_directory_->open_subdirectory(std::to_string(id)));
  QV_TRY(auto data, open_segment_file(*directory, id, config->fields));
  QV_TRY(open_columns(data, *directory, config->indexes));
  State state;
  state.index_damaged = !open_indexes(data, *directory, index_policy());
  state.deleted = Bitset(data.n_rows);
  QV_TRY(const auto deleted, store_->meta(deleted_key(id)));
  if (deleted) {
    QV_TRY(state.deleted, decode_bitset(*deleted, data.n_rows));
  }
  state.n_deleted = static_cast<std::uint32_t>(state.deleted.count());
  state.changed = true;
  state.view.data = std::make_shared<const SegmentData>(std::move(data));
  return state;
}

Result<> Shard::replay(Seq from) {
  std::vector<PointId> ids;
  std::unordered_set<PointId> seen;
  Result<> status;
  QV_TRY(store_->scan_ops(from, [&](Seq, std::string_view op) {
    const auto logged = decode_op(op);
    if (!logged) {
      status = fail(logged.error());
      return false;
    }
    if (seen.insert(logged->id).second) ids.push_back(logged->id);
    return true;
  }));
  QV_TRY(std::move(status));
  return recover_points(ids);
}

Result<> Shard::recover_points(std::span<const PointId> ids) {
  while (!ids.empty()) {
    const auto chunk = ids.first(std::min(kReadAtOnce, ids.size()));
    Result<> status;
    QV_TRY(store_->rows(chunk, [&](std::size_t i, std::optional<std::string_view> bytes) {
      if (status) status = recover_point(chunk[i], bytes);
    }));
    QV_TRY(std::move(status));
    ids = ids.subspan(chunk.size());
  }
  return {};
}

/// Brings the segments in line with the row of `id` in the store, whatever was applied before.
Result<> Shard::recover_point(const PointId& id, std::optional<std::string_view> bytes) {
  if (!bytes) {
    delete_in_memory(id);
    return {};
  }
  QV_TRY(const Row row, decode_row(id, *bytes, config_.load()->fields));
  const auto set = snapshot_.load();
  if (const auto place = set->find(id)) {
    if (set->segments[place->segment].data->seqs[place->row] == row.seq) return {};
    delete_in_memory(id);
  }
  next_seq_ = std::max(next_seq_, Seq{to_number(row.seq) + 1});
  mutable_->append(row);
  if (is_full()) freeze();
  return {};
}

/// Finds every row that no opened segment holds. Reads the whole store: only after damage.
Result<> Shard::rebuild_from_rows() {
  publish();
  Result<> status;
  QV_TRY(store_->scan_rows(std::nullopt, [&](const PointId& id, std::string_view bytes) {
    status =
        closed_ ? fail(Code::kUnavailable, "the collection is closed") : recover_point(id, bytes);
    return status.has_value();
  }));
  QV_TRY(std::move(status));
  rebuild_barrier_ = mutable_->id();
  return {};
}

}  // namespace quiver::engine
