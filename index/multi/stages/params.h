// Parameters of the index type `multi`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/params.h"

namespace quiver::index::multi {

struct MultiBuildParams {
  static constexpr std::string_view kWhat = "build parameters of `multi`";
  /// First stage: how a document's tokens become the single vector that finds candidates. `mean`:
  /// mean of the tokens. `fde`: fixed dimensional encodings (MUVERA: Dhulipala et al., 2024).
  /// `features`: random features fitted to MaxSim. `auto`: the cheapest of them that reaches
  /// `target` on this data, measured by a probe.
  std::string stage = "auto";
  /// `features`: number of features, a multiple of 32 from 64 on. Vectors have a quarter as many
  /// dimensions. More: better candidates, slower. 0: 2048, fewer for few documents.
  std::uint32_t features = 0;
  /// `fde`: number of independent partitions of the token space (`repetitions`), hyperplanes per
  /// partition (`planes`; a partition has 2^planes parts), and dimensions to which the tokens of a
  /// part are projected (`projection`: 1, 2, 4, 8 or a multiple of 16; more than tokens have: no
  /// projection). The vector has repetitions * 2^planes * projection dimensions. More: better
  /// candidates, slower. 0: chosen for the tokens.
  std::uint32_t repetitions = 0;
  std::uint32_t planes = 0;
  std::uint32_t projection = 0;
  /// `fde`: dimensions after a final projection, a multiple of 16. 0: no final projection.
  std::uint32_t final_dim = 0;
  /// `fde`: scaling of the mean of a part's tokens, which is shorter than the tokens. 0: none, as
  /// in the paper. 1: up to the length of single tokens.
  double renormalisation = 1;
  /// Bits per dimension of the token codes: 8, 4 or 2. Fewer: less memory, more exact scores.
  std::uint32_t token_bits = 8;
  /// True: signs of tokens, 1 bit per dimension, are tried as a stage that reduces the pool to the
  /// candidates. They are kept only if the probe finds searches cheaper with them.
  bool signs = true;
  /// Number of posting lists of the documents' vectors. 1: a single list, scanned whole. 0: 1 for
  /// up to 100,000 documents and for `fde`, else 4 * sqrt(documents).
  std::uint32_t n_lists = 0;
  /// Bits per dimension of the codes of the documents' vectors. `bits`: scanned codes; 0: 4 up to
  /// 128 dimensions, 2 up to 1024, else 1. `refine_bits`: second codes, 8, 4 or 0 (none); an index
  /// with signs has none.
  std::uint32_t bits = 0;
  std::uint32_t refine_bits = 8;
  /// Recall that a first stage must reach: share of the ten best documents among its candidates.
  double target = 0.95;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("stage", &MultiBuildParams::stage));
    v(field("features", &MultiBuildParams::features, {.min = 0, .max = 8192}));
    v(field("repetitions", &MultiBuildParams::repetitions, {.min = 0, .max = 64}));
    v(field("planes", &MultiBuildParams::planes, {.min = 0, .max = 10}));
    v(field("projection", &MultiBuildParams::projection, {.min = 0, .max = 4096}));
    v(field("final_dim", &MultiBuildParams::final_dim, {.min = 0, .max = 65536}));
    v(field("renormalisation", &MultiBuildParams::renormalisation, {.min = 0, .max = 1}));
    v(field("token_bits", &MultiBuildParams::token_bits, {.min = 2, .max = 8}));
    v(field("signs", &MultiBuildParams::signs));
    v(field("n_lists", &MultiBuildParams::n_lists, {.min = 0, .max = 1 << 22}));
    v(field("bits", &MultiBuildParams::bits, {.min = 0, .max = 8}));
    v(field("refine_bits", &MultiBuildParams::refine_bits, {.min = 0, .max = 8}));
    v(field("target", &MultiBuildParams::target, {.min = 0, .max = 1}));
  }
};

struct MultiSearchParams {
  /// Largest number of documents compared by token codes. Higher: better recall, slower. 0: p * (k
  /// / 10)^0.7 * effort / 128, where p is the probe's number for ten hits, at least 2 k; then
  /// `patience` may end the search earlier.
  std::uint32_t candidates = 0;
  /// Number of documents from which signs choose the candidates. Higher: better recall, slower. 0:
  /// in proportion to the candidates, at the probe's ratio.
  std::uint32_t pool = 0;
  /// Query tokens whose cosine is at least this are replaced by their sum (ball carving, MUVERA).
  /// Lower: faster, lower recall. 1: off.
  double carve = 1;
  /// What ranks the hits. `full`: exact scores of the best by codes. `codes`: token codes. `none`:
  /// the documents' vectors. Returned scores are always exact.
  std::string rerank = "full";
  /// The search ends after this many consecutive candidates outside the best k. Higher: better
  /// recall, slower. 0: half of the larger of pool and candidates; if `candidates` is given, all of
  /// them are compared.
  std::uint32_t patience = 0;
  /// Scales the default number of candidates by effort / 128. Requests may also set it as
  /// `hnsw_ef`. 0: 128.
  std::uint32_t effort = 0;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("candidates", &MultiSearchParams::candidates, {.min = 0, .max = 1e6}));
    v(field("pool", &MultiSearchParams::pool, {.min = 0, .max = 1e6}));
    v(field("carve", &MultiSearchParams::carve, {.min = -1, .max = 1}));
    v(field("rerank", &MultiSearchParams::rerank));
    v(field("patience", &MultiSearchParams::patience, {.min = 0, .max = 1e6}));
    v(field("effort", &MultiSearchParams::effort, {.min = 0, .max = 1e6}));
  }
};

}  // namespace quiver::index::multi
