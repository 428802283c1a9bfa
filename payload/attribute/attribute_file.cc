#include "payload/attribute/attribute_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/io/section_file.h"

namespace quiver::payload {
namespace {

constexpr SectionFormat kFormat{"attribute file", "QVATTRIB", "QVATTEND"};

/// Sections of kinds kPath to kObjects belong to the path with their field number.
enum SectionKind : std::uint32_t {
  kLeftOut = 1,  ///< `path \0 reason \0` for each
  kPath,
  kFacts,
  kCells,
  kRests,
  kOffsets,
  kRanges,
  kCounts,
  kIntegerLows,
  kIntegerHighs,
  kDoubleLows,
  kDoubleHighs,
  kTextOffsets,
  kTextBytes,
  kMomentLows,
  kMomentHighs,
  kObjects,
  kRevision,
};

/// Since revision 2, objects of arrays are counted and told apart. Revision 1 has no such section.
constexpr std::uint32_t kLatestRevision = 2;

struct Facts {
  std::uint32_t shift = 0;
  std::uint32_t has_text_highs = 0;
};

/// Calls `visit(kind, span)` for every array of an attribute.
template <class View, class Visit>
void for_each_array(View& view, Visit&& visit) {
  visit(kCells, view.cells);
  visit(kRests, view.rests);
  visit(kOffsets, view.offsets);
  visit(kRanges, view.ranges);
  visit(kCounts, view.counts);
  visit(kIntegerLows, view.integer_lows);
  visit(kIntegerHighs, view.integer_highs);
  visit(kDoubleLows, view.double_lows);
  visit(kDoubleHighs, view.double_highs);
  visit(kTextOffsets, view.text_offsets);
  visit(kTextBytes, view.text_bytes);
  visit(kMomentLows, view.moment_lows);
  visit(kMomentHighs, view.moment_highs);
  visit(kObjects, view.objects);
}

std::string encode(const std::vector<LeftOutPath>& left_out) {
  std::string text;
  for (const auto& [path, reason] : left_out) text += path + '\0' + reason + '\0';
  return text;
}

std::vector<LeftOutPath> decode(std::string_view text) {
  std::vector<LeftOutPath> left_out;
  const auto take = [&text] {
    const auto part = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    return std::string(part);
  };
  while (!text.empty()) {
    auto path = take();
    left_out.push_back({std::move(path), take()});
  }
  return left_out;
}

bool is_empty_or(std::size_t size, std::size_t wanted) { return size == 0 || size == wanted; }

/// True if the arrays of a view fit each other, so that no reader leaves them.
bool is_consistent(const AttributeView& view) {
  const std::size_t n_codes = view.cells.size();
  const std::uint32_t n_texts = view.n_texts();
  const auto ascend = [](const auto& offsets, std::uint64_t total) {
    return offsets.empty() || (offsets[0] == 0 && offsets[offsets.size() - 1] == total &&
                               std::is_sorted(offsets.begin(), offsets.end()));
  };
  const std::size_t n_ranges =
      (std::size_t{view.n_rows} + kRowsPerCellRange - 1) / kRowsPerCellRange;
  bool fits = view.n_entries() <= kMaxEntries && view.shift < 16 &&
              view.n_entries() <= view.entry_bound() && view.counts.size() == view.n_entries() &&
              is_empty_or(view.rests.size(), n_codes) &&
              is_empty_or(view.objects.size(), n_codes) &&
              is_empty_or(view.integer_highs.size(), view.integer_lows.size()) &&
              is_empty_or(view.double_highs.size(), view.double_lows.size()) &&
              is_empty_or(view.moment_lows.size(), n_texts) &&
              view.moment_lows.size() == view.moment_highs.size() &&
              ascend(view.text_offsets, view.text_bytes.size());
  if (view.offsets.empty()) {
    fits = fits && n_codes == view.n_rows && view.ranges.size() == n_ranges;
  } else {
    fits = fits && view.offsets.size() == std::size_t{view.n_rows} + 1 &&
           ascend(view.offsets, n_codes);
  }
  for (std::size_t i = 0; fits && i < n_codes; ++i) fits = view.entry_at(i) < view.n_entries();
  return fits;
}

Result<AttributeView> read_attribute(const SectionReader& reader, std::size_t field) {
  AttributeView view;
  view.n_rows = reader.n_rows();
  QV_TRY(const auto path, reader.get<char>(kPath, field));
  view.path.assign(path.begin(), path.end());
  QV_TRY(const auto facts, reader.get<Facts>(kFacts, field, 1));
  view.shift = facts[0].shift;
  view.has_text_highs = facts[0].has_text_highs != 0;
  Result<> status;
  for_each_array(view, [&]<class T>(SectionKind kind, SharedSpan<T>& span) {
    if (!status || !reader.has(kind, field)) return;
    auto read = reader.get<T>(kind, field);
    if (read) {
      span = *std::move(read);
    } else {
      status = fail(read.error());
    }
  });
  QV_TRY(status);
  if (!is_consistent(view))
    return reader.damaged(fmt::format("`{}` does not fit together", view.path));
  return view;
}

/// Which revision the file has; kDataLoss if it is unknown.
Result<std::uint32_t> read_revision(const SectionReader& reader) {
  if (!reader.has(kRevision)) return 1U;
  QV_TRY(const auto revision, reader.get<std::uint32_t>(kRevision, 0, 1));
  if (revision[0] == kLatestRevision) return kLatestRevision;
  return reader.damaged(
      fmt::format("it has revision {}, expected {}", revision[0], kLatestRevision));
}

}  // namespace

Result<> write_attributes(const AttributeSet& set, std::uint32_t n_rows, Directory& directory,
                          std::string_view file_name) {
  QV_TRY(auto file, directory.create_file(file_name));
  SectionWriter out(kFormat, std::move(file));
  const std::string left_out = encode(set.left_out);
  out.section(kLeftOut, std::span<const char>(left_out));
  if (set.has_objects) {
    out.section(kRevision, std::span<const std::uint32_t>(&kLatestRevision, 1));
  }
  for (std::size_t field = 0; field < set.attributes.size(); ++field) {
    const AttributeView& view = set.attributes[field];
    out.section(kPath, std::span<const char>(view.path), field);
    const Facts facts{view.shift, view.has_text_highs ? 1U : 0U};
    out.section(kFacts, std::span<const Facts>(&facts, 1), field);
    for_each_array(view, [&](SectionKind kind, const auto& span) {
      if (!span.empty()) out.section(kind, span.span(), field);
    });
  }
  return out.finish(n_rows);
}

Result<OpenedAttributes> open_attributes(const Directory& directory, std::string_view file_name,
                                         std::uint32_t n_rows) {
  QV_TRY(const auto reader, SectionReader::open(kFormat, directory, file_name));
  if (reader.n_rows() != n_rows) {
    return reader.damaged(fmt::format("it has {} rows, expected {}", reader.n_rows(), n_rows));
  }
  OpenedAttributes opened;
  opened.file = reader.file();
  QV_TRY(const auto left_out, reader.get<char>(kLeftOut));
  opened.set.left_out = decode({left_out.data(), left_out.size()});
  QV_TRY(const std::uint32_t revision, read_revision(reader));
  opened.set.has_objects = revision == kLatestRevision;
  for (std::size_t field = 0; reader.has(kPath, field); ++field) {
    QV_TRY(auto view, read_attribute(reader, field));
    opened.set.attributes.push_back(std::move(view));
  }
  return opened;
}

}  // namespace quiver::payload
