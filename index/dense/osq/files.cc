#include "index/dense/osq/files.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "encoders/osq/cells.h"
#include "encoders/osq/signs.h"
#include "index/dense/osq/balanced_partitions.h"
#include "index/dense/osq/partition_encoder.h"
#include "index/index_file.h"
#include "index/parallel.h"
#include "index/progress.h"
#include "kernels/kernels.h"

namespace quiver::index::dense::osq {
namespace {

/// Share of the progress at which partitions are known.
constexpr double kPartitionsShare = 0.1;

std::size_t words_for(std::uint32_t n_rows) { return (std::size_t{n_rows} + 63) / 64; }

using Members = std::vector<std::vector<std::uint32_t>>;

Members members_of(std::span<const std::uint32_t> partition_of, std::uint32_t n_partitions) {
  Members members(n_partitions);
  for (std::uint32_t i = 0; i < partition_of.size(); ++i) members[partition_of[i]].push_back(i);
  return members;
}

void write_members(const ScaledRows& rows, const Members& members, std::uint32_t n_rows,
                   SectionWriter& writer) {
  writer.begin(kMembers);
  for (const auto& of_partition : members) {
    std::vector<std::uint64_t> words(words_for(n_rows), 0);
    for (const std::uint32_t i : of_partition) {
      words[rows.row(i) / 64] |= std::uint64_t{1} << rows.row(i) % 64;
    }
    writer.add(std::as_bytes(std::span(words)));
  }
  writer.end();
}

void write_partition(const EncodedPartition& partition, std::size_t number, SectionWriter& writer) {
  writer.section(kPartition, std::span(&partition.facts, 1), number);
  writer.section(kMean, std::span(partition.klt.mean), number);
  writer.section(kDirections, std::span(partition.klt.directions), number);
  writer.section(kBits, std::span(partition.bits), number);
  writer.section(kLimits, std::span(partition.limits), number);
  writer.section(kSigns, std::span(partition.signs), number);
  writer.section(kCodes, std::span(partition.codes), number);
}

/// Encodes as many partitions at a time as there are threads, so that few are in memory.
Result<> write_partitions(const ScaledRows& rows, const Members& members,
                          const OsqBuildParams& params, const OsqFacts& facts,
                          const BuildContext& context, SectionWriter& writer) {
  const std::size_t n_threads = context.executor == nullptr ? 1 : context.executor->n_threads();
  std::uint64_t n_done = 0;
  for (std::size_t first = 0; first < members.size(); first += n_threads) {
    const std::size_t n = std::min(n_threads, members.size() - first);
    std::vector<std::optional<Result<EncodedPartition>>> encoded(n);
    for_each(context, n, [&](std::size_t i) {
      encoded[i] = encode_partition(rows, members[first + i], params, facts, context);
    });
    for (std::size_t i = 0; i < n; ++i) {
      if (!*encoded[i]) return fail(encoded[i]->error());
      write_partition(**encoded[i], first + i, writer);
      n_done += members[first + i].size();
    }
    if (context.progress) context.progress(n_done);
  }
  return {};
}

/// Length of the longest row.
double longest(const ScaledRows& rows) {
  std::vector<float> row(rows.dim());
  double length = 0;
  for (std::uint32_t i = 0; i < rows.n(); ++i) {
    rows.read(i, row.data());
    length = std::max(length, kernels().convert.norm(row.data(), row.size()));
  }
  return length;
}

/// `rotation`: nullopt if signs are those of principal coordinates.
Result<Partition> open_partition(const SectionReader& reader, std::uint32_t dim,
                                 const std::optional<encoders::Rotation>& rotation,
                                 std::size_t number) {
  const auto get_facts = [&] { return reader.get<PartitionFacts>(kPartition, number, 1); };
  QV_TRY(const auto facts, get_facts());
  const std::uint64_t n_out = facts[0].n_out;
  const std::uint64_t n_rows = facts[0].n_rows;
  if (n_out > dim) return reader.damaged("a partition has more directions than dimensions");
  QV_TRY(const auto mapped_bits, reader.get<std::uint8_t>(kBits, number, n_out));
  std::vector<std::uint8_t> bits(mapped_bits.begin(), mapped_bits.end());
  if (std::ranges::any_of(bits, [](auto b) { return b > encoders::osq::kMaxBits; })) {
    return reader.damaged("a dimension has more than 8 bits");
  }
  Partition partition{.facts = facts[0], .packing = encoders::osq::Packing(bits)};
  if (partition.packing.n_segments() != facts[0].n_segments) {
    return reader.damaged("a partition's bits and its bytes of a row differ");
  }
  partition.bits = std::move(bits);
  QV_TRY(partition.mean, reader.get<float>(kMean, number, dim));
  QV_TRY(partition.directions, reader.get<float>(kDirections, number, n_out * dim));
  QV_TRY(partition.limits,
         reader.get<float>(kLimits, number, encoders::osq::n_limits(partition.bits)));
  partition.n_signs = rotation ? rotation->padded_dim() : facts[0].n_out;
  QV_TRY(
      partition.signs,
      reader.get<std::byte>(kSigns, number, n_rows * encoders::osq::sign_bytes(partition.n_signs)));
  QV_TRY(partition.codes,
         reader.get<std::byte>(kCodes, number, n_rows * facts[0].n_segments + kCodePadding));
  return partition;
}

/// Sets the members; false if their number is not that of the codes.
bool set_members(const SharedSpan<std::uint64_t>& members, std::uint32_t n_column_rows,
                 Partition& partition) {
  partition.n_column_rows = n_column_rows;
  partition.members = members;
  partition.ranks.reserve(members.size());
  std::uint32_t n = 0;
  for (const std::uint64_t word : members) {
    partition.ranks.push_back(n);
    n += static_cast<std::uint32_t>(std::popcount(word));
  }
  return n == partition.facts.n_rows;
}

}  // namespace

Result<> write_file(const FieldColumn& column, const OsqBuildParams& params,
                    const BuildContext& context, Directory& out) {
  QV_TRY(const ScaledRows rows, ScaledRows::make(column, context));
  const auto before = part_of(context, column.n_rows, 0, kPartitionsShare);
  QV_TRY(const auto partition_of, make_partitions(rows, params, before));
  const std::uint32_t n_partitions = n_partitions_for(rows.n(), rows.dim(), params);
  const Members members = members_of(partition_of, n_partitions);
  const bool is_distance = column.schema.metric == Metric::kEuclid;
  const OsqFacts facts{.dim = rows.dim(),
                       .n_partitions = n_partitions,
                       .scale = rows.scale(),
                       .bits = params.bits,
                       .length = is_distance ? 0 : longest(rows),
                       .seed = context.seed,
                       .are_signs_mixed = params.signs == "mixed" ? 1U : 0U,
                       .rotation_version = encoders::Rotation::kVersion};
  QV_TRY(auto file, out.create_file(kOsqFile));
  SectionWriter writer(kOsqFormat, std::move(file));
  writer.section(kFacts, std::span(&facts, 1));
  write_members(rows, members, column.n_rows, writer);
  const auto codes = part_of(context, column.n_rows, kPartitionsShare, 1);
  QV_TRY(write_partitions(rows, members, params, facts, codes, writer));
  QV_TRY(writer.finish(column.n_rows));
  if (context.progress) context.progress(column.n_rows);
  return {};
}

Result<OpenFile> open_file(const Directory& directory, const FieldColumn& column) {
  OpenFile file;
  QV_TRY(const auto reader,
         open_index_file(directory, kOsqFile, kOsqFormat, column.n_rows, file.n_bytes));
  QV_TRY(const auto facts, reader.get<OsqFacts>(kFacts, 0, 1));
  file.facts = facts[0];
  if (file.facts.dim != column.dense().dim) return reader.damaged("the dimensions differ");
  if (file.facts.rotation_version != encoders::Rotation::kVersion) {
    return reader.damaged("the rotation has another version");
  }
  if (file.facts.are_signs_mixed != 0) file.rotation.emplace(file.facts.dim, file.facts.seed);
  const std::size_t n_words = words_for(column.n_rows);
  QV_TRY(const auto members,
         reader.get<std::uint64_t>(kMembers, 0, std::uint64_t{file.facts.n_partitions} * n_words));
  std::uint64_t n_members = 0;
  for (std::size_t p = 0; p < file.facts.n_partitions; ++p) {
    QV_TRY(auto partition, open_partition(reader, file.facts.dim, file.rotation, p));
    if (!set_members(members.subspan(p * n_words, n_words), column.n_rows, partition)) {
      return reader.damaged("a partition has other rows than codes");
    }
    n_members += partition.facts.n_rows;
    file.partitions.push_back(std::move(partition));
  }
  if (n_members != column.n_present) return reader.damaged("partitions have other rows");
  return file;
}

}  // namespace quiver::index::dense::osq
