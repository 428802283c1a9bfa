// Analyzers of texts: never a crash, and tokens that are UTF-8 and not too many. The first two
// bytes choose the options.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "payload/text/analyzer.h"
#include "payload/text/characters.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quiver::payload;
  if (size < 2) return 0;
  TextOptions options;
  options.tokenizer = static_cast<Tokenizer>(data[0] % kTokenizerNames.size());
  options.lowercase = (data[0] & 0x80U) != 0;
  options.ascii_folding = (data[0] & 0x40U) != 0;
  const std::size_t stemmer = data[1];
  if (stemmer < kStemmerLanguages.size()) options.stemmer = static_cast<StemmerLanguage>(stemmer);
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::size_t n_bytes = 0;
  Analyzer(options).for_each_token(text, TokenUse::kDocument, [&](std::string_view token) {
    if (token.empty()) std::abort();
    for (std::size_t at = 0; at < token.size();) {
      const CodePoint next = code_point_at(token, at);
      if (next.value < 0) std::abort();
      at += next.n_bytes;
    }
    n_bytes += token.size();
  });
  // One code point may fold to 18 letters, and a prefix tokenizer repeats each up to 64 times.
  if (n_bytes > 18 * 64 * size) std::abort();
  return 0;
}
