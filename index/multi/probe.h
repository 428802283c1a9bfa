// Which first stage a field should have: measured on its own documents.
#pragma once

#include <span>
#include <vector>

#include "index/index.h"
#include "index/multi/facts.h"
#include "index/multi/params.h"
#include "index/multi/token_codes.h"

namespace quiver::index::multi {

struct Choice {
  IndexFacts facts;
  Stage stage;
  std::vector<ProbeRow> probe;  ///< of every stage that was tried
};

/// The stage that `params` name or, for `auto`, the one whose searches are the cheapest of those
/// that reach the target, and how many candidates it takes for that. Sampled queries are compared
/// with sampled documents by `tokens`, the codes of `column`, and by each stage. Queries are runs
/// of tokens of documents, which are left out of their own answers.
[[nodiscard]] Result<Choice> choose_stage(const FieldColumn& column, const TokenCodes& tokens,
                                          const BuildParams& params, const BuildContext& context);

}  // namespace quiver::index::multi
