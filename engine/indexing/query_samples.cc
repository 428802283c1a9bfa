#include "engine/indexing/query_samples.h"

#include <fmt/format.h>

#include <utility>

#include "base/observe/log.h"
#include "engine/model/config.h"

namespace quiver::engine {
namespace {

/// An arbitrary constant.
constexpr std::uint64_t kSampleSeed = 0x7175657269657321u;

std::string sample_file(std::size_t field) { return fmt::format("queries-{}", field); }

void remove_samples(Directory& directory, std::size_t n_fields) {
  for (std::size_t field = 0; field < n_fields; ++field) {
    if (!directory.exists(sample_file(field))) continue;
    if (auto removed = directory.remove_file(sample_file(field)); !removed) {
      log_error("recorded queries could not be removed: {}", removed.error().message());
    }
  }
}

}  // namespace

QuerySamples::QuerySamples(std::unique_ptr<Directory> directory,
                           const std::vector<FieldSchema>& fields)
    : directory_(std::move(directory)) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    Field& field = fields_.emplace_back();
    if (fields[i].kind != FieldKind::kMulti || is_dropped(fields[i])) continue;
    field.file = sample_file(i);
    field.reservoir = std::make_unique<QueryReservoir>(fields[i].dim, kSampleSeed + i);
    if (!directory_->exists(field.file)) continue;
    if (auto loaded = field.reservoir->load(*directory_, field.file); !loaded) {
      log_warning("{}; recording queries starts empty", loaded.error().message());
    }
  }
}

std::shared_ptr<QuerySamples> QuerySamples::open(std::unique_ptr<Directory> directory,
                                                 const std::vector<FieldSchema>& fields,
                                                 RecordQueries record) {
  if (record == RecordQueries::kYes) {
    return std::make_shared<QuerySamples>(std::move(directory), fields);
  }
  remove_samples(*directory, fields.size());
  return nullptr;
}

void QuerySamples::offer(std::size_t field, std::span<const float> tokens) {
  if (field < fields_.size() && fields_[field].reservoir != nullptr)
    fields_[field].reservoir->offer(tokens);
}

std::uint64_t QuerySamples::n_seen() const {
  std::uint64_t n = 0;
  for (const Field& field : fields_)
    n += field.reservoir != nullptr ? field.reservoir->n_seen() : 0;
  return n;
}

index::QuerySample QuerySamples::sample(std::size_t field) const {
  if (field >= fields_.size()) return {};
  const auto& reservoir = fields_[field].reservoir;
  return reservoir != nullptr ? reservoir->sample() : index::QuerySample();
}

bool QuerySamples::is_due(Clock::time_point now) {
  auto due_at = due_at_.load();
  return now >= due_at && due_at_.compare_exchange_strong(due_at, now + kSaveInterval);
}

void QuerySamples::save() {
  MutexLock lock(mutex_);
  if (!closed_) save_changed();
}

void QuerySamples::close() {
  MutexLock lock(mutex_);
  if (std::exchange(closed_, true)) return;
  save_changed();
}

void QuerySamples::save_changed() {
  for (Field& field : fields_) {
    if (field.reservoir == nullptr) continue;
    const std::uint64_t n_changes = field.reservoir->n_changes();
    if (n_changes == field.n_saved) continue;
    if (auto saved = field.reservoir->save(*directory_, field.file); saved) {
      field.n_saved = n_changes;
    } else {
      log_warning("queries are not saved: {}", saved.error().message());
    }
  }
}

}  // namespace quiver::engine
