// Parameters of the index of multi-vectors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/params.h"

namespace quiver::index::multi {

struct MultiBuildParams {
  static constexpr std::string_view kWhat = "build parameters of `multi`";
  /// How a document's tokens become the one vector that finds candidates: `mean`, `fde` (MUVERA's
  /// fixed dimensional encodings: Dhulipala et al., 2024), `features` (random features fitted to
  /// MaxSim), or `auto`: the cheapest of them that finds enough on this data, by a probe.
  std::string stage = "auto";
  /// Of `features`: how many; 0: 2048, and fewer for few documents. Vectors have a quarter as many
  /// dimensions.
  std::uint32_t features = 0;
  /// Of `fde`: independent partitions of the space of tokens, hyperplanes that make a partition,
  /// dimensions that a part's tokens are projected to (1, 2, 4, 8 or a multiple of 16; more than
  /// tokens have: they are not projected). 0: by the tokens.
  std::uint32_t repetitions = 0;
  std::uint32_t planes = 0;
  std::uint32_t projection = 0;
  /// Of `fde`: dimensions of the whole after a last projection, a multiple of 16; 0: without one.
  std::uint32_t final_dim = 0;
  /// Of `fde`: how far means of tokens that point apart are made as long as single tokens; 0 as in
  /// the paper.
  double renormalisation = 1;
  /// Bits a dimension of the tokens' codes: 8, 4 or 2.
  std::uint32_t token_bits = 8;
  /// Signs of tokens, a bit a dimension beside the codes: a search chooses by them which of more
  /// documents are compared by codes. Kept only if that is cheaper, by the probe.
  bool signs = true;
  /// Lists of the documents' vectors; 1: one, all of which is scanned; 0: one for few documents.
  std::uint32_t n_lists = 0;
  /// Bits a dimension of the documents' vectors, twice: of the codes that are scanned, where 0 is 4
  /// for few dimensions and 1 for many, and of the second codes, 8 or 0 for none; signs do without
  /// them.
  std::uint32_t bits = 0;
  std::uint32_t refine_bits = 8;
  /// `auto` takes the cheapest stage that finds this share of the ten best among the first
  /// candidates.
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
  /// Documents whose tokens are compared by codes; 0: as many as the query needs, told by how the
  /// last ones did.
  std::uint32_t candidates = 0;
  /// Documents that these are taken from by the signs of their tokens; 0: in proportion to them, by
  /// the probe.
  std::uint32_t pool = 0;
  /// Query tokens whose cosine is at least this are compared as one, their sum; 1: none. Ball
  /// carving of MUVERA.
  double carve = 1;
  /// `full`: the best by codes are compared exactly, and the best of those are the answer. `codes`:
  /// codes decide. `none`: the documents' vectors decide. Scores are exact whatever it says.
  std::string rerank = "full";
  /// A search ends after so many candidates in a row that are none of the best k; 0: after half of
  /// the most that it looks at, but not before all `candidates`, where these are given.
  std::uint32_t patience = 0;
  /// Scales how many candidates are looked at, as `hnsw_ef`: 128 is about the default; 0 leaves it.
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
