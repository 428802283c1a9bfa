#include "index/dense/lists/search/lists_files.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "base/io/section_file.h"
#include "index/dense/lists/sections.h"
#include "index/index_file.h"
#include "index/progress.h"

namespace quiver::index::dense {
namespace {

constexpr std::string_view kListsFile = "lists.qvx";
constexpr SectionFormat kListsFormat{"dense index", "QVIVF001", "QVIVFEND"};
/// Exists if the header in the first file says that there are second codes.
constexpr std::string_view kSecondFile = "rows.qvx";
constexpr SectionFormat kSecondFormat{"dense index's second codes", "QVIVFROW", "QVIVFREN"};
/// Exists if the first file says so, by the section kHasSigns.
constexpr std::string_view kSignsFile = "row-signs.qvx";
constexpr SectionFormat kSignsFormat{"dense index's sign codes", "QVIVFSGN", "QVIVFSGE"};
/// Shares of the progress at which second codes and sign codes are written.
constexpr double kSecondCodesShare = 0.05;
constexpr double kSignsShare = 0.07;

Result<> write_second(const RowSource& source, const ListsBuildParams& params,
                      const BuildContext& context, Directory& out) {
  const std::uint32_t n_rows = source.column().n_rows;
  QV_TRY(auto file, out.create_file(kSecondFile));
  SectionWriter writer(kSecondFormat, std::move(file));
  QV_TRY(ByteRows::write(source, n_rows, params.refine_bits, context, writer));
  return writer.finish(n_rows);
}

Result<> write_signs(const RowSource& source, const BuildContext& context, Directory& out) {
  const FieldColumn& column = source.column();
  QV_TRY(auto file, out.create_file(kSignsFile));
  SectionWriter writer(kSignsFormat, std::move(file));
  const auto similarity = similarity_of(column.schema.metric);
  QV_TRY(SignRows::write(source, similarity, column.n_rows, context, writer));
  return writer.finish(column.n_rows);
}

}  // namespace

Result<> check_refine_bits(std::uint32_t bits) {
  if (bits == 0 || bits == 4 || bits == 8) return {};
  return fail(Code::kInvalidArgument, fmt::format("refine_bits is {}, must be 8, 4 or 0", bits));
}

Result<bool> write_lists(const RowSource& source, const ListsBuildParams& params,
                         std::span<const float> start, const BuildContext& context,
                         Directory& out) {
  const std::uint32_t n_rows = source.column().n_rows;
  if (params.refine_bits != 0) {
    const auto part = part_of(context, n_rows, 0, kSecondCodesShare);
    QV_TRY(write_second(source, params, part, out));
  }
  if (params.signs) {
    const auto part = part_of(context, n_rows, kSecondCodesShare, kSignsShare);
    QV_TRY(write_signs(source, part, out));
  }
  QV_TRY(auto file, out.create_file(kListsFile));
  SectionWriter writer(kListsFormat, std::move(file));
  const auto lists = part_of(context, n_rows, kSignsShare, 1);
  QV_TRY(const bool is_carried_over, Partition::write(source, params, start, lists, writer));
  if (params.signs) writer.section(kHasSigns, std::span<const std::uint32_t>({1}));
  QV_TRY(writer.finish(n_rows));
  return is_carried_over;
}

Result<OpenLists> open_lists(const Directory& directory, const ListsColumn& column) {
  std::uint64_t n_bytes = 0;
  const Similarity similarity = similarity_of(column.schema.metric);
  QV_TRY(const auto reader, open_index_file(directory, kListsFile, kListsFormat, column.n_rows,
                                            n_bytes, Reads::kScattered));
  QV_TRY(auto lists, Partition::open(reader, column.schema, column.n_rows));
  std::optional<ByteRows> second;
  if (const std::uint32_t bits = lists.facts().refine_bits; bits != 0) {
    if (!check_refine_bits(bits)) {
      return fail(Code::kDataLoss, fmt::format("a dense index has second codes of {} bits", bits));
    }
    QV_TRY(const auto rows, open_index_file(directory, kSecondFile, kSecondFormat, column.n_rows,
                                            n_bytes, Reads::kScattered));
    QV_TRY(second, ByteRows::open(rows, similarity, lists.facts().padded_dim, bits, column.n_rows));
  }
  std::optional<SignRows> signs;
  if (reader.has(kHasSigns)) {
    QV_TRY(const auto rows, open_index_file(directory, kSignsFile, kSignsFormat, column.n_rows,
                                            n_bytes, Reads::kScattered));
    QV_TRY(signs, SignRows::open(rows, similarity, lists.facts().padded_dim, column.n_rows));
  }
  return OpenLists{CandidateSearch({std::move(lists), std::move(second), std::move(signs)},
                                   similarity, column.n_rows, column.n_present),
                   n_bytes};
}

}  // namespace quiver::index::dense
