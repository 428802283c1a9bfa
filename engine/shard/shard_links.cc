#include "engine/shard/shard_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "base/io/file_tree.h"
#include "engine/segment/columns.h"
#include "engine/shard/recovery.h"
#include "engine/shard/state/manifest.h"

namespace quiver::engine {
namespace {

namespace fs = std::filesystem;

/// Indexes are built under names with this ending and renamed when they are complete.
constexpr std::string_view kDraft = ".tmp";
constexpr std::string_view kColumnEnding = ".qvc";
/// The background may rename an index directory while it is being linked.
constexpr int kMaxAttempts = 5;

struct LinkedShard {
  Seq seq{};
  storage::StoreLinks store;
};

/// Columns under names of their own are still being written, unless the segment uses them.
std::set<std::string> finished_columns(const SegmentData& data) {
  std::set<std::string> names;
  for (const auto& [key, column] : data.columns) names.insert(column_file(*column.index));
  return names;
}

Result<> link_below(const std::string& from, const std::string& to,
                    const std::set<std::string>* columns) {
  QV_TRY(const auto directory, open_existing_directory(from));
  QV_TRY(make_directories(to));
  QV_TRY(const auto entries, directory->list());
  for (const auto& [name, kind] : entries) {
    if (name.ends_with(kDraft)) continue;
    const std::string source = fmt::format("{}/{}", from, name);
    const std::string link = fmt::format("{}/{}", to, name);
    if (kind == EntryKind::kDirectory) {
      QV_TRY(link_below(source, link, nullptr));
      continue;
    }
    const bool is_column = columns != nullptr && name.ends_with(kColumnEnding);
    if (is_column && !columns->contains(name)) continue;
    QV_TRY(link_file(source, link));
  }
  return {};
}

Result<> link_segment(const SegmentState& state, const std::string& segments,
                      const std::string& target) {
  const std::string from = fmt::format("{}/{}", segments, state.id());
  const std::string to = fmt::format("{}/{}", target, state.id());
  const auto columns = finished_columns(*state.view.data);
  for (int attempt = 1;; ++attempt) {
    auto linked = link_below(from, to, &columns);
    const bool was_renamed = !linked && linked.error().code() == Code::kNotFound;
    if (!was_renamed || attempt == kMaxAttempts) return linked;
    QV_TRY(remove_tree(to));
  }
}

/// In the lane: no write runs, and no segment is replaced.
Result<LinkedShard> link_in_lane(ShardCommon& common, const SegmentTable& table,
                                 const BulkLoad& bulk, const std::string& target) {
  if (bulk.is_open()) {
    return fail(Code::kUnavailable, "a bulk load is not finished: try again later");
  }
  QV_TRY(auto store, common.store().link_files(rows_path(target)));
  QV_TRY(const auto text, common.store().meta(kManifestKey));
  if (!text) return LinkedShard{table.last_seq(), std::move(store)};
  QV_TRY(const auto manifest, decode_manifest(*text));
  for (const SegmentState& state : table.segments()) {
    if (std::ranges::find(manifest.segments, state.id()) == manifest.segments.end()) continue;
    QV_TRY(link_segment(state, common.segments().path(), target + "/segments"));
  }
  return LinkedShard{table.last_seq(), std::move(store)};
}

}  // namespace

Result<Seq> link_shard(ShardCommon& common, const SegmentTable& table, const BulkLoad& bulk,
                       const std::string& target) {
  QV_TRY(make_directories(rows_path(target)));
  QV_TRY(make_directories(target + "/segments"));
  QV_TRY(auto linked, common.in_lane([&] { return link_in_lane(common, table, bulk, target); }));
  QV_TRY(linked.store.finish());
  QV_TRY(sync_tree(target));
  return linked.seq;
}

}  // namespace quiver::engine
