#include "payload/scalar/text.h"

#include <utf8proc.h>

#include <cstdint>

namespace quiver::payload {
namespace {

bool is_word(utf8proc_int32_t code_point) {
  if (code_point < 0x80) {
    const auto c = static_cast<unsigned>(code_point);
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  }
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return false;
  }
}

bool is_space(utf8proc_int32_t code_point) {
  if (code_point < 0x80) return code_point == ' ' || (code_point >= 9 && code_point <= 13);
  if (code_point == 0x85) return true;
  const auto category = utf8proc_category(code_point);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

/// Collects code points into the current token.
class TokenSink {
 public:
  explicit TokenSink(const TextOptions& options) : options_(options) {}

  void add(utf8proc_int32_t code_point) {
    if (options_.lowercase) code_point = utf8proc_tolower(code_point);
    utf8proc_uint8_t bytes[4];
    const auto n = utf8proc_encode_char(code_point, bytes);
    token_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
    ++length_;
  }
  void end_token() {
    const bool long_enough = length_ >= options_.min_token_len;
    const bool short_enough = options_.max_token_len == 0 || length_ <= options_.max_token_len;
    if (length_ != 0 && long_enough && short_enough) tokens_.push_back(token_);
    token_.clear();
    length_ = 0;
  }
  std::vector<std::string> take() { return std::move(tokens_); }

 private:
  const TextOptions& options_;
  std::vector<std::string> tokens_;
  std::string token_;
  std::uint32_t length_ = 0;  ///< code points of `token_`
};

}  // namespace

std::vector<std::string> tokenize(std::string_view text, const TextOptions& options) {
  const bool at_space = options.tokenizer == Tokenizer::kWhitespace;
  TokenSink sink(options);
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    utf8proc_int32_t code_point = -1;
    const auto n = utf8proc_iterate(bytes, left, &code_point);
    const bool belongs = n > 0 && (at_space ? !is_space(code_point) : is_word(code_point));
    if (belongs) {
      sink.add(code_point);
    } else {
      sink.end_token();
    }
    const auto step = n > 0 ? n : 1;
    bytes += step;
    left -= step;
  }
  sink.end_token();
  return sink.take();
}

}  // namespace quiver::payload
