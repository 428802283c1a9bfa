#include "engine/query/cost.h"

#include <algorithm>
#include <variant>

#include "engine/model/query_vectors.h"
#include "engine/query/plan.h"
#include "engine/query/shared_pass.h"
#include "engine/query/stages/nearest.h"
#include "engine/query/stages/segment_search.h"
#include "engine/segment/segment_filter.h"
#include "gpu/document_job.h"
#include "index/exact/type.h"
#include "payload/filter/predicate.h"

namespace quiver::engine {
namespace {

/// Estimated bytes of one part of the query.
struct ReadBytes {
  std::uint64_t payload = 0;
  std::uint64_t vectors = 0;
  std::uint64_t scanned = 0;    ///< part of `vectors`: all rows of segments
  std::uint64_t on_device = 0;  ///< part of `vectors`: what a device reads

  ReadBytes& operator+=(const ReadBytes& other) {
    payload += other.payload;
    vectors += other.vectors;
    scanned += other.scanned;
    on_device += other.on_device;
    return *this;
  }
};

/// About what is read for each row; postings depend on the words. Growing segments may have
/// to make postings first.
std::uint64_t text_bytes(const SegmentData& data, const Query& query) {
  constexpr std::uint64_t kSealedBytesPerRow = 1, kGrowingBytesPerRow = 8;
  const auto* match = std::get_if<TextMatch>(&query.kind);
  if (match == nullptr) return 0;
  const std::uint64_t n_keys = std::max<std::uint64_t>(1, match->keys.size());
  return n_keys * data.n_rows * (data.sealed ? kSealedBytesPerRow : kGrowingBytesPerRow);
}

/// Values of all vectors of tokens.
std::uint64_t n_token_values(const Query& query) {
  std::uint64_t n = 0;
  for (const QueryVector* vector : vectors_of(query.kind)) {
    const auto* value = std::get_if<VectorValue>(vector);
    const auto* tokens = value == nullptr ? nullptr : std::get_if<MultiVector>(value);
    if (tokens != nullptr) n += tokens->values.size();
  }
  return n;
}

/// Rows with a vector that may be hits. `predicate`: nullptr: there is no filter.
std::size_t count_allowed(const Segment& segment, std::size_t field,
                          const payload::Predicate* predicate) {
  if (predicate != nullptr) return estimate_allowed(segment, field, predicate).expected;
  // Deleted rows may all have had a vector.
  const std::uint32_t n_present = segment.data->fields[field].n_present;
  return n_present - std::min(n_present, segment.n_deleted);
}

/// Whether a device that has the rows, or the index, answers the query. `is_scan`: by a look at
/// all rows. `n_allowed`: rows with a vector that may be hits.
bool is_for_device(const CollectionConfig& config, const Segment& segment, std::size_t field,
                   const Query& query, bool is_scan, std::size_t n_allowed) {
  // Indexes rank more rows than are wanted, and a device ranks no more than kMaxHits.
  constexpr std::uint64_t kMostByIndex = 200;
  if (query.params.device == DeviceChoice::kCpu) return false;
  const SegmentData& data = *segment.data;
  const auto& searcher = *data.searchers[field];
  const auto& schema = data.fields[field].schema;
  const bool is_sparse = schema.kind == FieldKind::kSparse;
  const bool ranks_few =
      n_ranked(query) <= kMostByIndex && query.params.index.empty() && !query.params.oversampling;
  if ((!is_scan || is_sparse) && !ranks_few) return false;
  const bool is_there =
      is_scan ? searcher.is_on_device(n_allowed) : searcher.is_index_on_device(n_allowed);
  if (!is_there) return false;
  const auto& index = find_vector_index(config.vector_indexes, schema.name);
  if (index.on_gpu == gpu::Placing::kNever) return false;
  if (!is_scan) return true;
  const auto& column = data.fields[field];
  if (column.schema.kind != FieldKind::kMulti) return true;
  return !gpu::DocumentJob::is_too_large(column.multi().tokens.rows().n_rows,
                                         n_token_values(query));
}

/// Without prefetches. `predicate`: what says how many rows a device compares; nullptr: all.
ReadBytes read_bytes(const CollectionConfig& config, const Snapshot& snapshot, const Query& query,
                     const payload::Predicate* predicate = nullptr) {
  ReadBytes bytes;
  const std::uint64_t n_vectors = std::max<std::uint64_t>(1, vectors_of(query.kind).size());
  for (const Segment* segment : snapshot.segments()) {
    const auto& data = *segment->data;
    if (query.filter) bytes.payload += data.documents.bytes.size();
    bytes.payload += text_bytes(data, query);
    for (std::size_t f = 0; f < data.fields.size(); ++f) {
      const auto& schema = data.fields[f].schema;
      if (schema.name != query.using_field) continue;
      const auto& searcher = *data.searchers[f];
      const bool is_exact = is_exact_search(schema.kind, query.params);
      std::uint64_t n =
          n_vectors * (is_exact ? searcher.bytes_per_exact_search() : searcher.bytes_per_search());
      const std::size_t n_allowed = count_allowed(*segment, f, predicate);
      // A filter may allow rows of few segments only.
      if (predicate != nullptr) {
        const double n_present = std::max(1U, data.fields[f].n_present);
        const double share = static_cast<double>(n_allowed) / n_present;
        n = static_cast<std::uint64_t>(static_cast<double>(n) * share);
      }
      bytes.vectors += n;
      const bool is_scan = compares_all_rows(data, f, query.params);
      if (is_scan) bytes.scanned += n;
      if (is_for_device(config, *segment, f, query, is_scan, n_allowed)) bytes.on_device += n;
    }
  }
  return bytes;
}

/// Queries that share a pass; 1: none does. A group reads what is not on a device again for each
/// tile of queries, and of documents of tokens for each query: so that must be little.
/// Sparse searches share nothing on the CPU.
std::size_t most_together(const ReadBytes& bytes, FieldKind kind, const Query& query) {
  const std::uint64_t on_cpu = bytes.vectors - bytes.on_device;
  const std::uint64_t most_on_cpu = bytes.vectors / (kind == FieldKind::kMulti ? 64 : 8);
  const bool is_on_device =
      bytes.on_device > 0 && on_cpu <= most_on_cpu && n_ranked(query) <= gpu::kMaxHits;
  if (is_on_device) return QueryCost::kMostOnDevice;
  if (kind == FieldKind::kSparse || bytes.scanned <= bytes.vectors / 2) return 1;
  return kind == FieldKind::kDense ? QueryCost::kMostOnCpu : 1;
}

/// Of the field that the query names.
FieldKind kind_of_field(const Snapshot& snapshot, const Query& query) {
  for (const Segment* segment : snapshot.segments()) {
    for (const auto& field : segment->data->fields) {
      if (field.schema.name == query.using_field) return field.schema.kind;
    }
  }
  return FieldKind::kSparse;
}

/// Analysing a byte of text takes about as long as reading so many.
constexpr std::uint64_t kBytesPerAnalyzedByte = 16;

/// Payloads of `n` points.
std::uint64_t payload_bytes_of(const Snapshot& snapshot, double n) {
  double n_rows = 0, n_bytes = 0;
  for (const Segment* segment : snapshot.segments()) {
    n_rows += segment->n_rows();
    n_bytes += static_cast<double>(segment->data->documents.bytes.size());
  }
  const double share = std::min(1.0, n / std::max(1.0, n_rows));
  return static_cast<std::uint64_t>(share * n_bytes);
}

/// Payloads of the points that a formula scores.
std::uint64_t scored_payload_bytes(const Snapshot& snapshot, const Query& query) {
  if (!std::holds_alternative<Formula>(query.kind)) return 0;
  double n_scored = 0;
  for (const auto& prefetch : query.prefetch) n_scored += static_cast<double>(prefetch.limit);
  return payload_bytes_of(snapshot, n_scored);
}

std::uint64_t highlighted_bytes(const Snapshot& snapshot, const Query& query) {
  if (!query.highlight) return 0;
  return kBytesPerAnalyzedByte * payload_bytes_of(snapshot, static_cast<double>(query.limit));
}

ReadBytes read_bytes_of_tree(const CollectionConfig& config, const Snapshot& snapshot,
                             const Query& query) {
  ReadBytes bytes = read_bytes(config, snapshot, query);
  bytes.payload += scored_payload_bytes(snapshot, query);
  for (const auto& prefetch : query.prefetch) {
    bytes += read_bytes_of_tree(config, snapshot, prefetch);
  }
  return bytes;
}

/// The same with a filter, of which the CPU shares none. `n`: without it.
std::size_t most_filtered(const CollectionConfig& config, const Snapshot& snapshot,
                          const Query& query, FieldKind kind, std::size_t n) {
  const bool has_target = !query.params.target.is_none();
  if (n != QueryCost::kMostOnDevice || has_target) return 1;
  const auto predicate = payload::compile(*query.filter, config.indexes);
  if (!predicate) return 1;  // the search says what is wrong
  n = most_together(read_bytes(config, snapshot, query, predicate->get()), kind, query);
  if (n != QueryCost::kMostOnDevice) return 1;
  n = most_filtered_together(snapshot);
  return n > QueryCost::kMostOnCpu ? n : 1;
}

}  // namespace

QueryCost estimate_cost(const Snapshot& snapshot, const Query& query,
                        const CollectionConfig& config) {
  const ReadBytes bytes = read_bytes_of_tree(config, snapshot, query);
  QueryCost cost;
  cost.read_bytes = bytes.payload + bytes.vectors + highlighted_bytes(snapshot, query);
  if (!is_plain_nearest(query)) return cost;
  const FieldKind kind = kind_of_field(snapshot, query);
  std::size_t n = most_together(bytes, kind, query);
  if (query.filter) n = most_filtered(config, snapshot, query, kind, n);
  cost.can_share_pass = n > 1;
  if (cost.can_share_pass) cost.most_together = n;
  return cost;
}

}  // namespace quiver::engine
