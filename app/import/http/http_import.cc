#include "app/import/http/http_import.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "app/import/reading/unfit.h"

namespace quiver::app {
namespace {

/// Size of a request: large enough to hide its overhead, small enough that several connections
/// share the queue.
constexpr std::size_t kTargetBodyBytes = 1 << 20;
constexpr std::size_t kMaxBlockRows = 10'000;
constexpr auto kTickInterval = std::chrono::milliseconds(50);

/// Estimated bytes of a row in a body, before the first answer gives measured ones.
double guessed_body_bytes(const RowReader& reader) {
  constexpr double kBytesPerFloat = 12;
  constexpr double kGuessedEntries = 100;  // non-zeros or tokens per row
  double bytes = 500;
  for (const ColumnReader& column : reader.columns()) {
    const double dim = column.shape().dim;
    if (column.spec().kind == FieldKind::kDense) bytes += dim * kBytesPerFloat;
    if (column.spec().kind == FieldKind::kSparse) bytes += kGuessedEntries * 2 * kBytesPerFloat;
    if (column.spec().kind == FieldKind::kMulti) {
      bytes += kGuessedEntries * dim * bytes_per_value(column.type());
    }
  }
  return bytes;
}

/// The reading thread, the sending threads and their shared state.
class HttpImport {
 public:
  HttpImport(const HttpTarget& target, const HttpImportOptions& options, RowReader& reader,
             BadRows& bad_rows, Acknowledged& acknowledged)
      : target_(target),
        options_(options),
        reader_(reader),
        bad_rows_(bad_rows),
        acknowledged_(acknowledged),
        queue_(std::size_t{2} * options.connections, options.ids),
        row_bytes_(guessed_body_bytes(reader)),
        n_working_(options.connections) {}

  Result<> run(const std::function<bool(const Acknowledged::Progress&)>& tick) {
    std::vector<std::thread> threads;
    threads.emplace_back([this] { read_all(); });
    for (std::uint32_t i = 0; i < options_.connections; ++i) {
      threads.emplace_back([this] { send_all(); });
    }
    while (n_working_ > 0) {
      std::this_thread::sleep_for(kTickInterval);
      if (!tick(acknowledged_.progress())) stop();
    }
    for (std::thread& thread : threads) thread.join();
    tick(acknowledged_.progress());
    MutexLock lock(mutex_);
    if (error_) return fail(*error_);
    if (stopping_) return fail(Code::kCancelled, "interrupted");
    if (reading_error_) return fail(*reading_error_);
    return {};
  }

 private:
  void stop() {
    stopping_ = true;
    queue_.stop();
  }

  void fail_at(std::uint64_t row, Error error) QV_EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      if (error.code() != Code::kCancelled && (!error_ || row < error_row_)) {
        error_ = std::move(error);
        error_row_ = row;
      }
    }
    stop();
  }

  [[nodiscard]] std::size_t rows_per_block() const {
    if (options_.batch > 0) return options_.batch;
    const double rows = static_cast<double>(kTargetBodyBytes) / row_bytes_;
    return std::clamp<std::size_t>(static_cast<std::size_t>(rows), 1, kMaxBlockRows);
  }

  /// Keeps a reading error until the rows before it are sent.
  void read_all() {
    while (true) {
      auto block = reader_.read({.rows = rows_per_block()}, queue_.used());
      if (!block) {
        reading_error_ = block.error();
        break;
      }
      if (block->first_row == block->end_row || !queue_.push(*std::move(block))) break;
    }
    queue_.finish();
  }

  BlockSender::Outcome send(BlockSender& sender, RowBlock& block) {
    Result<> stopped;
    if (would_be_clamped(block, options_.fields)) {
      stopped = remove_unfit(block, options_.fields, bad_rows_, describe());
    }
    auto outcome = sender.send(block);
    if (!outcome.error && !stopped) outcome.error = stopped.error();
    return outcome;
  }

  [[nodiscard]] std::function<std::string(std::uint64_t)> describe() const {
    return [this](std::uint64_t row) { return reader_.describe(row); };
  }

  void send_all() {
    BlockSender sender(target_, bad_rows_, stopping_, describe());
    while (auto block = queue_.pop()) {
      const auto outcome = send(sender, *block);
      acknowledged_.add(block->first_row, outcome.end_row, outcome.n_points, outcome.n_points_sent);
      queue_.done(*std::move(block));
      if (outcome.n_points > 0) {
        row_bytes_ = static_cast<double>(outcome.n_bytes) / static_cast<double>(outcome.n_points);
      }
      if (outcome.error) fail_at(outcome.end_row, *outcome.error);
    }
    --n_working_;
  }

  const HttpTarget& target_;
  const HttpImportOptions options_;
  RowReader& reader_;
  BadRows& bad_rows_;
  Acknowledged& acknowledged_;
  BlockQueue queue_;
  std::atomic<double> row_bytes_;  ///< last measured bytes per row of a body
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint32_t> n_working_;
  std::optional<Error> reading_error_;  ///< owned by the reading thread until it ends
  Mutex mutex_;
  std::optional<Error> error_ QV_GUARDED_BY(mutex_);
  std::uint64_t error_row_ QV_GUARDED_BY(mutex_) = 0;
};

}  // namespace

Result<> import_over_http(const HttpTarget& target, const HttpImportOptions& options,
                          RowReader& reader, BadRows& bad_rows, Acknowledged& acknowledged,
                          const std::function<bool(const Acknowledged::Progress&)>& tick) {
  return HttpImport(target, options, reader, bad_rows, acknowledged).run(tick);
}

}  // namespace quiver::app
