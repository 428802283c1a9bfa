#include "engine/collections/collection_bulk.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "base/observe/memory_budget.h"
#include "base/threads/task.h"

namespace quiver::engine {
namespace {

/// Size of one row file: the store's compactions may have to move it at once.
constexpr std::uint64_t kRowFileBytes = 64ULL << 20;
/// Memory of a load beside its vectors.
constexpr std::uint64_t kBytesBesideVectors = 30ULL << 20;
constexpr std::uint64_t kBytesPerPoint = 64;

std::uint64_t n_row_files(const BulkRows& rows, const BulkPart& part) {
  const std::uint64_t bytes = rows.data.data_bytes() / rows.data.n_rows * part.rows.size();
  return std::min<std::uint64_t>(part.rows.size(), 1 + bytes / kRowFileBytes);
}

BulkIntent intent_of(std::uint64_t load, const BulkStart& start, const BulkRows& rows,
                     const BulkPart& part) {
  const std::uint32_t first = part.rows.front().row;
  return {load,
          start.segment,
          n_row_files(rows, part),
          rows.data.ids[first],
          rows.data.seqs[first],
          Seq{to_number(start.first) + part.n_numbers - 1}};
}

/// The vectors in stored form, and what a load takes beside them.
std::uint64_t bytes_of(const BulkChunk& chunk) {
  std::uint64_t n_bytes = kBytesBesideVectors + chunk.ids.size() * kBytesPerPoint;
  for (const BulkField& field : chunk.fields) {
    n_bytes += std::visit([](const auto& rows) { return rows.values.size_bytes(); }, field.rows);
  }
  return n_bytes;
}

/// Gives the rows the sequence numbers that their shards reserved.
void set_seqs(BulkRows& rows, const std::vector<BulkStart>& starts, std::uint32_t n_shards) {
  std::vector<std::uint64_t> first(n_shards, 0);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    first[rows.parts[i].shard] = to_number(starts[i].first);
  }
  std::vector<Seq> seqs(std::move(rows.numbers));
  for (std::size_t row = 0; row < seqs.size(); ++row) {
    const auto shard = shard_of(rows.data.ids[row], n_shards);
    seqs[row] = Seq{to_number(seqs[row]) + first[shard]};
  }
  rows.data.seqs = SharedSpan<Seq>::of(std::move(seqs));
}

}  // namespace

Result<> CollectionBulk::load(const BulkChunk& chunk) {
  MutexLock lock(mutex_);
  QV_TRY(settle());
  QV_TRY(const auto memory, process_memory().promise(bytes_of(chunk), "a bulk load"));
  QV_TRY(auto rows, make_bulk_rows(chunk, *config_.load(), background_));
  if (rows.parts.empty() && !chunk.cursor) return {};
  last_load_ = std::max(last_load_, bulk_of(0).decided_load()) + 1;
  open_load_ = OpenLoad{};
  open_load_->number = last_load_;
  open_load_->shards.reserve(rows.parts.size());
  auto loaded = guarded([&]() QV_NO_THREAD_SAFETY_ANALYSIS { return run(rows, chunk.cursor); });
  auto settled = try_to_settle();
  if (!settled) log_error("a bulk load is not over yet: {}", settled.error().message());
  return loaded ? settled : loaded;
}

Result<> CollectionBulk::run(BulkRows& rows, const std::optional<std::string>& cursor) {
  std::vector<BulkStart> starts;
  for (const BulkPart& part : rows.parts) {
    QV_TRY(auto start, bulk_of(part.shard).begin());
    open_load_->shards.push_back(part.shard);
    starts.push_back(std::move(start));
  }
  set_seqs(rows, starts, static_cast<std::uint32_t>(shards_.load()->size()));
  QV_TRY(write(rows, starts));
  QV_TRY(bulk_of(0).decide({open_load_->number, cursor}));
  open_load_->decided = true;
  return {};
}

Result<> CollectionBulk::write(const BulkRows& rows, const std::vector<BulkStart>& starts) {
  const Segment data{std::shared_ptr<const SegmentData>(std::shared_ptr<void>(), &rows.data),
                     nullptr, 0};
  std::vector<Result<SegmentData>> segments(starts.size(), fail(Code::kInternal, "not written"));
  std::vector<std::function<Result<>()>> tasks;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const BulkLoad& shard = bulk_of(rows.parts[i].shard);
    const std::span part(rows.parts[i].rows);
    tasks.emplace_back([&, i, part]() -> Result<> {
      segments[i] = shard.write_segment(starts[i], data, part);
      return segments[i] ? Result<>() : fail(segments[i].error());
    });
    const std::uint64_t n_files = n_row_files(rows, rows.parts[i]);
    for (std::uint64_t f = 0; f < n_files; ++f) {
      const std::size_t begin = part.size() * f / n_files;
      const std::size_t end = part.size() * (f + 1) / n_files;
      tasks.emplace_back([&, i, f, some = part.subspan(begin, end - begin)] {
        return shard.write_rows(starts[i], rows.data, some, f);
      });
    }
  }
  std::vector<Result<>> results(tasks.size());
  background_.parallel_for(
      tasks.size(), [&](std::size_t i) { results[i] = tasks[i](); }, Priority::kLow);
  for (auto& result : results) QV_TRY(std::move(result));
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const BulkIntent intent = intent_of(open_load_->number, starts[i], rows, rows.parts[i]);
    QV_TRY(bulk_of(rows.parts[i].shard).stage(intent, *std::move(segments[i])));
  }
  return {};
}

Result<> CollectionBulk::settle() {
  if (!open_load_) return {};
  if (open_load_->decided) {
    for (const std::uint32_t shard : open_load_->shards) QV_TRY(bulk_of(shard).finish());
  } else {
    // The first shard first: the others may forget the load only when no decision can turn up
    // any more.
    QV_TRY(bulk_of(0).cancel());
    for (const std::uint32_t shard : open_load_->shards) {
      if (shard != 0) QV_TRY(bulk_of(shard).cancel());
    }
  }
  open_load_.reset();
  unsettled_ = false;
  return {};
}

Result<> CollectionBulk::try_to_settle() {
  auto settled = guarded([this]() QV_NO_THREAD_SAFETY_ANALYSIS { return settle(); });
  if (settled) return settled;
  unsettled_ = true;
  run_logged("telling why a bulk load is not over", [&]() QV_NO_THREAD_SAFETY_ANALYSIS {
    for (const std::uint32_t shard : open_load_->shards) {
      bulk_of(shard).note_failure(settled.error());
    }
  });
  return settled;
}

void CollectionBulk::retry(std::shared_ptr<const void> owner) {
  if (!unsettled_) return;
  Task task([this, kept = std::move(owner)] {
    MutexLock lock(mutex_);
    (void)try_to_settle();
  });
  if (unsettled_.exchange(false)) background_.post(Priority::kLow, std::move(task));
}

}  // namespace quiver::engine
