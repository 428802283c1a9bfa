#include "index/dense/lists/initial_centroids.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/io/section_file.h"
#include "index/dense/lists/sections.h"
#include "index/index_file.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {
namespace {

constexpr std::string_view kStartFile = "start.qvx";
constexpr SectionFormat kStartFormat{"start of a dense index", "QVIVFSTA", "QVIVFSTE"};

bool are_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

Result<std::vector<float>> read_file(const Directory& former, std::uint32_t n_rows) {
  std::uint64_t n_bytes = 0;
  QV_TRY(const auto reader, open_index_file(former, kStartFile, kStartFormat, n_rows, n_bytes));
  QV_TRY(const auto start, reader.get<float>(kStart));
  return std::vector<float>(start.begin(), start.end());
}

}  // namespace

std::vector<float> start_of(const Partition& older, const encoders::Rotation& rotation) {
  const PartitionFacts& facts = older.facts();
  const bool is_same = facts.dim == rotation.dim() && facts.padded_dim == rotation.padded_dim() &&
                       facts.rotation_seed == rotation.seed() &&
                       facts.rotation_version == encoders::Rotation::kVersion;
  if (!is_same) return {};
  std::vector<float> centroids(std::size_t{facts.n_lists} * facts.padded_dim);
  kernels().convert.bf16_to_f32(reinterpret_cast<const std::uint16_t*>(older.centroids()),
                                centroids.size(), centroids.data());
  return are_finite(centroids) ? centroids : std::vector<float>();
}

Result<> write_start(std::span<const float> start, std::uint32_t n_rows, Directory& out) {
  QV_TRY(auto file, out.create_file(kStartFile));
  SectionWriter writer(kStartFormat, std::move(file));
  writer.section(kStart, start);
  return writer.finish(n_rows);
}

std::vector<float> read_start(const Directory& former, std::uint32_t n_rows,
                              const encoders::Rotation& rotation) {
  const auto start = read_file(former, n_rows);
  const bool is_usable = start && start->size() % rotation.padded_dim() == 0 && are_finite(*start);
  return is_usable ? *start : std::vector<float>();
}

}  // namespace quiver::index::dense
