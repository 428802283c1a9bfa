#include <gtest/gtest.h>

#include "index/sparse/blocks/blocking.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/blocks/pruning.h"
#include "index/sparse/blocks/summaries.h"
#include "index/sparse/rows/top_components.h"
#include "tests/index/sparse/blocks/blocks_build_support.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse {
namespace {

using namespace testing;

/// Code of each (block, term) by the definition.
std::map<std::uint32_t, std::uint32_t> maxima(const CodedRows& rows,
                                              std::span<const std::uint32_t> block) {
  std::map<std::uint32_t, std::uint32_t> largest;
  for (const std::uint32_t number : block) {
    const auto row = rows.row(number);
    for (std::size_t i = 0; i < row.terms.size(); ++i) {
      auto& code = largest[row.terms[i]];
      code = std::max<std::uint32_t>(code, row.codes[i]);
    }
  }
  return largest;
}

/// The stored summaries of a list, block by block.
std::vector<std::map<std::uint32_t, std::uint32_t>> stored(const Blocks& blocks,
                                                           std::uint32_t term) {
  std::vector<std::map<std::uint32_t, std::uint32_t>> found(blocks.list(term).n_blocks);
  const SummaryView view = blocks.summaries(blocks.list(term));
  for (std::uint32_t t = 0; t < blocks.n_terms(); ++t) {
    const std::uint32_t rank = view.rank(t);
    if (rank == SummaryView::kNone) continue;
    const auto run = view.run(rank);
    for (std::uint32_t i = 0; i < run.n; ++i) found[run.block(i)][t] = run.code(i);
  }
  return found;
}

std::uint64_t sum_of(const std::map<std::uint32_t, std::uint32_t>& summary) {
  std::uint64_t sum = 0;
  for (const auto& [term, code] : summary) sum += code;
  return sum;
}

TEST(SeismicSummaries, KeepTheLargestUpToTheirShare) {
  Random random(kSeed);
  const auto vectors = random_rows({.n_rows = 1000}, random);
  const Rows rows(vectors);
  for (const float energy : {0.1F, 0.5F, 1.0F}) {
    BlockParams params;
    params.n_postings = 30;
    params.summary_energy = energy;
    const Built built(rows.column, params);
    for (std::uint32_t term = 0; term < built.blocks.n_terms(); term += 5) {
      const auto summaries = stored(built.blocks, term);
      for (std::uint32_t b = 0; b < summaries.size(); ++b) {
        const auto all =
            maxima(rows.coded, built.blocks.rows(built.blocks.list(term).first_block + b));
        std::uint32_t smallest = 255;
        for (const auto& [t, code] : summaries[b]) {
          EXPECT_EQ(code, all.at(t));
          smallest = std::min(smallest, code);
        }
        const double wanted = static_cast<double>(sum_of(all)) * energy;
        EXPECT_GE(static_cast<double>(sum_of(summaries[b])), wanted - 1e-3);
        EXPECT_LT(static_cast<double>(sum_of(summaries[b]) - smallest), wanted);
        for (const auto& [t, code] : all) {
          if (!summaries[b].contains(t)) {
            EXPECT_LE(code, smallest);
          }
        }
      }
    }
  }
}

TEST(SeismicSummaries, FixedNumbersOfTerms) {
  Random random(kSeed);
  BlockParams params;
  params.n_postings = 30;
  params.summary_terms = 12;
  const Built built(column_of(random_rows({.n_rows = 1000}, random)), params);
  for (std::uint32_t term = 0; term < built.blocks.n_terms(); term += 5) {
    for (const auto& summary : stored(built.blocks, term)) EXPECT_EQ(summary.size(), 12U);
  }
}

TEST(SeismicSummaries, CodesAreNeverBelowTheirValues) {
  Random random(kSeed);
  const Rows rows(random_rows({.n_rows = 500, .negative_share = 0.2}, random));
  for (std::uint32_t i = 0; i < rows.n_rows; ++i) {
    const auto exact = rows.column.row(i).values;
    const auto coded = rows.coded.row(i);
    for (std::size_t j = 0; j < exact.size(); ++j) {
      const float value = rows.coded.scale() * coded.codes[j];
      EXPECT_GE(value, std::abs(exact[j]));
      EXPECT_LT(value, std::abs(exact[j]) + rows.coded.scale() * 1.001F);
    }
  }
}

}  // namespace
}  // namespace quiver::index::sparse
