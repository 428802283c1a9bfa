// Which first stage a field should have: measured on its own documents.
#pragma once

#include <span>
#include <vector>

#include "index/index.h"
#include "index/multi/params.h"
#include "index/multi/stages/index_facts.h"
#include "index/multi/tokens/token_codes.h"
#include "index/multi/tokens/token_signs.h"

namespace quiver::index::multi {

struct Choice {
  MultiFacts facts;
  Stage stage;
  std::vector<ProbeRow> probe;  ///< of every stage that was tried
  ProbeFacts probed;
};

/// The stage that `params` name or, for `auto`, the one whose searches are the cheapest of those
/// that reach the target, and how many candidates it takes for that; with `signs`, which may be
/// nullptr, if searches are cheaper with them. Queries are compared with sampled documents by
/// `codes` and `signs`, those of `column`, and by each stage: recorded queries where there are at
/// least sixty, of which every other one is for the fit; else tokens of documents, and the fit has
/// what was recorded.
[[nodiscard]] Result<Choice> choose_stage(const FieldColumn& column, const TokenCodes& codes,
                                          const TokenSigns* signs, const MultiBuildParams& params,
                                          const BuildContext& context);

}  // namespace quiver::index::multi
