#include "index/dense/graph/graph.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "base/io/section_file.h"
#include "index/dense/lists/coding.h"
#include "index/open_file.h"
#include "index/parallel.h"
#include "index/progress.h"

namespace quiver::index::graph {
namespace {

enum Section : std::uint32_t { kFacts = 1, kRows = 2, kLinks = 3, kCodes = 4 };

/// Two files, so that the loss of one is seen.
constexpr std::string_view kLinksFile = "links.qvx";
constexpr SectionFormat kLinksFormat{"links of a dense index", "QVLINKS1", "QVLINKSE"};
constexpr std::string_view kCodesFile = "link-codes.qvx";
constexpr SectionFormat kCodesFormat{"codes of a dense index's links", "QVLCODE1", "QVLCODEE"};

constexpr std::uint32_t kNodesOfATask = 64;
constexpr std::size_t kBytesAtATime = 8UL << 20;
/// The share of the work that is done with the links.
constexpr double kLinksDone = 0.85;

Result<> write_links(const ivf::RowSource& source, const Links& links, std::uint32_t n_bits,
                     Directory& out) {
  QV_TRY(auto file, out.create_file(kLinksFile));
  SectionWriter writer(kLinksFormat, std::move(file));
  const GraphFacts facts{source.dim(), links.degree, n_bits, source.n()};
  writer.section(kFacts, std::span<const GraphFacts>(&facts, 1));
  if (source.n() != source.column().n_rows) writer.section(kRows, source.rows());
  writer.section(kLinks, std::span<const std::uint32_t>(links.rows));
  return writer.finish(source.column().n_rows);
}

/// The codes of the rows that each row links to, around the row.
class CodeWriter {
 public:
  CodeWriter(const ivf::RowSource& source, const Links& links, std::uint32_t n_bits,
             const BuildContext& context)
      : source_(source), links_(links), n_bits_(n_bits), context_(context) {}

  Result<> write(Directory& out) const {
    QV_TRY(auto file, out.create_file(kCodesFile));
    SectionWriter writer(kCodesFormat, std::move(file));
    writer.begin(kCodes);
    const CodeBlocks shape{nullptr, source_.dim() / 32, n_bits_, links_.degree / CodeBlocks::kRows};
    const auto n_fit = static_cast<std::uint32_t>(kBytesAtATime / (shape.n * shape.block_bytes()));
    const std::uint32_t step = std::max(kNodesOfATask, n_fit / kNodesOfATask * kNodesOfATask);
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
    std::vector<ivf::BlockWriter> nodes(
        end - first, ivf::BlockWriter(similarity, source_.dim(), n_bits_, links_.degree));
    for_each(context_, (end - first + kNodesOfATask - 1) / kNodesOfATask, [&](std::size_t task) {
      const auto from = first + static_cast<std::uint32_t>(task) * kNodesOfATask;
      for (std::uint32_t i = from; i < std::min(end, from + kNodesOfATask); ++i) {
        encode(i, nodes[i - first]);
      }
    });
    for (const auto& node : nodes) writer.add(node.bytes());
    if (context_.progress) context_.progress(end);
  }

  void encode(std::uint32_t i, ivf::BlockWriter& node) const {
    std::vector<float> centre(source_.dim());
    std::vector<float> row(source_.dim());
    source_.read(i, centre.data());
    const auto links = links_.of(i);
    for (std::size_t j = 0; j < links.size() && links[j] != kNoLink; ++j) {
      source_.read(links[j], row.data());
      node.write(j, row, centre);
    }
  }

  const ivf::RowSource& source_;
  const Links& links_;
  std::uint32_t n_bits_;
  const BuildContext& context_;
};

}  // namespace

Result<> Graph::write(const ivf::RowSource& source, const ivf::CandidateSearch& lists,
                      const LinkParams& params, const BuildContext& context, Directory& out) {
  const std::uint32_t n_rows = source.column().n_rows;
  QV_TRY(const auto links,
         choose_links(source, lists, params, part_of(context, n_rows, 0, kLinksDone)));
  QV_TRY(write_links(source, links, params.bits, out));
  const auto coding = part_of(context, n_rows, kLinksDone, 1);
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

Result<Graph> Graph::open(const Directory& directory, const ColumnFacts& column,
                          std::uint64_t& n_bytes) {
  Graph graph;
  QV_TRY(const auto reader, open_file(directory, kLinksFile, kLinksFormat, column.n_rows, n_bytes));
  QV_TRY(const auto facts, reader.get<GraphFacts>(kFacts, 0, 1));
  graph.facts_ = facts[0];
  const GraphFacts& f = graph.facts_;
  const bool is_whole = f.padded_dim == column.padded_dim && f.degree != 0 &&
                        f.degree % CodeBlocks::kRows == 0 && f.degree <= kLargestDegree &&
                        f.n_bits >= 1 && f.n_bits <= 8 && f.n == column.n_present;
  if (!is_whole) return reader.damaged("facts do not belong to the column");
  QV_TRY(graph.read_links(reader, column.n_rows));
  QV_TRY(const auto codes, open_file(directory, kCodesFile, kCodesFormat, column.n_rows, n_bytes));
  graph.node_bytes_ = graph.blocks(0).block_bytes() * (f.degree / CodeBlocks::kRows);
  QV_TRY(graph.blocks_, codes.get<std::byte>(kCodes, 0, f.n * graph.node_bytes_));
  return graph;
}

Result<> Graph::read_links(const SectionReader& reader, std::uint32_t n_rows) {
  if (facts_.n != n_rows) {
    QV_TRY(rows_, reader.get<std::uint32_t>(kRows, 0, facts_.n));
    const auto rows = rows_.span();
    const bool ascends =
        std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
    if (!ascends || (!rows.empty() && rows.back() >= n_rows)) {
      return reader.damaged("rows in disorder");
    }
  }
  QV_TRY(links_, reader.get<std::uint32_t>(kLinks, 0, std::uint64_t{facts_.n} * facts_.degree));
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

}  // namespace quiver::index::graph
