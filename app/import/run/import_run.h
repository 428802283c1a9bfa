// One run of an import: from the state it found to the state it leaves, and what it says about it.
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

/// The state to go on from: that of an earlier run of the same import, or a fresh one. A state of
/// another import is kFailedPrecondition unless that one is finished or not wanted any more. It is
/// the same import if a text source was mended behind the row that stopped it.
[[nodiscard]] Result<ImportState> starting_state(const ImportOptions& options,
                                                 std::vector<std::string> identity,
                                                 const RowReader& reader, const StateStore& store,
                                                 CollectionIs collection);

/// Says how many points a collection has now, where several rows may have become one. What cannot
/// be counted is not said: the import is done all the same.
void say_total(const std::string& collection, const Result<std::uint64_t>& n_points);

/// One thread. Its arguments outlive it.
class ImportRun {
 public:
  ImportRun(const ImportOptions& options, StateStore& store, ImportState state, RowReader& reader,
            BadRows& bad_rows);

  /// An earlier run did everything; says so.
  [[nodiscard]] bool is_finished() const;
  /// Brings the reader to the first row to do, and saves the state, which shows that it can be.
  Result<> begin();

  /// Rows before `next_row` are done; `n_points`, of them, since the run began.
  void advance(std::uint64_t next_row, std::uint64_t n_points);
  [[nodiscard]] const ImportState& state() const { return state_; }
  [[nodiscard]] std::uint64_t next_row() const { return state_.next_row; }
  /// The state as it will be then.
  [[nodiscard]] ImportState state_at(std::uint64_t next_row, std::uint64_t n_points) const;
  /// Saves if that was some time ago.
  Result<> save_sometimes();

  /// Saves and says what was done; `n_points_ahead`, of rows that are not before `next_row`,
  /// were sent and may be there. The exit status; an error says how to go on.
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
