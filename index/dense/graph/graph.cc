#include "index/dense/graph/graph.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/io/section_file.h"
#include "index/dense/lists/code_writers.h"
#include "index/index_file.h"
#include "index/parallel.h"
#include "index/progress.h"

namespace quiver::index::dense {
namespace {

enum Section : std::uint32_t {
  kGraphFacts = 1,
  kGraphRows = 2,
  kGraphLinks = 3,
  kGraphCodes = 4,
  kGraphVariation = 5,
};

/// Links and codes are two files, so that losing either is noticed.
constexpr std::string_view kLinksFile = "links.qvx";
constexpr SectionFormat kLinksFormat{"links of a dense index", "QVLINKS1", "QVLINKSE"};
constexpr std::string_view kCodesFile = "link-codes.qvx";
constexpr SectionFormat kCodesFormat{"codes of a dense index's links", "QVLCODE1", "QVLCODEE"};

constexpr std::uint32_t kNodesPerTask = 64;
constexpr std::size_t kLinkCodeBytesPerWrite = 8UL << 20;
/// Share of the progress at which the links are written.
constexpr double kLinksShareOfBuild = 0.85;

/// Greatest `variation_of` with which distances follow from scores.
constexpr float kMostVariation = 0.25F;

/// Standard deviation of the squared lengths of rows, as a share of `spread` squared.
float variation_of(const RowSource& source, float spread) {
  auto squares = sampled_lengths(source);
  for (double& length : squares) length *= length;
  const auto n = static_cast<double>(std::max<std::size_t>(1, squares.size()));
  const double mean = std::accumulate(squares.begin(), squares.end(), 0.0) / n;
  double sum = 0;
  for (const double square : squares) sum += (square - mean) * (square - mean);
  return static_cast<float>(std::sqrt(sum / n) / (double{spread} * spread));
}

Result<> write_links(const RowSource& source, const Links& links, const LinkParams& params,
                     float spread, Directory& out) {
  QV_TRY(auto file, out.create_file(kLinksFile));
  SectionWriter writer(kLinksFormat, std::move(file));
  const GraphFacts facts{source.dim(), links.degree, params.bits, source.n()};
  writer.section(kGraphFacts, std::span<const GraphFacts>(&facts, 1));
  if (source.n() != source.column().n_rows) writer.section(kGraphRows, source.rows());
  writer.section(kGraphLinks, std::span<const std::uint32_t>(links.rows));
  if (similarity_of(source.column().schema.metric) == Similarity::kDot) {
    const float variation = variation_of(source, spread);
    writer.section(kGraphVariation, std::span<const float>(&variation, 1));
  }
  return writer.finish(source.column().n_rows);
}

/// Writes codes of each row's linked rows, coded around the row.
class CodeWriter {
 public:
  CodeWriter(const RowSource& source, const Links& links, std::uint32_t n_bits,
             const BuildContext& context)
      : source_(source), links_(links), n_bits_(n_bits), context_(context) {}

  Result<> write(Directory& out) const {
    QV_TRY(auto file, out.create_file(kCodesFile));
    SectionWriter writer(kCodesFormat, std::move(file));
    writer.begin(kGraphCodes);
    const CodeBlocks shape{nullptr, source_.dim() / 32, n_bits_, links_.degree / CodeBlocks::kRows};
    const auto n_fit =
        static_cast<std::uint32_t>(kLinkCodeBytesPerWrite / (shape.n * shape.block_bytes()));
    const std::uint32_t step = std::max(kNodesPerTask, n_fit / kNodesPerTask * kNodesPerTask);
    for (std::uint32_t first = 0; first < source_.n(); first += step) {
      QV_TRY(context_.cancel.check());
      write_some(first, std::min(source_.n(), first + step), writer);
    }
    writer.end();
    return writer.finish(source_.column().n_rows);
  }

 private:
  void write_some(std::uint32_t first, std::uint32_t end, SectionWriter& writer) const {
    const Similarity similarity = similarity_of(source_.column().schema.metric);
    std::vector<BlockWriter> nodes(end - first,
                                   BlockWriter(similarity, source_.dim(), n_bits_, links_.degree));
    for_each(context_, (end - first + kNodesPerTask - 1) / kNodesPerTask, [&](std::size_t task) {
      const auto from = first + static_cast<std::uint32_t>(task) * kNodesPerTask;
      for (std::uint32_t i = from; i < std::min(end, from + kNodesPerTask); ++i) {
        encode(i, nodes[i - first]);
      }
    });
    for (const auto& node : nodes) writer.add(node.bytes());
    if (context_.progress) context_.progress(end);
  }

  void encode(std::uint32_t i, BlockWriter& node) const {
    const std::size_t dim = source_.dim();
    std::vector<float> buffer(2 * dim);
    const std::span centre(source_.view(i, buffer.data()), dim);
    const auto links = links_.of(i);
    for (const std::uint32_t to : links) {
      if (to != kNoLink) source_.prefetch(to);
    }
    for (std::size_t j = 0; j < links.size() && links[j] != kNoLink; ++j) {
      node.write(j, {source_.view(links[j], &buffer[dim]), dim}, centre);
    }
  }

  const RowSource& source_;
  const Links& links_;
  std::uint32_t n_bits_;
  const BuildContext& context_;
};

}  // namespace

Result<> Graph::write(const RowSource& source, const CandidateSearch& lists,
                      const LinkParams& params, const BuildContext& context, Directory& out) {
  const std::uint32_t n_rows = source.column().n_rows;
  QV_TRY(const auto links,
         choose_links(source, lists, params, part_of(context, n_rows, 0, kLinksShareOfBuild)));
  QV_TRY(write_links(source, links, params, lists.lists().facts().spread, out));
  const auto coding = part_of(context, n_rows, kLinksShareOfBuild, 1);
  return CodeWriter(source, links, params.bits, coding).write(out);
}

bool Graph::exists(const Directory& directory) {
  return directory.exists(kLinksFile) || directory.exists(kCodesFile);
}

Result<> Graph::remove(Directory& directory) {
  for (const auto name : {kLinksFile, kCodesFile}) {
    if (directory.exists(name)) QV_TRY(directory.remove_file(name));
  }
  return {};
}

Result<Graph> Graph::open(const Directory& directory, const GraphColumn& column,
                          std::uint64_t& n_bytes) {
  Graph graph;
  QV_TRY(const auto reader, open_index_file(directory, kLinksFile, kLinksFormat, column.n_rows,
                                            n_bytes, Reads::kScattered));
  QV_TRY(const auto facts, reader.get<GraphFacts>(kGraphFacts, 0, 1));
  graph.facts_ = facts[0];
  const GraphFacts& f = graph.facts_;
  const bool is_whole = f.padded_dim == column.padded_dim && f.degree != 0 &&
                        f.degree % CodeBlocks::kRows == 0 && f.degree <= kLargestDegree &&
                        f.n_bits >= 1 && f.n_bits <= 8 && f.n == column.n_present;
  if (!is_whole) return reader.damaged("facts do not belong to the column");
  QV_TRY(graph.read_links(reader, column.n_rows));
  graph.has_distances_ = column.has_distances;
  QV_TRY(graph.read_variation(reader));
  QV_TRY(const auto codes, open_index_file(directory, kCodesFile, kCodesFormat, column.n_rows,
                                           n_bytes, Reads::kScattered));
  graph.node_bytes_ = graph.blocks(0).block_bytes() * (f.degree / CodeBlocks::kRows);
  QV_TRY(graph.blocks_, codes.get<std::byte>(kGraphCodes, 0, f.n * graph.node_bytes_));
  return graph;
}

/// Older files have none.
Result<> Graph::read_variation(const SectionReader& reader) {
  if (has_distances_ || !reader.has(kGraphVariation)) return {};
  QV_TRY(const auto variation, reader.get<float>(kGraphVariation, 0, 1));
  has_distances_ = variation[0] <= kMostVariation;
  return {};
}

Result<> Graph::read_links(const SectionReader& reader, std::uint32_t n_rows) {
  if (facts_.n != n_rows) {
    QV_TRY(rows_, reader.get<std::uint32_t>(kGraphRows, 0, facts_.n));
    const auto rows = rows_.span();
    const bool ascends =
        std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
    if (!ascends || (!rows.empty() && rows.back() >= n_rows)) {
      return reader.damaged("rows in disorder");
    }
  }
  QV_TRY(links_,
         reader.get<std::uint32_t>(kGraphLinks, 0, std::uint64_t{facts_.n} * facts_.degree));
  for (const std::uint32_t to : links_.span()) {
    if (to != kNoLink && to >= facts_.n) return reader.damaged("a link leads nowhere");
  }
  return {};
}

std::uint32_t Graph::node(std::uint32_t row) const {
  if (rows_.empty()) return row;
  const auto rows = rows_.span();
  return static_cast<std::uint32_t>(std::lower_bound(rows.begin(), rows.end(), row) - rows.begin());
}

}  // namespace quiver::index::dense
