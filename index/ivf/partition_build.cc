#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "index/ivf/clustering.h"
#include "index/ivf/coding.h"
#include "index/ivf/partition.h"
#include "index/ivf/row_source.h"
#include "index/ivf/sections.h"

namespace quiver::index::ivf {
namespace {

/// Rows of a list when the number of lists is not given.
constexpr std::uint32_t kRowsPerList = 160;

/// Calls `fn(i)` for each i below `n`, on the threads that there are.
template <class F>
void for_each(const BuildContext& context, std::size_t n, F&& fn) {
  if (context.executor != nullptr) {
    context.executor->parallel_for(n, fn, Priority::kLow);
  } else {
    for (std::size_t i = 0; i < n; ++i) fn(i);
  }
}

/// The rows of each list, in their order.
struct Lists {
  std::vector<std::uint32_t> first;  ///< `[n + 1]`
  std::vector<std::uint32_t> rows;   ///< numbers of a RowSource

  Lists(std::span<const std::uint32_t> list_of, std::uint32_t n_lists)
      : first(std::size_t{n_lists} + 1, 0), rows(list_of.size()) {
    for (const std::uint32_t list : list_of) ++first[list + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    auto next = first;
    for (std::uint32_t i = 0; i < list_of.size(); ++i) rows[next[list_of[i]]++] = i;
  }
  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t list) const {
    return std::span(rows).subspan(first[list], first[list + 1] - first[list]);
  }
  [[nodiscard]] std::uint32_t n() const { return static_cast<std::uint32_t>(first.size() - 1); }
};

/// Codes belong to centroids as they are stored, which is with 8 bits of precision.
std::vector<std::uint16_t> round_centroids(std::vector<float>& centroids) {
  const auto& convert = kernels().convert;
  std::vector<std::uint16_t> rounded(centroids.size());
  convert.f32_to_bf16(centroids.data(), centroids.size(), rounded.data());
  convert.bf16_to_f32(rounded.data(), rounded.size(), centroids.data());
  return rounded;
}

std::vector<float> mean_of(std::span<const float> centroids, std::uint32_t dim) {
  std::vector<double> sums(dim, 0);
  for (std::size_t i = 0; i < centroids.size(); ++i) sums[i % dim] += centroids[i];
  const double n = static_cast<double>(std::max<std::size_t>(1, centroids.size() / dim));
  std::vector<float> mean(dim);
  for (std::uint32_t d = 0; d < dim; ++d) mean[d] = static_cast<float>(sums[d] / n);
  return mean;
}

/// One build: from clusters to sections.
class PartitionWriter {
 public:
  PartitionWriter(const FieldColumn& column, const RowSource& source, const BuildParams& params,
                  const BuildContext& context, SectionWriter& writer, SectionWriter* second)
      : source_(source),
        similarity_(similarity_of(column.schema.metric)),
        params_(params),
        context_(context),
        writer_(writer),
        second_(second) {}

  Result<> write(PartitionFacts facts, Clusters clusters) {
    const auto centroids = round_centroids(clusters.centroids);
    const Lists lists(clusters.list_of, clusters.n());
    const auto list_blocks = blocks_of(lists);
    facts.n_lists = lists.n();
    facts.n_positions = list_blocks.back() * CodeBlocks::kRows;
    writer_.section(kFacts, std::span<const PartitionFacts>(&facts, 1));
    writer_.section(kListBlocks, std::span<const std::uint32_t>(list_blocks));
    write_rows(lists);
    writer_.section(kCentroids, std::span<const std::uint16_t>(centroids));
    write_routes(clusters.centroids);
    return write_codes(lists, clusters.centroids);
  }

 private:
  static std::vector<std::uint32_t> blocks_of(const Lists& lists) {
    std::vector<std::uint32_t> list_blocks = {0};
    for (std::size_t list = 0; list < lists.n(); ++list) {
      const std::size_t n = (lists.of(list).size() + CodeBlocks::kRows - 1) / CodeBlocks::kRows;
      list_blocks.push_back(list_blocks.back() + static_cast<std::uint32_t>(n));
    }
    return list_blocks;
  }

  void write_rows(const Lists& lists) {
    std::vector<std::uint32_t> rows;
    for (std::size_t list = 0; list < lists.n(); ++list) {
      for (const std::uint32_t i : lists.of(list)) rows.push_back(source_.row(i));
      while (rows.size() % CodeBlocks::kRows != 0) rows.push_back(rows.back());
    }
    writer_.section(kRows, std::span<const std::uint32_t>(rows));
  }

  void write_routes(std::span<const float> centroids) {
    const std::uint32_t dim = source_.dim();
    const auto mean = mean_of(centroids, dim);
    BlockWriter blocks(similarity_, dim, 1, centroids.size() / dim);
    for (std::size_t i = 0; i < centroids.size() / dim; ++i) {
      blocks.write(i, centroids.subspan(i * dim, dim), mean);
    }
    writer_.section(kRoutes, blocks.bytes());
    writer_.section(kMean, std::span<const float>(mean));
  }

  /// The codes of one list.
  struct ListCodes {
    BlockWriter first;
    std::optional<ByteWriter> second;
  };

  /// Some lists at a time, on all threads.
  Result<> write_codes(const Lists& lists, std::span<const float> centroids) {
    constexpr std::size_t kListsAtATime = 64;
    const std::uint32_t dim = source_.dim();
    writer_.begin(kBlocks);
    if (second_ != nullptr) second_->begin(kByteCodes);
    for (std::size_t begin = 0; begin < lists.n(); begin += kListsAtATime) {
      QV_TRY(context_.cancel.check());
      const std::size_t n = std::min(kListsAtATime, lists.n() - begin);
      std::vector<ListCodes> codes;
      for (std::size_t i = 0; i < n; ++i) codes.push_back(room_for(lists.of(begin + i).size()));
      for_each(context_, n, [&](std::size_t i) {
        encode(lists.of(begin + i), centroids.subspan((begin + i) * dim, dim), codes[i]);
      });
      for (const auto& list : codes) add(list);
    }
    writer_.end();
    if (second_ != nullptr) finish_second();
    return {};
  }

  [[nodiscard]] ListCodes room_for(std::size_t n_rows) const {
    ListCodes codes{BlockWriter(similarity_, source_.dim(), params_.bits, n_rows), std::nullopt};
    constexpr std::size_t kRows = CodeBlocks::kRows;
    if (second_ != nullptr)
      codes.second.emplace(source_.dim(), (n_rows + kRows - 1) / kRows * kRows);
    return codes;
  }

  void encode(std::span<const std::uint32_t> rows, std::span<const float> centroid,
              ListCodes& codes) const {
    std::vector<float> row(source_.dim());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      source_.read(rows[i], row.data());
      codes.first.write(i, row, centroid);
      if (codes.second) codes.second->write(i, row);
    }
  }

  void add(const ListCodes& codes) {
    writer_.add(codes.first.bytes());
    if (!codes.second) return;
    second_->add(std::as_bytes(codes.second->codes()));
    const auto append = [](std::span<const float> from, std::vector<float>& to) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(codes.second->scales(), second_scales_);
    append(codes.second->squares(), second_squares_);
  }

  void finish_second() {
    second_->end();
    second_->section(kByteScales, std::span<const float>(second_scales_));
    if (similarity_ != Similarity::kNegL2Squared) return;
    second_->section(kByteSquares, std::span<const float>(second_squares_));
  }

  const RowSource& source_;
  Similarity similarity_;
  const BuildParams& params_;
  const BuildContext& context_;
  SectionWriter& writer_;
  SectionWriter* second_;
  std::vector<float> second_scales_;
  std::vector<float> second_squares_;
};

std::uint32_t n_lists_for(std::uint32_t n_rows, const BuildParams& params) {
  const std::uint32_t wanted =
      params.n_lists != 0 ? params.n_lists : (n_rows + kRowsPerList - 1) / kRowsPerList;
  return std::clamp(wanted, 1U, std::max(1U, n_rows));
}

}  // namespace

Result<> Partition::write(const FieldColumn& column, const BuildParams& params,
                          const BuildContext& context, SectionWriter& writer,
                          SectionWriter* second) {
  const encoders::Rotation rotation(column.dense().dim, context.seed);
  const RowSource source(column, rotation);
  const PartitionFacts facts{column.dense().dim,
                             source.dim(),
                             params.bits,
                             0,
                             context.seed,
                             encoders::Rotation::kVersion,
                             0};
  const ClusterOptions options{.n_clusters = n_lists_for(source.n(), params), .seed = context.seed};
  const auto read = [&source](std::uint32_t i, float* out) { source.read(i, out); };
  QV_TRY(auto clusters, cluster(read, source.n(), source.dim(), options, context));
  return PartitionWriter(column, source, params, context, writer, second).write(facts, std::move(clusters));
}

}  // namespace quiver::index::ivf
