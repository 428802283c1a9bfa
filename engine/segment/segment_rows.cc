#include "engine/segment/segment_rows.h"

#include <utility>

#include "base/io/write_watch.h"
#include "index/listed_rows.h"

namespace quiver::engine {
namespace {

void add_part(const payload::AttributeSet& set, std::string_view path, std::uint32_t first_row,
              std::uint32_t n_rows, std::vector<payload::AttributePart>& parts) {
  const auto* view = set.find(path);
  if (view != nullptr || set.leads_nowhere(path)) parts.push_back({first_row, n_rows, view});
}

/// All rows that match, dead ones included; nullptr: not known, and not worth keeping yet.
VerdictCache::RowsPtr cached_verdict(const SegmentRows& rows, const SegmentData& data,
                                     const payload::Predicate& predicate, const Cancel& cancel) {
  const auto* identity = predicate.identity();
  if (!data.sealed || identity == nullptr) return nullptr;
  auto found = data.verdicts.find(*identity);
  if (found.rows != nullptr || !found.is_wanted) return found.rows;
  // A dead row's document may be damaged, which live rows do not care about.
  auto all = predicate.evaluate(rows, Bitset(data.n_rows, true), cancel);
  notice_writes();
  if (!all || !data.check_files()) return nullptr;
  const auto kept = std::make_shared<const Bitset>(*std::move(all));
  data.verdicts.keep(*identity, kept);
  return kept;
}

}  // namespace

std::vector<payload::AttributePart> SegmentRows::attributes(std::string_view path) const {
  std::vector<payload::AttributePart> parts;
  if (data_.attributes != nullptr) {
    add_part(data_.attributes->set, path, 0, data_.n_rows, parts);
  } else if (data_.growing_attributes != nullptr) {
    if (growing_.empty()) {
      growing_ = data_.growing_attributes->of_rows(
          data_.n_rows, [this](std::uint32_t row) { return data_.documents[row]; });
    }
    for (const auto& part : growing_) {
      add_part(part->set, path, part->first_row, part->n_rows, parts);
    }
  }
  return parts;
}

Result<std::optional<std::vector<std::uint32_t>>> few_matching_rows(
    const Segment& segment, const payload::Predicate& predicate, const Cancel& cancel) {
  if (!segment.data->sealed) return std::optional<std::vector<std::uint32_t>>();
  const SegmentRows rows(*segment.data);
  const auto known = [&] { return cached_verdict(rows, *segment.data, predicate, cancel); };
  return predicate.evaluate_few(rows, segment.deleted.get(),
                                segment.n_rows() / index::ListedRows::kRowsPerListed, known,
                                cancel);
}

Result<Bitset> many_matching_rows(const Segment& segment, const payload::Predicate& predicate,
                                  const Cancel& cancel) {
  Bitset live = segment.live();
  const SegmentRows rows(*segment.data);
  if (const auto cached = cached_verdict(rows, *segment.data, predicate, cancel)) {
    live &= *cached;
    return live;
  }
  return predicate.evaluate(rows, std::move(live), cancel);
}

Result<Bitset> matching_rows(const Segment& segment, const payload::Predicate* predicate,
                             const Cancel& cancel) {
  if (predicate == nullptr || predicate->always_true()) return segment.live();
  QV_TRY(const auto few, few_matching_rows(segment, *predicate, cancel));
  if (!few) return many_matching_rows(segment, *predicate, cancel);
  Bitset found(segment.n_rows());
  for (const std::uint32_t row : *few) found.set(row);
  return found;
}

}  // namespace quiver::engine
