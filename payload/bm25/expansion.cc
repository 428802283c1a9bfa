#include "payload/bm25/expansion.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "payload/text/resembling.h"

namespace quiver::payload {
namespace {

/// Calls `visit(term, number of its rows)` for each term that begins with `start`. The number is 0
/// in a growing column, which counts no rows.
template <class Visit>
void for_each_term(const ColumnView& column, std::string_view start, Visit visit) {
  for (std::uint32_t id = column.sealed ? column.first_term_from(start) : 0; id < column.n_terms();
       ++id) {
    const std::string_view term = column.term(id);
    if (!term.starts_with(start)) {
      if (column.sealed) return;
      continue;
    }
    visit(term, column.sealed ? column.postings(id).size() : 0);
  }
}

struct Candidate {
  std::uint32_t distance = 0;
  std::uint64_t n_rows = 0;
};

/// What stands in place of one token, by text.
using Candidates = std::map<std::string, Candidate>;

void collect_candidates(const Resembling& resembling, const ColumnView& column,
                        Candidates& candidates) {
  for_each_term(column, resembling.start(), [&](std::string_view term, std::uint64_t n_rows) {
    if (term == resembling.word()) return;
    const auto distance = resembling.distance_to(term);
    if (!distance) return;
    Candidate& candidate = candidates[std::string(term)];
    candidate.distance = *distance;
    candidate.n_rows += n_rows;
  });
}

/// The best, by distance, then by rows, then by text.
std::vector<std::pair<std::string, Candidate>> best_candidates(const Candidates& candidates,
                                                               std::size_t limit) {
  std::vector<std::pair<std::string, Candidate>> all(candidates.begin(), candidates.end());
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second.distance != b.second.distance ? a.second.distance < b.second.distance
                                                  : a.second.n_rows > b.second.n_rows;
  });
  if (all.size() > limit) all.resize(limit);
  return all;
}

}  // namespace

void expand(const Expansion& expansion, std::span<const ColumnView> columns, std::size_t last,
            QueryTokens& tokens) {
  const std::size_t n_tokens = tokens.stand_ins.size();
  for (std::size_t i = 0; i < n_tokens; ++i) {
    const Resembling resembling(tokens.texts[i], expansion.max_distance,
                                expansion.last_is_prefix && i == last);
    if (resembling.is_plain()) continue;
    Candidates candidates;
    for (const auto& column : columns) collect_candidates(resembling, column, candidates);
    for (auto& [word, candidate] : best_candidates(candidates, expansion.max_words)) {
      const std::size_t known = tokens.find(word);
      if (known != QueryTokens::kNone) {  // its score counts once
        tokens.stand_ins[i].push_back(static_cast<std::uint32_t>(known));
        continue;
      }
      tokens.stand_ins[i].push_back(static_cast<std::uint32_t>(tokens.texts.size()));
      tokens.texts.push_back(std::move(word));
      tokens.shares.push_back(tokens.shares[i] * resembling.share_at(candidate.distance));
      tokens.origins.push_back(static_cast<std::uint32_t>(i));
    }
  }
}

}  // namespace quiver::payload
