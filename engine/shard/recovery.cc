#include "engine/shard/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <random>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/observe/log.h"
#include "engine/indexing/indexes.h"
#include "engine/segment/attributes.h"
#include "engine/segment/columns.h"
#include "engine/segment/segment_file.h"

namespace quiver::engine {

std::string rows_path(const std::string& shard) { return shard + "/rows"; }

Result<ShardFiles> open_shard_files(const std::string& path, const ShardContext& context) {
  ShardFiles files;
  QV_TRY(auto directory, context.open_directory(path));
  QV_TRY(files.segments, directory->subdirectory("segments"));
  QV_TRY(directory->sync());
  QV_TRY(files.store, storage::ShardStore::open(rows_path(path), context.runtime));
  return files;
}

Result<> Recovery::run(const BulkLoad* first_bulk) {
  SegmentTable& table = parts_.table;
  QV_TRY(const auto found, segment_ids(parts_.common.segments()));
  QV_TRY(auto stored, load_manifest());
  if (!stored) QV_TRY(check_rows_of_segments(found));
  const bool is_new = !stored;
  Manifest manifest = std::move(stored).value_or(Manifest{});
  QV_TRY(parts_.bulk.recover(manifest, first_bulk));
  QV_TRY(remove_orphans(manifest, found));
  QV_TRY(set_owner());
  table.damaged().ids = manifest.damaged;
  QV_TRY(open_segments(manifest));
  table.start_mutable();
  QV_TRY(const auto last, parts_.log.last());
  const Seq last_seq = std::max({manifest.covered, manifest.last, last.value_or(Seq{0})});
  table.set_next_seq(Seq{to_number(last_seq) + 1});
  parts_.bulk.install_recovered();
  parts_.status.publish();
  QV_TRY(replay(Seq{to_number(manifest.covered) + 1}));
  if (!table.damaged().ids.empty()) {
    parts_.status.publish();
    QV_TRY(parts_.rows.rebuild());
  }
  table.set_applied();
  parts_.status.publish();
  QV_TRY(parts_.bulk.end());
  // From now on a record says what counts; a store that takes no writes gets it with its first
  // seal.
  if (is_new && parts_.common.store().takes_writes()) QV_TRY(parts_.manifest.save());
  return {};
}

/// Random, and kept with the rows: no shard of this or another server has the same. Where it cannot
/// be kept, files are written without an owner, as in version 1, until the next opening.
Result<> Recovery::set_owner() {
  QV_TRY(auto text, parts_.common.store().meta(kOwnerKey));
  if (!text) {
    std::random_device random;
    text = fmt::format("{:08x}{:08x}", random(), random());
    storage::RowBatch batch;
    batch.put_meta(kOwnerKey, *text);
    if (auto written = parts_.common.store().write(batch); !written) {
      log_warning("shard {}: files are written without their owner: {}", parts_.common.path,
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
  parts_.common.segments().set_owner(owner);
  return {};
}

Result<std::optional<Manifest>> Recovery::load_manifest() const {
  QV_TRY(const auto text, parts_.common.store().meta(kManifestKey));
  if (!text) return std::optional<Manifest>();
  QV_TRY(auto manifest, decode_manifest(*text));
  return std::optional<Manifest>(std::move(manifest));
}

Result<bool> Recovery::is_store_empty() const {
  bool is_empty = true;
  QV_TRY(parts_.common.store().scan_rows(
      std::nullopt, [&](const PointId&, std::string_view) { return is_empty = false; }));
  QV_TRY(const auto last, parts_.log.last());
  // A bulk load writes its segment first.
  QV_TRY(const auto row_files, parts_.common.store().row_files());
  return is_empty && !last && row_files.empty();
}

/// Called for a store without a manifest. Segments are made from rows: if the store never had any,
/// the segments were made from another one, and they may be the last copy.
Result<> Recovery::check_rows_of_segments(std::span<const std::uint64_t> found) const {
  if (found.empty()) return {};
  QV_TRY(const bool is_empty, is_store_empty());
  if (!is_empty) return {};
  return fail(
      Code::kDataLoss,
      fmt::format("the rows are gone: `{}` is empty, but `{}` holds segment {}",
                  rows_path(parts_.common.path), parts_.common.segments().path(), found.front()));
}

/// Removes the segments that the manifest has counted and does not name: the output of a job that a
/// crash cut short, or its inputs. Later ones may hold rows that no record mentions: they stay
/// until a manifest has counted them, and their numbers are not used again.
Result<> Recovery::remove_orphans(const Manifest& manifest, std::span<const std::uint64_t> found) {
  std::uint64_t next = manifest.next_segment;
  for (const std::uint64_t id : found) {
    next = std::max(next, id + 1);
    const bool is_named = std::ranges::find(manifest.segments, id) != manifest.segments.end() ||
                          std::ranges::find(manifest.damaged, id) != manifest.damaged.end();
    if (is_named || id >= manifest.next_segment) continue;
    QV_TRY(parts_.common.segments().remove_subdirectory(std::to_string(id)));
  }
  parts_.table.set_next_segment_id(next);
  return {};
}

Result<> Recovery::open_segments(const Manifest& manifest) {
  std::vector<Result<SegmentState>> opened(manifest.segments.size(),
                                           fail(Code::kInternal, "not opened"));
  context_.lanes->parallel_for(
      opened.size(), [&](std::size_t i) { opened[i] = open_segment(manifest.segments[i]); });
  for (std::size_t i = 0; i < opened.size(); ++i) {
    if (opened[i]) {
      parts_.table.add(*std::move(opened[i]));
      continue;
    }
    const Code code = opened[i].error().code();
    if (code != Code::kDataLoss && code != Code::kNotFound) return fail(opened[i].error());
    log_error("shard {}: {}; its rows are rebuilt from the store", parts_.common.path,
              opened[i].error().message());
    parts_.table.damaged().ids.push_back(manifest.segments[i]);
  }
  return {};
}

Result<SegmentState> Recovery::open_segment(std::uint64_t id) const {
  const auto config = parts_.common.config.load();
  QV_TRY(auto directory, parts_.common.segments().open_subdirectory(std::to_string(id)));
  QV_TRY(auto data, open_segment_file(*directory, id, config->fields));
  QV_TRY(open_columns(data, *directory, config->indexes));
  QV_TRY(open_attributes(data, *directory, parts_.common.closing));
  SegmentState state;
  state.index_damaged = !open_indexes(data, *directory, parts_.status.index_policy());
  state.deleted = Bitset(data.n_rows);
  QV_TRY(const auto deleted, parts_.common.store().meta(deleted_key(id)));
  if (deleted) {
    QV_TRY(state.deleted, decode_bitset(*deleted, data.n_rows));
  }
  state.n_deleted = static_cast<std::uint32_t>(state.deleted.count());
  state.changed = true;
  state.view.data = std::make_shared<const SegmentData>(std::move(data));
  return state;
}

Result<> Recovery::replay(Seq from) {
  std::vector<PointId> ids;
  std::unordered_set<PointId> seen;
  QV_TRY(parts_.log.replay(from, [&](const LoggedOp& op) {
    if (seen.insert(op.id).second) ids.push_back(op.id);
  }));
  return parts_.rows.recover(ids);
}

}  // namespace quiver::engine
