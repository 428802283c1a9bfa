#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "index/dense/lists/calibration.h"
#include "index/dense/lists/clustering.h"
#include "index/dense/lists/code_writers.h"
#include "index/dense/lists/kmeans/rows.h"
#include "index/dense/lists/partition.h"
#include "index/dense/lists/regions.h"
#include "index/dense/lists/row_source.h"
#include "index/dense/lists/sections.h"
#include "index/dense/lists/transform_file.h"
#include "index/parallel.h"
#include "index/progress.h"

namespace quiver::index::dense {
namespace {

/// Shares of the progress at which rows have their first and second lists; the rest is coding.
constexpr double kClusteredShare = 0.6;
constexpr double kSpilledShare = 0.85;

/// Weight of the SOAR term (lambda) against distance, when second lists are chosen. It cut the
/// codes for a given recall by a quarter to a third.
constexpr float kSpillWeight = 1;

/// Rows of each list, ascending, numbered as in RowSource. `second`: second list of each row, or
/// empty.
Members lists_of(std::span<const std::uint32_t> list_of, std::span<const std::uint32_t> second,
                 std::uint32_t n_lists) {
  if (second.empty()) return Members(list_of, n_lists);
  std::vector<std::uint32_t> both;
  both.reserve(2 * list_of.size());
  for (std::size_t i = 0; i < list_of.size(); ++i) {
    both.push_back(list_of[i]);
    both.push_back(second[i]);
  }
  Members lists(both, n_lists);
  for (std::uint32_t& row : lists.rows) row /= 2;
  return lists;
}

/// Rounds centroids to their stored precision, bf16: codes are made around the stored values.
std::vector<std::uint16_t> round_centroids(std::vector<float>& centroids) {
  const auto& convert = kernels().convert;
  std::vector<std::uint16_t> rounded(centroids.size());
  convert.f32_to_bf16(centroids.data(), centroids.size(), rounded.data());
  convert.bf16_to_f32(rounded.data(), rounded.size(), centroids.data());
  return rounded;
}

/// Writes the sections of the file from clusters.
class PartitionWriter {
 public:
  PartitionWriter(const RowSource& source, const ListsBuildParams& params,
                  const BuildContext& context, SectionWriter& writer)
      : source_(source),
        similarity_(similarity_of(source.column().schema.metric)),
        params_(params),
        context_(context),
        writer_(writer) {}

  /// Facts come last: coding measures the spread.
  Result<> write(PartitionFacts facts, Clusters clusters, std::span<const std::uint32_t> second,
                 Regions regions) {
    const Members lists = lists_of(clusters.list_of, second, clusters.n());
    auto& centroids = clusters.centroids;
    const auto rounded = round_centroids(centroids);
    const auto list_blocks = blocks_of(lists);
    facts.n_lists = clusters.n();
    facts.n_positions = list_blocks.back() * CodeBlocks::kRows;
    writer_.section(kListBlocks, std::span<const std::uint32_t>(list_blocks));
    write_rows(lists);
    writer_.section(kCentroids, std::span<const std::uint16_t>(rounded));
    QV_TRY(const auto squares, write_codes(lists, centroids));
    facts.spread = spread_of(squares, lists);
    facts.length = length_of(squares, lists, centroids);
    const auto reaches = reaches_of(squares, lists);
    const auto mean = mean_of_centroids(centroids, source_.dim());
    write_routes(centroids, reaches, mean);
    measure_regions(centroids, reaches, similarity_, regions);
    write_regions(regions, mean);
    const ListView view{centroids, clusters.list_of, second, reaches, regions};
    QV_TRY(const auto usual, usual_search(source_, view, facts, context_));
    facts.usual_gap = usual.gap;
    facts.usual_codes = usual.n_codes;
    if (regions.n() != 0) writer_.section(kRegionGap, std::span<const float>(&usual.region_gap, 1));
    if (usual.depths) writer_.section(kDepths, std::span<const Depths>(&*usual.depths, 1));
    writer_.section(kFacts, std::span<const PartitionFacts>(&facts, 1));
    return {};
  }

 private:
  static std::vector<std::uint32_t> blocks_of(const Members& lists) {
    std::vector<std::uint32_t> list_blocks = {0};
    for (std::size_t list = 0; list < lists.n_lists(); ++list) {
      const std::size_t n = (lists.of(list).size() + CodeBlocks::kRows - 1) / CodeBlocks::kRows;
      list_blocks.push_back(list_blocks.back() + static_cast<std::uint32_t>(n));
    }
    return list_blocks;
  }

  void write_rows(const Members& lists) {
    std::vector<std::uint32_t> rows;
    for (std::size_t list = 0; list < lists.n_lists(); ++list) {
      for (const std::uint32_t i : lists.of(list)) rows.push_back(source_.row(i));
      while (rows.size() % CodeBlocks::kRows != 0) rows.push_back(rows.back());
    }
    writer_.section(kRows, std::span<const std::uint32_t>(rows));
  }

  static float spread_of(std::span<const double> squares, const Members& lists) {
    const double sum = std::accumulate(squares.begin(), squares.end(), 0.0);
    return static_cast<float>(std::sqrt(sum / std::max<double>(1, lists.rows.size())));
  }

  [[nodiscard]] float length_of(std::span<const double> squares, const Members& lists,
                                std::span<const float> centroids) const {
    const std::uint32_t dim = source_.dim();
    double sum = 0;
    for (std::size_t list = 0; list < lists.n_lists(); ++list) {
      const double norm = kernels().convert.norm(centroids.data() + list * dim, dim);
      sum += static_cast<double>(lists.of(list).size()) * norm * norm + squares[list];
    }
    return static_cast<float>(std::sqrt(sum / std::max<double>(1, lists.rows.size())));
  }

  /// Reach of each list: half the mean squared distance of its rows from the centroid. 0 for
  /// distances.
  [[nodiscard]] std::vector<float> reaches_of(std::span<const double> squares,
                                              const Members& lists) const {
    std::vector<float> reaches(lists.n_lists(), 0);
    if (similarity_ == Similarity::kNegL2Squared) return reaches;
    for (std::size_t list = 0; list < lists.n_lists(); ++list) {
      const auto n = static_cast<double>(lists.of(list).size());
      if (n > 0) reaches[list] = static_cast<float>(squares[list] / n / 2);
    }
    return reaches;
  }

  /// Codes of centroids around their mean, with their reaches.
  [[nodiscard]] BlockWriter codes_of(std::span<const float> centroids,
                                     std::span<const float> reaches,
                                     std::span<const float> mean) const {
    const std::uint32_t dim = source_.dim();
    BlockWriter blocks(similarity_, dim, 1, reaches.size());
    for (std::size_t i = 0; i < reaches.size(); ++i) {
      blocks.write(i, centroids.subspan(i * dim, dim), mean, reaches[i]);
    }
    return blocks;
  }

  void write_routes(std::span<const float> centroids, std::span<const float> reaches,
                    std::span<const float> mean) {
    if (similarity_ == Similarity::kDot) writer_.section(kReaches, reaches);
    writer_.section(kRoutes, codes_of(centroids, reaches, mean).bytes());
    writer_.section(kMean, mean);
  }

  void write_regions(const Regions& regions, std::span<const float> mean) {
    if (regions.n() == 0) return;
    writer_.section(kRegionLists, std::span<const std::uint32_t>(regions.first_list));
    writer_.section(kRegionCodes, codes_of(regions.centroids, regions.reaches, mean).bytes());
  }

  /// Codes some lists at a time, on all threads. Returns each list's sum of squared distances from
  /// its centroid.
  Result<std::vector<double>> write_codes(const Members& lists, std::span<const float> centroids) {
    constexpr std::size_t kListsPerWrite = 64;
    const std::uint32_t dim = source_.dim();
    std::vector<double> squares;
    writer_.begin(kBlocks);
    for (std::size_t begin = 0; begin < lists.n_lists(); begin += kListsPerWrite) {
      QV_TRY(context_.cancel.check());
      const std::size_t n = std::min(kListsPerWrite, lists.n_lists() - begin);
      std::vector<BlockWriter> codes;
      for (std::size_t i = 0; i < n; ++i) {
        codes.emplace_back(similarity_, dim, params_.bits, lists.of(begin + i).size());
      }
      for_each(context_, n, [&](std::size_t i) {
        encode(lists.of(begin + i), centroids.subspan((begin + i) * dim, dim), codes[i]);
      });
      for (const auto& list : codes) {
        writer_.add(list.bytes());
        squares.push_back(list.squares());
      }
      report(begin + n, lists.n_lists());
    }
    writer_.end();
    return squares;
  }

  void report(std::size_t n_lists, std::size_t of_lists) const {
    const double share = kSpilledShare + (1 - kSpilledShare) * static_cast<double>(n_lists) /
                                             static_cast<double>(of_lists);
    const double n_rows = source_.column().n_rows;
    if (context_.progress) context_.progress(static_cast<std::uint64_t>(share * n_rows));
  }

  void encode(std::span<const std::uint32_t> rows, std::span<const float> centroid,
              BlockWriter& codes) const {
    std::vector<float> row(source_.dim());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      source_.read(rows[i], row.data());
      codes.write(i, row, centroid);
    }
  }

  const RowSource& source_;
  Similarity similarity_;
  const ListsBuildParams& params_;
  const BuildContext& context_;
  SectionWriter& writer_;
};

std::uint32_t n_lists_for(std::uint32_t n_rows, const ListsBuildParams& params) {
  const auto by_root = static_cast<std::uint32_t>(4 * std::sqrt(static_cast<double>(n_rows)));
  const std::uint32_t wanted = params.n_lists != 0 ? params.n_lists : by_root;
  return std::clamp(wanted, 1U, std::max(1U, n_rows));
}

}  // namespace

Result<bool> Partition::write(const RowSource& source, const ListsBuildParams& params,
                              std::span<const float> start, const BuildContext& context,
                              SectionWriter& writer) {
  const RowTransform& transform = source.transform();
  const std::uint32_t n_rows = source.column().n_rows;
  const ClusterOptions options{
      .n_clusters = n_lists_for(source.n(), params), .seed = context.seed, .start = start};
  const auto read = [&source](std::uint32_t i, float* out) { source.read(i, out); };
  QV_TRY(auto clusters, cluster(read, source.n(), source.dim(), options,
                                part_of(context, n_rows, 0, kClusteredShare, source.n())));
  QV_TRY(Regions regions, group_lists(context, clusters));
  std::vector<std::uint32_t> second;
  const bool is_spilled = params.spill && clusters.n() > 1;
  if (is_spilled) {
    QV_TRY(second,
           second_lists(read, source.n(), clusters, kSpillWeight,
                        part_of(context, n_rows, kClusteredShare, kSpilledShare, source.n())));
  }
  const PartitionFacts facts{.dim = transform.dim(),
                             .padded_dim = source.dim(),
                             .n_bits = params.bits,
                             .rotation_seed = transform.seed(),
                             .rotation_version = encoders::Rotation::kVersion,
                             .is_spilled = is_spilled ? 1U : 0U,
                             .refine_bits = params.refine_bits};
  write_transform(transform, writer);
  const bool is_carried_over = clusters.is_carried_over;
  QV_TRY(PartitionWriter(source, params, context, writer)
             .write(facts, std::move(clusters), second, std::move(regions)));
  return is_carried_over;
}

}  // namespace quiver::index::dense
