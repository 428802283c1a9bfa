#include "engine/indexing/query_reservoir.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/hash.h"
#include "base/io/replace_sections.h"
#include "base/io/section_file.h"
#include "base/views.h"

namespace quiver::engine {
namespace {

constexpr SectionFormat kSampleFormat{"sample of queries", "QVQUERY1", "QVQUEND1"};

/// Sections: docs/formats/queries.md.
enum SampleSection : std::uint32_t {
  kSampleHead = 1,
  kQueryNumbers = 2,
  kQueryOffsets = 3,
  kQueryTokens = 4
};

/// Largest number of seen queries in a file, so that numbers never wrap.
constexpr std::uint64_t kMaxSeen = std::uint64_t{1} << 62;

struct SampleHead {
  std::uint64_t n_seen = 0;
  std::uint32_t dim = 0;
  std::uint32_t zero = 0;
};
static_assert(sizeof(SampleHead) == 16);

}  // namespace

/// Number i goes to slot i while there is room, then to each slot with probability 1 / (i + 1).
std::size_t QueryReservoir::slot_of(std::uint64_t number) const {
  if (number < kMaxQueries) return number;
  return hash_bytes(bytes_of(number), seed_) % (number + 1);
}

std::size_t QueryReservoir::n_kept_floats(std::size_t n) const {
  const std::size_t n_tokens = std::clamp<std::size_t>(kMaxFloats / dim_, 1, kMaxTokens);
  return std::min(n, n_tokens * dim_);
}

void QueryReservoir::offer(std::span<const float> tokens) {
  if (tokens.empty()) return;
  const std::uint64_t number = n_seen_.fetch_add(1, std::memory_order_relaxed);
  const std::size_t place = slot_of(number);
  if (place >= kMaxQueries) return;
  const auto kept = tokens.first(n_kept_floats(tokens.size()));
  std::vector<float> copy(kept.begin(), kept.end());
  MutexLock lock(mutex_);
  if (slots_.size() <= place) slots_.resize(place + 1);
  Slot& slot = slots_[place];
  // A thread with a later number may have come first.
  if (!slot.tokens.empty() && slot.number > number) return;
  slot.number = number;
  slot.tokens.swap(copy);  // the old tokens are freed outside the lock
  ++n_changes_;
}

index::QuerySample QueryReservoir::sample() const {
  index::QuerySample sample{dim_, {}};
  MutexLock lock(mutex_);
  sample.queries.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    if (!slot.tokens.empty()) sample.queries.push_back(slot.tokens);
  }
  return sample;
}

std::uint64_t QueryReservoir::n_changes() const {
  MutexLock lock(mutex_);
  return n_changes_;
}

Result<> QueryReservoir::save(Directory& directory, std::string_view name) const {
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint64_t> offsets = {0};
  std::vector<float> tokens;
  {
    MutexLock lock(mutex_);
    for (const Slot& slot : slots_) {
      if (slot.tokens.empty()) continue;
      numbers.push_back(slot.number);
      tokens.insert(tokens.end(), slot.tokens.begin(), slot.tokens.end());
      offsets.push_back(tokens.size());
    }
  }
  // Read after the slots, so that it exceeds every number in the file.
  const SampleHead head{n_seen(), dim_, 0};
  const auto write = [&](SectionWriter& writer) {
    writer.section(kSampleHead, std::span(&head, 1));
    writer.section<std::uint64_t>(kQueryNumbers, numbers);
    writer.section<std::uint64_t>(kQueryOffsets, offsets);
    writer.section<float>(kQueryTokens, tokens);
  };
  return replace_sections(directory, kSampleFormat, name,
                          static_cast<std::uint32_t>(numbers.size()), write);
}

Result<> QueryReservoir::load(const Directory& directory, std::string_view name) {
  std::uint64_t n_seen = 0;
  QV_TRY(auto slots, read(directory, name, n_seen));
  n_seen_ = n_seen;
  MutexLock lock(mutex_);
  slots_ = std::move(slots);
  return {};
}

Result<std::vector<QueryReservoir::Slot>> QueryReservoir::read(const Directory& directory,
                                                               std::string_view name,
                                                               std::uint64_t& n_seen) const {
  QV_TRY(const auto reader, SectionReader::open(kSampleFormat, directory, name));
  const std::uint32_t n = reader.n_rows();
  QV_TRY(const auto head, reader.get<SampleHead>(kSampleHead, 0, 1));
  QV_TRY(const auto numbers, reader.get<std::uint64_t>(kQueryNumbers, 0, n));
  QV_TRY(const auto offsets, reader.get<std::uint64_t>(kQueryOffsets, 0, std::uint64_t{n} + 1));
  QV_TRY(const auto tokens, reader.get<float>(kQueryTokens));
  QV_TRY(reader.check_offsets(offsets.span(), tokens.size()));
  if (head[0].dim != dim_) return reader.damaged("its tokens have another dimension");
  if (head[0].n_seen >= kMaxSeen) return reader.damaged("more queries than can have been seen");
  if (n > kMaxQueries) return reader.damaged("it holds more queries than are kept");
  if (!std::all_of(tokens.span().begin(), tokens.span().end(),
                   [](float value) { return std::isfinite(value); })) {
    return reader.damaged("a token is not finite");
  }
  std::vector<Slot> slots(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto query =
        tokens.span().subspan(offsets[i], length_between(offsets[i], offsets[i + 1]));
    const bool fits =
        !query.empty() && query.size() % dim_ == 0 && query.size() <= n_kept_floats(query.size());
    if (!fits || numbers[i] >= head[0].n_seen) return reader.damaged("a query is not as written");
    slots[i] = {numbers[i], {query.begin(), query.end()}};
  }
  n_seen = head[0].n_seen;
  return slots;
}

}  // namespace quiver::engine
