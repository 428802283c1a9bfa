// The probe: measures on a field's own documents which first stage makes searches cheapest.
#pragma once

#include <span>
#include <vector>

#include "index/index.h"
#include "index/multi/stages/index_facts.h"
#include "index/multi/stages/params.h"
#include "index/multi/tokens/token_codes.h"
#include "index/multi/tokens/token_signs.h"

namespace quiver::index::multi {

struct Choice {
  MultiFacts facts;
  Stage stage;
  std::vector<ProbeRow> probe;  ///< a row for each stage and number of candidates tried
  ProbeFacts probed;
};

/// Returns the stage that `params` name or, for `auto`, the cheapest stage that reaches the target,
/// with the number of candidates it needs. Signs are used if `signs` is not nullptr and searches
/// are cheaper with them.
///
/// `codes` and `signs` belong to `column`. Queries of the probe: every other recorded query, if
/// there are at least 60; else runs of tokens of documents. The other recorded queries are for
/// fitting.
[[nodiscard]] Result<Choice> choose_stage(const FieldColumn& column, const TokenCodes& codes,
                                          const TokenSigns* signs, const MultiBuildParams& params,
                                          const BuildContext& context);

}  // namespace quiver::index::multi
