#include "engine/indexing/query_reservoir.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/hash.h"
#include "base/io/replace_sections.h"
#include "base/io/shared_span.h"

namespace quiver::engine {
namespace {

/// Multi-vector fields whose sample was never renewed.
constexpr SectionFormat kSampleFormat1{"sample of queries", "QVQUERY1", "QVQUEND1"};
/// All others.
constexpr SectionFormat kSampleFormat2{"sample of queries", "QVQUERY2", "QVQUEND2"};

/// Sections: docs/formats/queries.md.
enum SampleSection : std::uint32_t {
  kSampleHead = 1,
  kQueryNumbers = 2,
  kQueryOffsets = 3,
  kQueryValues = 4,
  kQueryIndices = 5
};

/// Largest number of seen queries in a file, so that numbers never wrap.
constexpr std::uint64_t kMaxSeen = std::uint64_t{1} << 62;

struct SampleHead1 {
  std::uint64_t n_seen = 0;
  std::uint32_t dim = 0;
  std::uint32_t zero = 0;
};
static_assert(sizeof(SampleHead1) == 16);

struct SampleHead2 {
  std::uint64_t n_seen = 0;
  std::uint64_t first = 0;
  std::uint32_t dim = 0;
  std::uint32_t kind = 0;
};
static_assert(sizeof(SampleHead2) == 24);

/// Numbers never change: they are in files.
std::uint32_t number_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::kDense:
      return 1;
    case FieldKind::kSparse:
      return 2;
    case FieldKind::kMulti:
      return 3;
  }
  return 0;
}

/// Fewer of long dense vectors, which cannot be cut.
std::size_t n_slots_for(FieldKind kind, std::uint32_t dim) {
  constexpr std::size_t kMaxAllFloats = QueryReservoir::kMaxFloats * QueryReservoir::kMaxQueries;
  if (kind != FieldKind::kDense || dim == 0) return QueryReservoir::kMaxQueries;
  return std::clamp<std::size_t>(kMaxAllFloats / dim, 1, QueryReservoir::kMaxQueries);
}

}  // namespace

QueryReservoir::QueryReservoir(std::uint32_t dim, std::uint64_t seed, FieldKind kind)
    : dim_(dim), seed_(seed), kind_(kind), n_slots_(n_slots_for(kind, dim)) {}

/// Query i of this sample goes to slot i while there is room, then to each slot with probability
/// 1 / (i + 1).
std::size_t QueryReservoir::slot_of(std::uint64_t number) const {
  const std::uint64_t first = first_.load(std::memory_order_relaxed);
  if (number < first) return n_slots_;  // from before `renew`
  if (number - first < n_slots_) return number - first;
  return hash_bytes(bytes_of(number), seed_) % (number - first + 1);
}

std::size_t QueryReservoir::n_kept_floats(std::size_t n) const {
  if (kind_ != FieldKind::kMulti) return n;
  const std::size_t n_tokens = std::clamp<std::size_t>(kMaxFloats / dim_, 1, kMaxTokens);
  return std::min(n, n_tokens * dim_);
}

void QueryReservoir::offer(std::span<const float> values) { offer({}, values); }

void QueryReservoir::offer(const SparseView& query) {
  if (query.values.size() <= kMaxEntries) offer(query.indices, query.values);
}

void QueryReservoir::offer(std::span<const std::uint32_t> indices, std::span<const float> values) {
  if (values.empty()) return;
  const std::uint64_t number = n_seen_.fetch_add(1, std::memory_order_relaxed);
  const std::size_t place = slot_of(number);
  if (place >= n_slots_) return;
  const auto kept = values.first(n_kept_floats(values.size()));
  std::vector<float> copy(kept.begin(), kept.end());
  std::vector<std::uint32_t> copied_indices(indices.begin(), indices.end());
  MutexLock lock(mutex_);
  if (slots_.size() <= place) slots_.resize(place + 1);
  Slot& slot = slots_[place];
  // A thread with a later number may have come first.
  if (!slot.values.empty() && slot.number > number) return;
  slot.number = number;
  slot.values.swap(copy);  // the old values are freed outside the lock
  slot.indices.swap(copied_indices);
  ++n_changes_;
}

void QueryReservoir::renew() {
  MutexLock lock(mutex_);
  first_ = n_seen();
  ++n_changes_;
}

index::QuerySample QueryReservoir::sample() const {
  index::QuerySample sample{dim_, {}};
  MutexLock lock(mutex_);
  sample.queries.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    if (!slot.values.empty()) sample.queries.push_back(slot.values);
  }
  return sample;
}

VectorValue QueryReservoir::value_of(const Slot& slot) const {
  if (kind_ == FieldKind::kDense) return slot.values;
  if (kind_ == FieldKind::kSparse) return SparseVector{slot.indices, slot.values};
  return MultiVector{static_cast<std::uint32_t>(slot.values.size() / dim_), dim_, slot.values};
}

std::vector<VectorValue> QueryReservoir::recorded() const {
  std::vector<VectorValue> queries;
  MutexLock lock(mutex_);
  for (const Slot& slot : slots_) {
    if (counts(slot)) queries.push_back(value_of(slot));
  }
  return queries;
}

std::size_t QueryReservoir::n_recorded() const {
  MutexLock lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return counts(slot); }));
}

std::uint64_t QueryReservoir::n_changes() const {
  MutexLock lock(mutex_);
  return n_changes_;
}

Result<> QueryReservoir::save(Directory& directory, std::string_view name) const {
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint64_t> offsets = {0};
  std::vector<float> values;
  std::vector<std::uint32_t> indices;
  std::uint64_t first = 0;
  {
    MutexLock lock(mutex_);
    first = first_;
    for (const Slot& slot : slots_) {
      if (slot.values.empty()) continue;
      numbers.push_back(slot.number);
      values.insert(values.end(), slot.values.begin(), slot.values.end());
      indices.insert(indices.end(), slot.indices.begin(), slot.indices.end());
      offsets.push_back(values.size());
    }
  }
  const bool is_version_1 = kind_ == FieldKind::kMulti && first == 0;
  // Seen queries are read after the slots, so that their number exceeds each one in the file.
  const SampleHead1 head1{n_seen(), dim_, 0};
  const SampleHead2 head2{head1.n_seen, first, dim_, number_of(kind_)};
  const auto write = [&](SectionWriter& writer) {
    if (is_version_1) {
      writer.section(kSampleHead, std::span(&head1, 1));
    } else {
      writer.section(kSampleHead, std::span(&head2, 1));
    }
    writer.section<std::uint64_t>(kQueryNumbers, numbers);
    writer.section<std::uint64_t>(kQueryOffsets, offsets);
    writer.section<float>(kQueryValues, values);
    if (kind_ == FieldKind::kSparse) writer.section<std::uint32_t>(kQueryIndices, indices);
  };
  return replace_sections(directory, is_version_1 ? kSampleFormat1 : kSampleFormat2, name,
                          static_cast<std::uint32_t>(numbers.size()), write);
}

Result<> QueryReservoir::load(const Directory& directory, std::string_view name) {
  QV_TRY(auto content, read(directory, name));
  MutexLock lock(mutex_);
  n_seen_ = content.n_seen;
  first_ = content.first;
  slots_ = std::move(content.slots);
  return {};
}

Result<QueryReservoir::Content> QueryReservoir::read_head(const SectionReader& reader,
                                                          Version version) const {
  Content content;
  std::uint32_t dim = 0;
  if (version == Version::k1) {
    QV_TRY(const auto head, reader.get<SampleHead1>(kSampleHead, 0, 1));
    content.n_seen = head[0].n_seen;
    dim = head[0].dim;
  } else {
    QV_TRY(const auto head, reader.get<SampleHead2>(kSampleHead, 0, 1));
    content.n_seen = head[0].n_seen;
    content.first = head[0].first;
    dim = head[0].dim;
    if (head[0].kind != number_of(kind_)) return reader.damaged("it is of another kind of field");
  }
  if (dim != dim_) return reader.damaged("its queries have another dimension");
  if (content.n_seen >= kMaxSeen) return reader.damaged("more queries than can have been seen");
  if (content.first > content.n_seen) return reader.damaged("it begins after the last query");
  return content;
}

bool QueryReservoir::fits(const Slot& slot) const {
  const std::size_t n = slot.values.size();
  switch (kind_) {
    case FieldKind::kDense:
      return n == dim_;
    case FieldKind::kMulti:
      return n != 0 && n % dim_ == 0 && n <= n_kept_floats(n);
    case FieldKind::kSparse:
      return n != 0 && n <= kMaxEntries &&
             std::adjacent_find(slot.indices.begin(), slot.indices.end(), std::greater_equal<>()) ==
                 slot.indices.end();
  }
  return false;
}

Result<QueryReservoir::Content> QueryReservoir::read(const Directory& directory,
                                                     std::string_view name) const {
  auto version = Version::k2;
  auto opened = SectionReader::open(kSampleFormat2, directory, name);
  if (!opened && kind_ == FieldKind::kMulti) {
    version = Version::k1;
    opened = SectionReader::open(kSampleFormat1, directory, name);
  }
  QV_TRY(const auto reader, std::move(opened));
  QV_TRY(auto content, read_head(reader, version));
  const std::uint32_t n = reader.n_rows();
  QV_TRY(const auto numbers, reader.get<std::uint64_t>(kQueryNumbers, 0, n));
  QV_TRY(const auto offsets, reader.get<std::uint64_t>(kQueryOffsets, 0, std::uint64_t{n} + 1));
  QV_TRY(const auto values, reader.get<float>(kQueryValues));
  QV_TRY(reader.check_offsets(offsets.span(), values.size()));
  std::span<const std::uint32_t> all_indices;
  SharedSpan<std::uint32_t> indices;
  if (kind_ == FieldKind::kSparse) {
    QV_TRY(indices, reader.get<std::uint32_t>(kQueryIndices, 0, values.size()));
    all_indices = indices.span();
  }
  if (n > n_slots_) return reader.damaged("it holds more queries than are kept");
  if (!std::all_of(values.span().begin(), values.span().end(),
                   [](float value) { return std::isfinite(value); })) {
    return reader.damaged("a value is not finite");
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::size_t length = length_between(offsets[i], offsets[i + 1]);
    const auto query = values.span().subspan(offsets[i], length);
    Slot slot{numbers[i], {query.begin(), query.end()}, {}};
    if (!all_indices.empty()) {
      const auto own = all_indices.subspan(offsets[i], length);
      slot.indices.assign(own.begin(), own.end());
    }
    if (!fits(slot) || slot.number >= content.n_seen) {
      return reader.damaged("a query is not as written");
    }
    content.slots.push_back(std::move(slot));
  }
  return content;
}

}  // namespace quiver::engine
