#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>

#include "base/hash.h"
#include "index/progress.h"
#include "index/sparse/blocks/blocking.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/blocks/neighbours.h"
#include "index/sparse/blocks/pruning.h"
#include "index/sparse/rows/aligned_bytes.h"

namespace quiver::index::sparse {
namespace {

/// The finished parts of one list.
struct BuiltList {
  ListHeader header;
  std::vector<std::uint32_t> ends;  ///< end of each block in `rows`
  std::vector<std::uint32_t> rows;
  std::vector<std::byte> summaries;
};

std::uint64_t seed_of(std::uint64_t seed, std::uint32_t term) {
  return hash_bytes(std::as_bytes(std::span(&term, 1)), seed);
}

}  // namespace

/// One build. All threads build lists, longest first; results are joined in term order.
class BlocksBuilder {
 public:
  BlocksBuilder(const CodedRows& rows, PostingLists lists, const BlockParams& params,
                const BuildContext& context)
      : rows_(rows), lists_(std::move(lists)), params_(params), context_(context) {}

  Result<Blocks> run() {
    if (lists_.postings.size() >= 0xFFFFFFFF) {
      return fail(Code::kResourceExhausted,
                  "more than 2^32 - 2 postings: wanted a smaller `n_postings`");
    }
    built_.resize(rows_.n_terms());
    build_lists();
    QV_TRY(context_.cancel.check());
    return join();
  }
  static void set_neighbours(Blocks& blocks, std::uint32_t n, std::vector<std::uint32_t> rows) {
    blocks.n_neighbours_ = n;
    blocks.neighbours_ = SharedSpan<std::uint32_t>::of(std::move(rows));
  }

 private:
  void build_lists() {
    std::vector<std::uint32_t> order(rows_.n_terms());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return lists_.list(a).size() > lists_.list(b).size();
    });
    BuildProgress progress(context_, rows_.n_rows(), lists_.postings.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&](std::size_t worker) {
      Blocker blocker(rows_, params_);
      Summarizer summarizer(rows_, params_);
      for (std::size_t i = next++; i < order.size() && !context_.cancel.poll(); i = next++) {
        build_list(order[i], blocker, summarizer);
        progress.add(lists_.list(order[i]).size());
        if (worker == 0) progress.report();
      }
    };
    if (context_.executor == nullptr) {
      work(0);
    } else {
      context_.executor->parallel_for(context_.executor->n_threads() + 1, work, Priority::kLow);
    }
    if (!context_.cancel.poll()) progress.report();
  }
  void build_list(std::uint32_t term, Blocker& blocker, Summarizer& summarizer) {
    const auto list = lists_.list(term);
    if (list.empty()) return;
    Grouping grouping;
    blocker.group(list, seed_of(context_.seed, term), grouping);
    BuiltList& built = built_[term];
    built.header.n_blocks = static_cast<std::uint32_t>(grouping.n_blocks());
    built.summaries = summarizer.summarize(grouping, built.header);
    built.ends.assign(grouping.first.begin() + 1, grouping.first.end());
    built.rows = std::move(grouping.rows);
  }
  /// Joins the lists; frees each one after copying it.
  Result<Blocks> join() {
    std::size_t n_lines = 0;
    for (const BuiltList& built : built_) n_lines += built.header.n_lines;
    AlignedBytes lines(n_lines * AlignedBytes::kBytes);
    std::vector<ListHeader> headers;
    std::vector<std::uint32_t> first_row = {0};
    std::vector<std::uint32_t> rows;
    rows.reserve(lists_.postings.size());
    std::size_t line = 0;
    for (BuiltList& built : built_) {
      built.header.first_block = static_cast<std::uint32_t>(first_row.size() - 1);
      built.header.line = static_cast<std::uint32_t>(line);
      headers.push_back(built.header);
      std::copy(built.summaries.begin(), built.summaries.end(),
                lines.data() + line * AlignedBytes::kBytes);
      line += built.header.n_lines;
      const auto begin = static_cast<std::uint32_t>(rows.size());
      for (const std::uint32_t end : built.ends) first_row.push_back(begin + end);
      rows.insert(rows.end(), built.rows.begin(), built.rows.end());
      built = {};
    }
    Blocks blocks;
    blocks.n_rows_ = rows_.n_rows();
    blocks.scale_ = rows_.scale();
    blocks.heads_ = TopComponents::build(rows_, params_.head_terms);
    blocks.lists_ = SharedSpan<ListHeader>::of(std::move(headers));
    blocks.summaries_ = lines.share();
    blocks.first_row_ = SharedSpan<std::uint32_t>::of(std::move(first_row));
    blocks.rows_ = SharedSpan<std::uint32_t>::of(std::move(rows));
    return blocks;
  }

  const CodedRows& rows_;
  PostingLists lists_;
  const BlockParams& params_;
  const BuildContext& context_;
  std::vector<BuiltList> built_;  ///< one for each term
};

namespace {

/// Share of the progress at which blocks are built, in a build with neighbours: one search per row
/// takes longest.
constexpr double kBlocksShare = 0.4;

}  // namespace

Result<Blocks> Blocks::build(const SparseColumn& column, std::uint32_t n_rows, const TermMap& terms,
                             const Records& records, const BlockParams& params,
                             const BuildContext& context) {
  QV_TRY(check(params));
  Blocks blocks;
  {
    const CodedRows rows(column, n_rows, terms, params.doc_cut);
    QV_TRY(context.cancel.check());
    const auto part = part_of(context, n_rows, 0, params.n_neighbours == 0 ? 1 : kBlocksShare);
    BlocksBuilder builder(rows, prune(column, rows, params), params, part);
    QV_TRY(blocks, builder.run());
  }
  if (params.n_neighbours == 0) return blocks;
  QV_TRY(auto neighbours, find_neighbours(blocks, column, terms, records, params.n_neighbours,
                                          part_of(context, n_rows, kBlocksShare, 1)));
  BlocksBuilder::set_neighbours(blocks, params.n_neighbours, std::move(neighbours));
  return blocks;
}

}  // namespace quiver::index::sparse
