// One run of an import: loads and saves its state, and reports to the user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/import/plan/options.h"
#include "app/import/reading/bad_rows.h"
#include "app/import/reading/row_reader.h"
#include "app/import/run/progress.h"
#include "app/import/run/state_store.h"
#include "base/clock.h"
#include "base/result.h"

namespace quiver::app {

enum class CollectionIs : std::uint8_t { kOld, kNew };

/// The state to start from: that of an earlier run of the same import, or a new one. The import is
/// still the same if a text source changed only after the row that stopped it. kFailedPrecondition
/// if another import is unfinished, unless --restart discards it.
[[nodiscard]] Result<ImportState> starting_state(const ImportOptions& options,
                                                 std::vector<std::string> identity,
                                                 const RowReader& reader, const StateStore& store,
                                                 CollectionIs collection);

/// Prints the number of points in the collection: several rows may have become one point. Prints
/// nothing if counting failed, because the import itself is done.
void say_total(const std::string& collection, const Result<std::uint64_t>& n_points);

/// Use from one thread. The arguments outlive it.
class ImportRun {
 public:
  ImportRun(const ImportOptions& options, StateStore& store, ImportState state, RowReader& reader,
            BadRows& bad_rows);

  /// True if an earlier run finished the import; prints so.
  [[nodiscard]] bool is_finished() const;
  /// Moves the reader to the first row to import. Saves the state, so that a failure to save shows
  /// early.
  Result<> begin();

  /// Records that rows before `next_row` are done; `n_points` points since this run began.
  void advance(std::uint64_t next_row, std::uint64_t n_points);
  [[nodiscard]] const ImportState& state() const { return state_; }
  [[nodiscard]] std::uint64_t next_row() const { return state_.next_row; }
  /// The state after that `advance`.
  [[nodiscard]] ImportState state_at(std::uint64_t next_row, std::uint64_t n_points) const;
  /// Saves the state if the last save was some time ago.
  Result<> save_sometimes();

  /// Saves the state, prints the result and returns the exit status. `n_points_ahead` points of
  /// rows from `next_row` on were sent and may have been written. An error says how to continue.
  Result<int> end(const Result<>& outcome, std::uint64_t n_points_ahead = 0);

 private:
  Result<> save();
  [[nodiscard]] std::string text_digest() const;
  [[nodiscard]] int say_finished() const;
  [[nodiscard]] Result<int> say_stopped(const Error& error) const;

  const ImportOptions& options_;
  StateStore& store_;
  ImportState state_;
  const std::uint64_t first_row_;
  const std::uint64_t n_points_before_;
  RowReader& reader_;
  BadRows& bad_rows_;
  ProgressDisplay display_;
  Stopwatch watch_;
  double saved_at_ = 0;
};

}  // namespace quiver::app
