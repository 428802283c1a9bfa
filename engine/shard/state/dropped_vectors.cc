#include "engine/shard/state/dropped_vectors.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "engine/model/row.h"
#include "storage/rows/row_batch.h"

namespace quiver::engine {
namespace {

/// The number of dropped fields whose vectors are in no row of the store.
constexpr std::string_view kCleanedKey = "cleaned-fields";
/// Bytes of rows, and rows, that a step reads: updates wait so long.
constexpr std::size_t kStepBytes = 1U << 20;
constexpr std::size_t kStepRows = 1000;

}  // namespace

std::size_t DroppedVectors::n_dropped() const {
  const auto config = common_.config.load();
  return static_cast<std::size_t>(std::ranges::count_if(config->fields, is_dropped));
}

Result<bool> DroppedVectors::is_due() {
  const std::size_t n = n_dropped();
  if (n == 0) return false;
  if (!n_cleaned_) {
    QV_TRY(const auto text, common_.store().meta(kCleanedKey));
    std::size_t cleaned = 0;
    if (text) std::from_chars(text->data(), text->data() + text->size(), cleaned);
    n_cleaned_ = cleaned;
  }
  return *n_cleaned_ != n;
}

Result<bool> DroppedVectors::step() {
  if (!n_cleaning_) {
    n_cleaning_ = n_dropped();
    next_.reset();
  }
  const auto config = common_.config.load();
  storage::RowBatch batch;
  std::size_t n_rows = 0;
  std::size_t n_bytes = 0;
  std::optional<PointId> rest;
  Result<> read;
  QV_TRY(common_.store().scan_rows(next_, [&](const PointId& id, std::string_view bytes) {
    if (n_rows++ == kStepRows || n_bytes > kStepBytes) {
      rest = id;
      return false;
    }
    n_bytes += bytes.size();
    const auto row = decode_row(id, bytes, config->fields);
    if (!row) read = fail(row.error());
    if (!row) return false;
    const std::string cleaned = encode_row(*row);
    if (cleaned.size() < bytes.size()) batch.put_row(id, cleaned);
    return true;
  }));
  QV_TRY(read);
  if (!batch.empty()) QV_TRY(common_.store().write(batch));
  next_ = rest;
  return !rest;
}

Result<> DroppedVectors::note_done() {
  const std::size_t n = n_cleaning_.value_or(0);
  n_cleaning_.reset();
  storage::RowBatch batch;
  batch.put_meta(kCleanedKey, std::to_string(n));
  QV_TRY(common_.store().write(batch));
  n_cleaned_ = n;
  return {};
}

}  // namespace quiver::engine
