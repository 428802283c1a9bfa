#include "engine/indexing/query_samples.h"

#include <fmt/format.h>

#include <utility>

#include "base/observe/log.h"
#include "engine/model/config.h"
#include "kernels/kernels.h"

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
  add_fields(fields);
}

void QuerySamples::add_fields(const std::vector<FieldSchema>& fields) {
  fields_.grow(fields.size(), [&](std::size_t i) { return make_field(i, fields[i]); });
}

std::unique_ptr<QuerySamples::Field> QuerySamples::make_field(std::size_t number,
                                                              const FieldSchema& schema) {
  auto field = std::make_unique<Field>();
  if (is_dropped(schema)) return field;
  field->file = sample_file(number);
  field->is_multi = schema.kind == FieldKind::kMulti;
  const std::uint32_t dim = schema.kind == FieldKind::kSparse ? 0 : schema.dim;
  field->reservoir = std::make_unique<QueryReservoir>(dim, kSampleSeed + number, schema.kind);
  if (field->is_multi) load(*field);
  return field;
}

void QuerySamples::load(Field& field) {
  if (directory_->exists(field.file)) {
    if (auto loaded = field.reservoir->load(*directory_, field.file); !loaded) {
      log_warning("{}; recording queries starts empty", loaded.error().message());
    }
  }
  field.state = State::kReady;
}

void QuerySamples::begin(std::size_t number) {
  Field* field = fields_.find(number);
  if (field == nullptr || field->reservoir == nullptr) return;
  auto off = State::kOff;
  if (field->state.load(std::memory_order_relaxed) == State::kOff) {
    field->state.compare_exchange_strong(off, State::kBegun);
  }
}

QueryReservoir* QuerySamples::ready(std::size_t number) {
  Field* field = fields_.find(number);
  if (field == nullptr) return nullptr;
  const State state = field->state.load(std::memory_order_acquire);
  if (state == State::kOff) return nullptr;
  if (state == State::kBegun) {
    MutexLock lock(mutex_);
    if (field->state == State::kBegun) load(*field);
  }
  return field->reservoir.get();
}

void QuerySamples::renew(std::size_t field) {
  if (QueryReservoir* reservoir = ready(field)) reservoir->renew();
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

void QuerySamples::offer(std::size_t field, std::span<const float> values) {
  if (QueryReservoir* reservoir = ready(field)) reservoir->offer(values);
}

void QuerySamples::offer(std::size_t field, const SparseView& query) {
  if (QueryReservoir* reservoir = ready(field)) reservoir->offer(query);
}

std::uint64_t QuerySamples::n_seen() const {
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const Field* field = fields_.find(i);
    if (field->is_multi) n += field->reservoir->n_seen();
  }
  return n;
}

index::QuerySample QuerySamples::sample(std::size_t number) const {
  const Field* field = fields_.find(number);
  return field != nullptr && field->is_multi ? field->reservoir->sample() : index::QuerySample();
}

std::vector<VectorValue> QuerySamples::recorded(std::size_t field) {
  const QueryReservoir* reservoir = ready(field);
  return reservoir == nullptr ? std::vector<VectorValue>() : reservoir->recorded();
}

std::size_t QuerySamples::n_recorded(std::size_t field) {
  const QueryReservoir* reservoir = ready(field);
  return reservoir == nullptr ? 0 : reservoir->n_recorded();
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
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    Field& field = *fields_.find(i);
    if (field.state != State::kReady) continue;
    const std::uint64_t n_changes = field.reservoir->n_changes();
    if (n_changes == field.n_saved) continue;
    if (auto saved = field.reservoir->save(*directory_, field.file); saved) {
      field.n_saved = n_changes;
    } else {
      log_warning("queries are not saved: {}", saved.error().message());
    }
  }
}

std::vector<float> recorded_weights(const FieldSchema& schema, std::span<const float> tokens) {
  std::vector<float> weights;
  if (schema.metric != Metric::kCosine) return weights;
  for (std::size_t i = 0; i < tokens.size(); i += schema.dim) {
    weights.push_back(static_cast<float>(kernels().convert.norm(tokens.data() + i, schema.dim)));
  }
  return weights;
}

}  // namespace quiver::engine
