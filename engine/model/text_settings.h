// The steps behind the tokenizer of a text index as JSON: in stored configurations, and in the
// parameters of the index's creator.
#pragma once

#include "payload/json/document.h"
#include "payload/text_options.h"

namespace quiver::engine {

/// {"ascii_folding": …, "stemmer": {"type", "language"}, "stopwords": {"languages", "custom"},
/// "synonyms": [[words]]}; stemmer and synonyms may be missing.
[[nodiscard]] payload::Value analysis_of(const payload::TextOptions& options);

/// Reads what `analysis_of` writes, also where a client may write it otherwise (`stopwords` is one
/// language). Members that are missing or unknown change nothing.
void read_analysis(const payload::Value& settings, payload::TextOptions& options);

}  // namespace quiver::engine
