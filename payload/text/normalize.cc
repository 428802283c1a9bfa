#include "payload/text/normalize.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "payload/text/characters.h"

namespace quiver::payload {
namespace {

struct Folding {
  std::int32_t letter;
  std::string_view ascii;
};
/// Letters and signs without a decomposition into ASCII, ascending. After Lucene's
/// ASCIIFoldingFilter.
constexpr std::array<Folding, 56> kFoldings = {{
    {0x00C6, "AE"}, {0x00D0, "D"},  {0x00D8, "O"},  {0x00DE, "TH"}, {0x00DF, "ss"}, {0x00E6, "ae"},
    {0x00F0, "d"},  {0x00F8, "o"},  {0x00FE, "th"}, {0x0110, "D"},  {0x0111, "d"},  {0x0126, "H"},
    {0x0127, "h"},  {0x0131, "i"},  {0x0138, "q"},  {0x0141, "L"},  {0x0142, "l"},  {0x014A, "N"},
    {0x014B, "n"},  {0x0152, "OE"}, {0x0153, "oe"}, {0x0166, "T"},  {0x0167, "t"},  {0x0180, "b"},
    {0x0181, "B"},  {0x0186, "O"},  {0x0189, "D"},  {0x018A, "D"},  {0x018F, "A"},  {0x0190, "E"},
    {0x0191, "F"},  {0x0192, "f"},  {0x0197, "I"},  {0x0198, "K"},  {0x0199, "k"},  {0x01B3, "Y"},
    {0x01B4, "y"},  {0x01B5, "Z"},  {0x01B6, "z"},  {0x0253, "b"},  {0x0254, "o"},  {0x0256, "d"},
    {0x0257, "d"},  {0x0259, "a"},  {0x025B, "e"},  {0x0268, "i"},  {0x0289, "u"},  {0x028B, "v"},
    {0x1E9E, "SS"}, {0x2013, "-"},  {0x2014, "-"},  {0x2018, "'"},  {0x2019, "'"},  {0x201A, "'"},
    {0x201C, "\""}, {0x201D, "\""},
}};
static_assert(std::ranges::is_sorted(kFoldings, {}, &Folding::letter));

/// More than any code point decomposes into (U+FDFA: 18).
constexpr std::size_t kMaxDecomposition = 32;

constexpr bool is_combining(std::int32_t code_point) {
  return code_point >= 0x300 && code_point <= 0x36F;
}

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

class Normalizer {
 public:
  Normalizer(const TextOptions& options, std::string& out) : options_(options), out_(out) {}

  void add(std::int32_t code_point) {
    if (options_.lowercase) code_point = utf8proc_tolower(code_point);
    if (!options_.ascii_folding || !fold(code_point)) append_code_point(out_, code_point);
  }

 private:
  /// Appends the ASCII form. Returns false, without a change, if there is none.
  bool fold(std::int32_t code_point) {
    if (code_point < 0x80) return false;
    if (is_combining(code_point)) return !out_.empty() && is_ascii(out_.back());
    std::array<utf8proc_int32_t, kMaxDecomposition> parts;
    int boundary_class = 0;
    const auto n = utf8proc_decompose_char(
        code_point, parts.data(), parts.size(),
        static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT), &boundary_class);
    if (n <= 0 || static_cast<std::size_t>(n) > parts.size()) return false;
    const std::size_t before = out_.size();
    for (utf8proc_ssize_t i = 0; i < n; ++i) {
      if (!fold_part(parts[static_cast<std::size_t>(i)])) {
        out_.resize(before);
        return false;
      }
    }
    return out_.size() != before;
  }

  bool fold_part(std::int32_t part) {
    if (is_combining(part)) return true;
    if (part < 0x80) {
      const char c = static_cast<char>(part);
      out_.push_back(options_.lowercase ? lower(c) : c);
      return true;
    }
    const auto found = std::ranges::lower_bound(kFoldings, part, {}, &Folding::letter);
    if (found == kFoldings.end() || found->letter != part) return false;
    for (const char c : found->ascii) out_.push_back(options_.lowercase ? lower(c) : c);
    return true;
  }

  const TextOptions& options_;
  std::string& out_;
};

}  // namespace

void normalize(std::string_view word, const TextOptions& options, std::string& out) {
  out.clear();
  if (std::ranges::all_of(word, is_ascii)) {
    out = word;
    if (options.lowercase) std::ranges::transform(out, out.begin(), lower);
    return;
  }
  Normalizer normalizer(options, out);
  for (std::size_t at = 0; at < word.size();) {
    const CodePoint next = code_point_at(word, at);
    if (next.value >= 0) normalizer.add(next.value);
    at += next.n_bytes;
  }
}

std::size_t bytes_of_normal_prefix(std::string_view word, const TextOptions& options,
                                   std::size_t n) {
  std::string form;
  Normalizer normalizer(options, form);
  std::size_t n_points = 0;
  std::size_t at = 0;
  while (at < word.size()) {
    const CodePoint next = code_point_at(word, at);
    const std::size_t before = form.size();
    if (next.value >= 0) normalizer.add(next.value);
    const std::size_t n_added = count_code_points(std::string_view(form).substr(before));
    if (n_points >= n && n_added > 0) break;
    n_points += n_added;
    at += next.n_bytes;
  }
  return at;
}

}  // namespace quiver::payload
