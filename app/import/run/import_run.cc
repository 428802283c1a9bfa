#include "app/import/run/import_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "app/common/signals.h"
#include "app/import/run/identity.h"
#include "app/import/run/text_before.h"

namespace quiver::app {
namespace {

constexpr double kSaveIntervalS = 1;
constexpr std::size_t kMaxBadRowsPrinted = 100;

std::optional<std::uint64_t> total_of(const RowReader& reader) {
  const auto end = reader.end_row();
  return end ? std::optional(*end - reader.first_row()) : std::nullopt;
}

void print_bad_rows(const BadRows& bad_rows) {
  const std::uint64_t n = bad_rows.count();
  if (n == 0) return;
  std::printf("left out %s bad row%s:\n", with_commas(n).c_str(), n == 1 ? "" : "s");
  const auto rows = bad_rows.before(UINT64_MAX);
  const std::size_t n_printed = std::min(rows.size(), kMaxBadRowsPrinted);
  for (std::size_t i = 0; i < n_printed; ++i) std::printf("  %s\n", rows[i].text.c_str());
  if (n > n_printed) std::printf("  and %s more\n", with_commas(n - n_printed).c_str());
}

/// True if only text sources changed, and only after the rows imported so far.
bool is_mended(const ImportState& state, const std::vector<std::string>& now,
               const ImportPlan& plan) {
  if (state.text_digest.empty() || !differ_in_texts_only(state.identity, now, plan)) return false;
  const auto digest = digest_of_texts(plan, state.next_row);
  return digest && *digest == state.text_digest;
}

}  // namespace

Result<ImportState> starting_state(const ImportOptions& options, std::vector<std::string> identity,
                                   const RowReader& reader, const StateStore& store,
                                   CollectionIs collection) {
  ImportState fresh{
      .identity = std::move(identity), .next_row = reader.first_row(), .bad_rows = {}};
  if (options.restart || collection == CollectionIs::kNew) return fresh;
  QV_TRY(auto found, store.load());
  if (!found) return fresh;
  const std::string difference = first_difference(found->identity, fresh.identity);
  if (difference.empty()) return *std::move(found);
  if (found->finished) return fresh;
  if (is_mended(*found, fresh.identity, reader.plan())) {
    found->identity = std::move(fresh.identity);
    return *std::move(found);
  }
  return fail(Code::kFailedPrecondition,
              fmt::format("another import is not finished (its state is {}; {}): finish it, or "
                          "forget it with --restart{}",
                          store.place(), difference,
                          options.data_dir.empty() ? ", or keep both with --state FILE" : ""));
}

void say_total(const std::string& collection, const Result<std::uint64_t>& n_points) {
  if (!n_points) return;
  std::printf("`%s` has %s points now; of rows with one id, the last counts\n", collection.c_str(),
              with_commas(*n_points).c_str());
}

ImportRun::ImportRun(const ImportOptions& options, StateStore& store, ImportState state,
                     RowReader& reader, BadRows& bad_rows)
    : options_(options),
      store_(store),
      state_(std::move(state)),
      first_row_(reader.first_row()),
      n_points_before_(state_.n_points),
      reader_(reader),
      bad_rows_(bad_rows),
      display_(state_.next_row - first_row_, total_of(reader),
               options.quiet ? Verbosity::kQuiet : Verbosity::kNormal) {}

bool ImportRun::is_finished() const {
  if (!state_.finished) return false;
  std::printf("finished already: %s points were imported (state %s); --restart starts again\n",
              with_commas(state_.n_points).c_str(), store_.place().c_str());
  return true;
}

Result<> ImportRun::begin() {
  if (state_.next_row > first_row_) {
    std::fprintf(stderr, "going on at row %llu\n",
                 static_cast<unsigned long long>(state_.next_row));
  }
  bad_rows_.restore(state_.n_bad, std::exchange(state_.bad_rows, {}));
  state_.text_digest.clear();
  QV_TRY(save());
  return reader_.skip_to(state_.next_row);
}

ImportState ImportRun::state_at(std::uint64_t next_row, std::uint64_t n_points) const {
  ImportState state = state_;
  state.next_row = next_row;
  state.n_points = n_points_before_ + n_points;
  state.bad_rows = bad_rows_.before(next_row);
  state.n_bad = bad_rows_.count_before(next_row);
  return state;
}

void ImportRun::advance(std::uint64_t next_row, std::uint64_t n_points) {
  state_.next_row = next_row;
  state_.n_points = n_points_before_ + n_points;
  display_.show(next_row - first_row_);
}

Result<> ImportRun::save() {
  saved_at_ = watch_.seconds();
  return store_.save(state_at(state_.next_row, state_.n_points - n_points_before_));
}

Result<> ImportRun::save_sometimes() {
  if (watch_.seconds() - saved_at_ < kSaveIntervalS) return {};
  return save();
}

Result<int> ImportRun::end(const Result<>& outcome, std::uint64_t n_points_ahead) {
  display_.clear();
  state_.finished = outcome.has_value();
  const bool is_bad_row = !outcome && outcome.error().code() == Code::kInvalidArgument;
  if (is_bad_row && n_points_ahead == 0) state_.text_digest = text_digest();
  const auto saved = save();
  if (outcome && !saved) return fail(saved.error());
  return outcome ? say_finished() : say_stopped(outcome.error());
}

/// Digest of the text before `next_row`; empty if the sources have changed since they were read.
std::string ImportRun::text_digest() const {
  auto digest = digest_of_texts(reader_.plan(), state_.next_row);
  const auto identity = import_identity(options_, reader_.plan());
  return digest && identity && *identity == state_.identity ? *digest : "";
}

int ImportRun::say_finished() const {
  if (state_.next_row == first_row_) {
    std::fprintf(stderr, "warning: %s has no rows: there was nothing to import\n",
                 reader_.main_source().c_str());
  }
  const double seconds = watch_.seconds();
  const std::uint64_t n_points = state_.n_points - n_points_before_;
  std::printf(
      "imported %s points into `%s` in %.1f s, %s points/s\n", with_commas(n_points).c_str(),
      options_.collection.c_str(), seconds,
      with_commas(static_cast<std::uint64_t>(static_cast<double>(n_points) / seconds)).c_str());
  if (n_points_before_ > 0) {
    std::printf("%s in all, with those of earlier runs\n", with_commas(state_.n_points).c_str());
  }
  print_bad_rows(bad_rows_);
  return 0;
}

Result<int> ImportRun::say_stopped(const Error& error) const {
  print_bad_rows(bad_rows_);
  const std::string how =
      fmt::format("{} points are imported; the same command goes on at row {} (state {})",
                  with_commas(state_.n_points), state_.next_row, store_.place());
  const bool is_signal = error.code() == Code::kCancelled && stop_signal() != 0;
  if (!is_signal) return fail(error.code(), error.message() + "\n" + how);
  std::fprintf(stderr, "interrupted: %s\n", how.c_str());
  return 128 + stop_signal();
}

}  // namespace quiver::app
