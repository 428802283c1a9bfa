#include "index/dense/lists/initial_centroids.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/io/section_file.h"
#include "index/dense/lists/sections.h"
#include "index/dense/lists/transform_file.h"
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

Result<Start> read_file(const Directory& former, std::uint32_t n_rows, std::uint32_t dim,
                        std::uint64_t seed) {
  std::uint64_t n_bytes = 0;
  QV_TRY(const auto reader, open_index_file(former, kStartFile, kStartFormat, n_rows, n_bytes));
  QV_TRY(auto transform, read_transform(reader, dim, seed));
  QV_TRY(const auto centroids, reader.get<float>(kStart));
  return Start{std::move(transform), {centroids.begin(), centroids.end()}};
}

}  // namespace

Start start_of(const Partition& older) {
  const PartitionFacts& facts = older.facts();
  Start start{older.transform(), {}};
  std::vector<float> centroids(std::size_t{facts.n_lists} * facts.padded_dim);
  kernels().convert.bf16_to_f32(reinterpret_cast<const std::uint16_t*>(older.centroids()),
                                centroids.size(), centroids.data());
  if (are_finite(centroids)) start.centroids = std::move(centroids);
  return start;
}

Result<> write_start(const RowTransform& transform, std::span<const float> centroids,
                     std::uint32_t n_rows, Directory& out) {
  QV_TRY(auto file, out.create_file(kStartFile));
  SectionWriter writer(kStartFormat, std::move(file));
  writer.section(kStart, centroids);
  write_transform(transform, writer);
  return writer.finish(n_rows);
}

std::optional<Start> read_start(const Directory& former, std::uint32_t n_rows, std::uint32_t dim,
                                std::uint64_t seed) {
  auto start = read_file(former, n_rows, dim, seed);
  const bool is_usable = start && start->centroids.size() % start->transform.padded_dim() == 0 &&
                         are_finite(start->centroids);
  return is_usable ? std::optional(*std::move(start)) : std::nullopt;
}

}  // namespace quiver::index::dense
