#include "engine/files/shard_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bitset.h"
#include "base/io/file_tree.h"
#include "engine/collections/repair.h"
#include "engine/files/verify.h"
#include "engine/indexing/indexes.h"
#include "engine/segment/columns.h"
#include "engine/segment/segment_file.h"
#include "engine/write/bulk_intent.h"
#include "engine/write/shard_log.h"
#include "storage/repair/salvage.h"

namespace quiver::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kByRepair =
    "`quiver check --repair` rebuilds the rows from all that can be read, or restore a backup";
constexpr std::string_view kByServer =
    "the server builds it again from the rows when it opens the collection";
constexpr std::string_view kByOpening = "the server removes it when it opens the collection";
/// Points named in one finding.
constexpr std::size_t kMaxNamedPoints = 5;

/// A sealed row that counts.
struct LiveRow {
  PointId id;
  Seq seq{};
  bool operator<(const LiveRow& other) const { return id < other.id; }
};

bool has(const std::vector<std::uint64_t>& ids, std::uint64_t id) {
  return std::ranges::find(ids, id) != ids.end();
}

std::uint64_t bytes_below(const std::string& path) {
  const auto files = files_below(path);
  std::uint64_t sum = 0;
  if (files) {
    for (const auto& file : *files) sum += file.size_bytes;
  }
  return sum;
}

/// Points that differ for one reason: how many, and the first few.
class Points {
 public:
  void add(const PointId& id) {
    if (++n_ <= kMaxNamedPoints) names_ += (names_.empty() ? "" : ", ") + id.to_string();
  }
  [[nodiscard]] bool any() const { return n_ != 0; }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} point{} ({}{})", n_, n_ == 1 ? "" : "s", names_,
                       n_ > kMaxNamedPoints ? ", …" : "");
  }

 private:
  std::uint64_t n_ = 0;
  std::string names_;
};

class ShardCheck {
 public:
  ShardCheck(const ShardPlace& place, const CollectionConfig& config, const ShardContext& context,
             CheckReport& report)
      : place_(place),
        config_(std::make_shared<const CollectionConfig>(config)),
        context_(context),
        report_(report),
        store_(place.path + "/rows", context.runtime, storage::Salvage::Effort::kLook),
        facts_(read_store_facts(store_.store())) {
    counts_.collection = place.collection;
    counts_.shard = place.shard;
    counts_.bytes = bytes_below(place.path);
  }

  bool run() {
    for (auto& problem : store_.problems()) lose("rows", std::move(problem));
    rows_are_sound_ = !needs_repair_;
    if (rows_are_sound_ && !store_.has_synced_mark()) {
      report_.add(Severity::kMissing, shown("rows/SYNCED"),
                  "is missing or unreadable: a log that was cut short is not noticed",
                  "the next update writes it again");
    }
    check_segments();
    read_pending();
    check_rows();
    find_leftovers();
    report_.shards.push_back(std::move(counts_));
    return needs_repair_;
  }

 private:
  [[nodiscard]] std::string shown(std::string_view name) const {
    return fmt::format("{}/{}", place_.shown, name);
  }
  void lose(std::string_view name, std::string problem) {
    report_.add(Severity::kLoss, shown(name), std::move(problem), std::string(kByRepair));
    needs_repair_ = true;
  }
  void rebuilt(std::string_view name, std::string problem) {
    report_.add(Severity::kRebuilt, shown(name), std::move(problem), std::string(kByServer));
  }
  void missing(std::string_view name, std::string problem) {
    report_.add(Severity::kMissing, shown(name), std::move(problem), std::string(kByServer));
  }
  void leftover(std::string_view name, std::string problem, std::string_view remedy) {
    report_.add(Severity::kLeftover, shown(name), std::move(problem), std::string(remedy));
  }

  /// The files of a shard name their owner, if the rows say who that is.
  void set_owner(Directory& segments) const {
    for (const auto& [key, value] : facts_.others) {
      std::uint64_t owner = 0;
      const char* end = value.data() + value.size();
      if (key == kOwnerKey && std::from_chars(value.data(), end, owner, 16).ptr == end) {
        segments.set_owner(owner);
      }
    }
  }

  void check_segments() {
    const std::string path = place_.path + "/segments";
    std::vector<std::uint64_t> found;
    if (fs::exists(path)) {
      const auto directory = open_existing_directory(path);
      const auto ids = directory ? segment_ids(**directory)
                                 : Result<std::vector<std::uint64_t>>(fail(directory.error()));
      if (!ids) return rebuilt("segments", ids.error().message());
      set_owner(**directory);
      found = *ids;
      for (const std::uint64_t id : found) check_segment(**directory, id);
    }
    if (!facts_.manifest) return;
    for (const std::uint64_t id : facts_.manifest->segments) {
      if (!has(found, id)) lose_segment(id, "its directory is missing");
    }
  }
  void lose_segment(std::uint64_t id, std::string problem) {
    rebuilt(fmt::format("segments/{}", id), std::move(problem));
    all_segments_are_sound_ = false;
  }

  void check_segment(const Directory& segments, std::uint64_t id) {
    const std::string name = fmt::format("segments/{}", id);
    if (facts_.manifest && has(facts_.manifest->damaged, id)) {
      return rebuilt(name, "was found damaged and is no longer read");
    }
    if (facts_.manifest && !has(facts_.manifest->segments, id)) {
      if (id < facts_.manifest->next_segment) {
        return leftover(name, "left by a crash: no record names it", kByOpening);
      }
      return leftover(name, "no record names it; it may hold rows that nothing else has",
                      "the server leaves it");
    }
    const auto directory = segments.open_subdirectory(std::to_string(id));
    if (!directory) return lose_segment(id, directory.error().message());
    auto data = open_segment_file(**directory, id, config_->fields);
    if (!data) return lose_segment(id, data.error().message());
    ++counts_.n_segments;
    ++counts_.n_files;
    take_rows(*data);
    check_files(**directory, name);
    check_parts(*data, **directory, name);
  }

  void take_rows(const SegmentData& data) {
    Bitset deleted(data.n_rows);
    const auto found = facts_.deleted.find(data.id);
    if (found != facts_.deleted.end()) {
      auto bits = decode_bitset(found->second, data.n_rows);
      if (!bits) {
        lose("rows",
             fmt::format("deleted rows of segment {}: {}", data.id, bits.error().message()));
        return;
      }
      deleted = *std::move(bits);
    }
    for (std::uint32_t row = 0; row < data.n_rows; ++row) {
      if (!deleted.test(row)) live_.push_back({data.ids[row], data.seqs[row]});
    }
  }

  /// Payload columns, attributes and indexes: every byte.
  void check_files(const Directory& directory, const std::string& name) {
    const auto entries = directory.list();
    if (!entries) return rebuilt(name, entries.error().message());
    for (const auto& entry : *entries) {
      const std::string path = name + "/" + entry.name;
      if (entry.name.ends_with(".tmp")) {
        leftover(path, "an unfinished draft", kByOpening);
      } else if (entry.kind == EntryKind::kDirectory) {
        const auto below = directory.open_subdirectory(entry.name);
        if (!below) {
          rebuilt(path, below.error().message());
        } else {
          check_files(**below, path);
        }
      } else if (entry.name != kSegmentFile) {
        check_file(directory, entry.name, path);
      }
    }
  }
  void check_file(const Directory& directory, const std::string& file, const std::string& path) {
    const auto fine = verify_file(directory, file);
    ++counts_.n_files;
    if (fine) return;
    const bool is_ours = file.ends_with(".qva") || file.ends_with(".qvc") || file.ends_with(".qvx");
    if (fine.error().code() != Code::kUnimplemented || is_ours) {
      damaged_.insert(path.substr(0, path.rfind('/')));
      rebuilt(path, fine.error().message());
    } else {
      leftover(path, "a file that Quiver does not know", "the server leaves it");
    }
  }

  /// Parts that should be there, and indexes that are not whole.
  void check_parts(SegmentData& data, const Directory& directory, const std::string& name) {
    if (!directory.exists("attributes.qva")) missing(name + "/attributes.qva", "is missing");
    for (const auto& index : config_->indexes) {
      const std::string file = column_file(index);
      if (directory.exists(file)) continue;
      missing(name + "/" + file,
              fmt::format("the column of the payload key `{}` is missing", index.key));
    }
    (void)open_indexes(data, directory, index_policy(context_.choose_index, config_));
    const auto entries = directory.list();
    if (!entries) return;
    for (const auto& entry : *entries) {
      const auto field = field_of(entry);
      if (!field || *field >= data.fields.size() || data.index_files[*field] != nullptr) continue;
      const std::string path = name + "/" + entry.name;
      if (data.fields[*field].n_present == 0 || damaged_.contains(path)) continue;
      rebuilt(path, "the index cannot be opened: a file is missing, or it has other parameters");
    }
  }
  /// The field of a directory `index-<field>-<type>`.
  static std::optional<std::size_t> field_of(const DirectoryEntry& entry) {
    constexpr std::string_view kPrefix = "index-";
    if (entry.kind != EntryKind::kDirectory || !entry.name.starts_with(kPrefix) ||
        entry.name.ends_with(".tmp")) {
      return std::nullopt;
    }
    std::size_t field = 0;
    const char* begin = entry.name.data() + kPrefix.size();
    const auto end = std::from_chars(begin, entry.name.data() + entry.name.size(), field);
    if (end.ec != std::errc() || *end.ptr != '-') return std::nullopt;
    return field;
  }

  /// Points that changed since the last seal: rows and segments may differ there.
  void read_pending() {
    if (store_.store() == nullptr) return;
    const Seq covered = facts_.manifest ? facts_.manifest->covered : Seq{0};
    const auto scanned =
        store_.store()->scan_ops(Seq{to_number(covered) + 1}, [&](Seq seq, std::string_view bytes) {
          const auto op = decode_op(bytes);
          if (op) {
            pending_.insert(op->id);
          } else {
            lose("rows", fmt::format("operation {}: {}", to_number(seq), op.error().message()));
          }
          return true;
        });
    if (!scanned) lose("rows", scanned.error().message());
    counts_.n_unsealed = pending_.size();
  }

  /// Compares each row of the store with the segments, both by ascending id.
  void check_rows() {
    std::sort(live_.begin(), live_.end());
    counts_.n_in_segments = live_.size();
    if (store_.store() == nullptr) return;
    find_repeated();
    auto next = live_.cbegin();
    store_.scan_rows({}, [&](const PointId& id, std::string_view bytes) {
      ++counts_.n_rows;
      const auto row = decode_row(id, bytes, config_->fields);
      if (!row) {
        undecoded_.add(id);
        pending_.insert(id);
        return;
      }
      for (; next != live_.cend() && next->id < id; ++next) note_without_row(next->id);
      const bool is_sealed = next != live_.cend() && next->id == id;
      if (!is_sealed) {
        note_unsealed(id);
      } else if (next->seq != row->seq && !pending_.contains(id)) {
        other_version_.add(id);
      }
      while (next != live_.cend() && next->id == id) ++next;
    });
    for (; next != live_.cend(); ++next) note_without_row(next->id);
    tell_differences();
  }
  void find_repeated() {
    for (std::size_t i = 1; i < live_.size(); ++i) {
      const bool repeats = live_[i].id == live_[i - 1].id && !pending_.contains(live_[i].id);
      if (repeats) repeated_.add(live_[i].id);
    }
  }
  void note_without_row(const PointId& id) {
    if (!pending_.contains(id)) without_row_.add(id);
  }
  void note_unsealed(const PointId& id) {
    if (all_segments_are_sound_ && !pending_.contains(id)) unsealed_.add(id);
  }
  /// A bulk load that is not over, and shards without a manifest, are compared when they are
  /// opened.
  [[nodiscard]] bool is_comparable() const {
    if (!rows_are_sound_ || !facts_.manifest || !facts_.manifest->damaged.empty()) return false;
    const auto intent = store_.store()->meta(kBulkIntentKey);
    return intent && !*intent;
  }
  void tell_differences() {
    if (undecoded_.any()) lose("rows", "rows of other fields or damaged: " + undecoded_.text());
    if (!is_comparable()) return;
    if (without_row_.any()) lose("segments", "sealed, but without a row: " + without_row_.text());
    if (unsealed_.any())
      lose("segments", "have a row, but no segment has them: " + unsealed_.text());
    if (other_version_.any()) {
      lose("segments", "sealed in another version than their row: " + other_version_.text());
    }
    if (repeated_.any()) lose("segments", "sealed more than once: " + repeated_.text());
  }

  void find_leftovers() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(place_.path, error)) {
      const std::string name = entry.path().filename().string();
      if (name == "rows" || name == "segments") continue;
      if (name.find(".damaged-") != std::string::npos ||
          name.find(".replaced-") != std::string::npos) {
        leftover(name, "what a repair put aside", "delete it when you do not need it any more");
      } else if (name == "rows.rebuilt") {
        report_.add(Severity::kLoss, shown(name), "a repair was not finished",
                    "`quiver check --repair` finishes it");
        needs_repair_ = true;
      } else {
        leftover(name, "belongs to nothing", "the server leaves it");
      }
    }
    find_row_leftovers();
  }
  void find_row_leftovers() {
    if (store_.store() == nullptr) return;
    const auto live = store_.store()->files();
    const auto intent = store_.store()->meta(kBulkIntentKey);
    if (!live || !intent) return;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(place_.path + "/rows", error)) {
      const std::string name = entry.path().filename().string();
      const bool is_table = name.ends_with(".sst") || name.ends_with(".blob");
      if (is_table && std::ranges::find(*live, "/" + name) == live->end()) {
        leftover("rows/" + name, "no manifest names it", kByOpening);
      } else if (name.ends_with(storage::kRowFileSuffix) && !*intent) {
        leftover("rows/" + name, "of a bulk load that was not decided", kByOpening);
      }
    }
  }

  const ShardPlace& place_;
  const std::shared_ptr<const CollectionConfig> config_;
  const ShardContext& context_;
  CheckReport& report_;
  const storage::Salvage store_;
  const StoreFacts facts_;
  ShardCounts counts_;
  bool needs_repair_ = false;
  bool rows_are_sound_ = false;
  bool all_segments_are_sound_ = true;
  std::set<std::string> damaged_;  ///< directories of indexes with damaged files, as shown
  std::vector<LiveRow> live_;
  std::unordered_set<PointId> pending_;
  Points undecoded_, without_row_, unsealed_, other_version_, repeated_;
};

}  // namespace

bool check_shard_files(const ShardPlace& place, const CollectionConfig& config,
                       const ShardContext& context, CheckReport& report) {
  return ShardCheck(place, config, context, report).run();
}

}  // namespace quiver::engine
