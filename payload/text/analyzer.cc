#include "payload/text/analyzer.h"

#include <algorithm>
#include <utility>

#include "payload/text/characters.h"
#include "payload/text/normalize.h"

namespace quiver::payload {
namespace {

constexpr std::array<char, 128> kLower = [] {
  std::array<char, 128> table{};
  for (int c = 0; c < 128; ++c) {
    table[static_cast<std::size_t>(c)] = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  return table;
}();

}  // namespace

Analyzer::Analyzer(const TextOptions& options)
    : options_(options),
      stopwords_(options_),
      stemmer_(options_.stemmer ? std::make_unique<Stemmer>(*options_.stemmer) : nullptr),
      synonyms_(options_, stemmer_.get()) {}

void Analyzer::analyze(std::string_view text, TokenUse use, Visitor visit, void* function) {
  const Target target{use, visit, function};
  split(text, options_.tokenizer, [&](const Piece& piece) { add_piece(piece, target); });
}

void Analyzer::add_piece(const Piece& piece, const Target& target) {
  const std::string_view token = final_form(normal_form(piece));
  if (token.empty()) return;
  if (options_.tokenizer == Tokenizer::kPrefix) return emit_prefixes(token, target);
  if (has_allowed_length(token)) target(token);
}

std::string_view Analyzer::normal_form(const Piece& piece) {
  if (!piece.is_ascii) {
    normalize(piece.text, options_, buffer_);
    return buffer_;
  }
  if (!options_.lowercase) return piece.text;
  buffer_.resize(piece.text.size());
  std::ranges::transform(piece.text, buffer_.begin(),
                         [](char c) { return kLower[static_cast<std::size_t>(c)]; });
  return buffer_;
}

std::string_view Analyzer::final_form(std::string_view word) {
  if (stemmer_ == nullptr) return form_unless_stopped(word);
  const std::uint64_t hash = hash_text(word);
  if (const auto form = cache_.find(word, hash); form.data() != nullptr) return form;
  const auto form = form_unless_stopped(word);
  cache_.remember(word, hash, form);
  return form;
}

std::string_view Analyzer::form_unless_stopped(std::string_view word) {
  if (!stopwords_.empty() && stopwords_.contains(word)) return {};
  const std::string_view stem = stemmer_ == nullptr ? word : stemmer_->stem(word);
  return synonyms_.empty() ? stem : synonyms_.first_of(stem);
}

bool Analyzer::has_allowed_length(std::string_view token) const {
  if (options_.min_token_len == 0 && options_.max_token_len == 0) return true;
  const std::size_t length = count_code_points(token);
  return length >= options_.min_token_len &&
         (options_.max_token_len == 0 || length <= options_.max_token_len);
}

void Analyzer::emit_prefixes(std::string_view token, const Target& target) const {
  const std::size_t min = std::max(options_.min_token_len, 1U);
  const std::size_t max = options_.max_token_len == 0
                              ? kMaxPrefixLength
                              : std::min(options_.max_token_len, kMaxPrefixLength);
  const std::size_t longest = bytes_of_code_points(token, max);
  std::size_t end = bytes_of_code_points(token.substr(0, longest), min);
  // A whole token that is shorter than `min` has no prefix.
  if (count_code_points(token.substr(0, end)) < min) return;
  if (target.use == TokenUse::kQuery) return target(token.substr(0, longest));
  for (; end < longest; end += bytes_of_code_points(token.substr(end), 1)) {
    target(token.substr(0, end));
  }
  target(token.substr(0, longest));
}

std::string_view Analyzer::source_of(const Piece& piece, std::string_view token) const {
  if (options_.tokenizer != Tokenizer::kPrefix || stemmer_ != nullptr) return piece.text;
  return piece.text.substr(0,
                           bytes_of_normal_prefix(piece.text, options_, count_code_points(token)));
}

std::vector<std::string> Analyzer::tokens(std::string_view text, TokenUse use) {
  std::vector<std::string> out;
  for_each_token(text, use, [&](std::string_view token) { out.emplace_back(token); });
  return out;
}

std::size_t Analyzer::memory_bytes() const {
  return sizeof(*this) + cache_.memory_bytes() + buffer_.capacity();
}

std::vector<std::string> AnalyzerPool::tokens(std::string_view text, TokenUse use) const {
  std::unique_ptr<Analyzer> analyzer;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      analyzer = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (analyzer == nullptr) analyzer = std::make_unique<Analyzer>(options_);
  auto out = analyzer->tokens(text, use);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(analyzer));
  return out;
}

Analyzer& analyzer_of_thread(const TextOptions& options) {
  thread_local std::unique_ptr<Analyzer> analyzer;
  if (analyzer == nullptr || analyzer->options() != options) {
    analyzer = std::make_unique<Analyzer>(options);
  }
  return *analyzer;
}

std::vector<std::string> tokenize(std::string_view text, const TextOptions& options, TokenUse use) {
  return Analyzer(options).tokens(text, use);
}

}  // namespace quiver::payload
