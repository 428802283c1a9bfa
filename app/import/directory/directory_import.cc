#include "app/import/directory/directory_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <utility>

#include "app/import/directory/bulk_rows.h"
#include "app/import/plan/schema.h"
#include "app/import/reading/row_reader.h"
#include "app/import/run/creation.h"
#include "app/import/run/identity.h"
#include "app/import/run/import_run.h"
#include "app/signals.h"
#include "base/observe/log.h"
#include "engine/database.h"
#include "service/json/decode/decode.h"

namespace quiver::app {
namespace {

using engine::Collection;
using engine::Database;

/// The state as the collection's cursor.
class CursorStore final : public StateStore {
 public:
  explicit CursorStore(Collection& collection) : collection_(collection) {}

  [[nodiscard]] Result<std::optional<ImportState>> load() const override {
    QV_TRY(const std::string cursor, collection_.bulk_cursor());
    if (cursor.empty()) return std::optional<ImportState>();
    QV_TRY(auto state, parse_state(cursor));
    return std::optional(std::move(state));
  }
  Result<> save(const ImportState& state) override {
    engine::BulkChunk chunk;
    chunk.cursor = to_json(state);
    return collection_.bulk_load(chunk);
  }
  [[nodiscard]] std::string place() const override { return "in the collection"; }

 private:
  Collection& collection_;
};

/// Of the vectors and payloads of a chunk, whatever `--batch` says: each chunk is a bulk load and a
/// segment of its own. 60,000 x 32 f32 load at 590,000 rows/s, in chunks of 500 rows at 93,000;
/// 400,000 x 128 in chunks of this size as fast as in those of 256 MiB (2 cores, one disk).
constexpr std::uint64_t kLeastChunkBytes = 16ULL << 20;
static_assert(kLeastChunkBytes <= engine::kBulkChunkBytes);

/// Before the first block: about the bytes of a row.
double guessed_row_bytes(const RowReader& reader) {
  constexpr double kEntries = 100;  // non-zeros, tokens
  double bytes = sizeof(RowPoint) + reader.guessed_line_bytes();
  for (const ColumnReader& column : reader.columns()) {
    const double dim = column.shape().dim;
    if (column.spec().kind == FieldKind::kDense) bytes += dim * 4;
    if (column.spec().kind == FieldKind::kSparse) bytes += kEntries * 8;
    if (column.spec().kind == FieldKind::kMulti) bytes += kEntries * dim * 4;
  }
  return bytes;
}

/// The next block is read while one is loaded.
class DirectoryImport {
 public:
  DirectoryImport(Collection& collection, RowReader& reader, BadRows& bad_rows, ImportRun& run,
                  std::uint32_t batch)
      : collection_(collection),
        fields_(collection.config()->fields),
        reader_(reader),
        bad_rows_(bad_rows),
        run_(run),
        batch_(batch),
        row_bytes_(guessed_row_bytes(reader)) {}

  Result<> import_all() {
    Result<RowBlock> block = read();
    while (block && block->first_row < block->end_row) {
      row_bytes_ = std::max(1.0, static_cast<double>(size_bytes(*block)) /
                                     static_cast<double>(block->end_row - block->first_row));
      auto next = std::async(std::launch::async, [this] { return read(); });
      const auto loaded = load(*block);
      Result<RowBlock> following = next.get();
      QV_TRY(loaded);
      if (stop_signal() != 0) return fail(Code::kCancelled, "interrupted");
      block = std::move(following);
    }
    if (!block) return fail(block.error());
    return {};
  }

 private:
  /// By the rows before it; where the next ones are much longer, by their bytes.
  Result<RowBlock> read() {
    const std::size_t least = rows_of(kLeastChunkBytes);
    if (batch_ != 0 && batch_ < least) return reader_.read({least, kLeastChunkBytes});
    const std::size_t most = rows_of(engine::kBulkChunkBytes);
    return reader_.read(
        {batch_ == 0 ? most : std::min<std::size_t>(batch_, most), engine::kBulkChunkBytes});
  }

  [[nodiscard]] std::size_t rows_of(std::uint64_t bytes) const {
    const double rows = static_cast<double>(bytes) / row_bytes_;
    return std::max<std::size_t>(1, static_cast<std::size_t>(rows));
  }

  /// What the collection refuses is looked at point by point.
  Result<> load(RowBlock& block) {
    Result<> stopped;
    if (has_json_vectors(block)) stopped = remove_unfit(block);
    auto loaded = load_aligned(block);
    if (!loaded && loaded.error().code() == Code::kInvalidArgument && stopped) {
      const std::size_t n_before = block.points.size();
      stopped = remove_unfit(block);
      if (block.points.size() == n_before) return loaded;
      loaded = load_aligned(block);
    }
    QV_TRY(loaded);
    return stopped;
  }

  [[nodiscard]] static bool has_json_vectors(const RowBlock& block) {
    return std::any_of(block.points.begin(), block.points.end(),
                       [](const RowPoint& point) { return !point.vectors.empty(); });
  }

  Result<> remove_unfit(RowBlock& block) {
    return app::remove_unfit(block, fields_, bad_rows_,
                             [this](std::uint64_t row) { return reader_.describe(row); });
  }

  Result<> load_aligned(RowBlock& block) {
    align_columns(block, fields_);
    ChunkOf chunk(block);
    const std::uint64_t n_points = n_points_ + block.points.size();
    chunk.chunk().cursor = to_json(run_.state_at(block.end_row, n_points));
    QV_TRY(collection_.bulk_load(chunk.chunk()));
    n_points_ = n_points;
    run_.advance(block.end_row, n_points);
    return {};
  }

  Collection& collection_;
  const std::vector<FieldSchema> fields_;
  RowReader& reader_;  ///< of the reading thread while there is one
  BadRows& bad_rows_;
  ImportRun& run_;
  const std::uint32_t batch_;
  double row_bytes_;
  std::uint64_t n_points_ = 0;
};

Result<CollectionIs> prepare_collection(Database& database, const ImportOptions& options,
                                        const ImportPlan& plan, const RowReader& reader) {
  if (database.exists(options.collection)) return CollectionIs::kOld;
  QV_TRY(std::string body, body_to_create(options, plan, reader.columns()));
  auto config = service::json::decode_collection(body, kAnyCollection);
  if (!config) return fail(Code::kInvalidArgument, config.error().text);
  if (auto named = service::json::check_collection_name(options.collection); !named) {
    return fail(Code::kInvalidArgument, named.error().text);
  }
  QV_TRY(check_collection(config->fields, options, plan, reader.columns()));
  QV_TRY(database.create_collection(options.collection, *std::move(config)));
  QV_TRY(const auto collection, database.collection(options.collection));
  for (std::string index : plan.index_bodies) {
    auto decoded = service::json::decode_index(index);
    if (!decoded) return fail(Code::kInvalidArgument, decoded.error().text);
    QV_TRY(collection->create_index(*decoded, engine::Ack::kVisible));
  }
  return CollectionIs::kNew;
}

Result<int> import_into(Database& database, const ImportOptions& options, const ImportPlan& plan) {
  BadRows bad_rows(options.skip_bad ? OnBadRow::kSkip : OnBadRow::kStop);
  QV_TRY(const auto reader, RowReader::open(plan, bad_rows));
  QV_TRY(auto identity, import_identity(options, plan));
  QV_TRY(const CollectionIs is, prepare_collection(database, options, plan, *reader));
  QV_TRY(const auto collection, database.collection(options.collection));
  QV_TRY(check_collection(collection->config()->fields, options, plan, reader->columns()));
  CursorStore store(*collection);
  QV_TRY(ImportState state, starting_state(options, std::move(identity), *reader, store, is));
  ImportRun run(options, store, std::move(state), *reader, bad_rows);
  if (run.is_finished()) return 0;
  QV_TRY(run.begin());
  DirectoryImport job(*collection, *reader, bad_rows, run, options.batch);
  QV_TRY(const int status, run.end(job.import_all()));
  if (status == 0 && plan.ids_may_repeat()) {
    say_total(options.collection, collection->count(std::nullopt, {}));
  }
  return status;
}

}  // namespace

Result<int> import_to_directory(const ImportOptions& options, const ImportPlan& plan) {
  if (!options.create && !std::filesystem::is_directory(options.data_dir)) {
    return fail(Code::kNotFound, fmt::format("there is no data directory {}", options.data_dir));
  }
  set_up_log({.level = LogLevel::kWarning});
  engine::DatabaseOptions database_options;
  database_options.data_dir = options.data_dir;
  QV_TRY(const auto database, Database::open(std::move(database_options)));
  const auto imported = import_into(*database, options, plan);
  const auto closed = database->close();
  if (imported && !closed) return fail(closed.error());
  return imported;
}

}  // namespace quiver::app
