#include "engine/model/corpus_counts.h"

namespace quiver::engine {

void add_counts(const CorpusCounts& more, CorpusCounts& counts) {
  counts.n_vectors += more.n_vectors;
  for (const auto& [index, n] : more.of_index) counts.of_index[index] += n;
  for (const auto& [key, texts] : more.of_key) {
    TextCounts& sum = counts.of_key[key];
    sum.n_texts += texts.n_texts;
    sum.n_tokens += texts.n_tokens;
    for (const auto& [text, token] : texts.tokens) {
      sum.tokens[text].n_texts += token.n_texts;
      sum.tokens[text].origin = token.origin;
    }
  }
}

}  // namespace quiver::engine
