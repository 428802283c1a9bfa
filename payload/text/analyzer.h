// Makes the tokens of text indexes and of the queries that ask them.
//
// The steps, in Qdrant's order: the tokenizer splits (payload/text/splitting.h); then for each
// piece lower case, ASCII folding (normalize.h), stop words (stopwords.h), stem (stemmer.h),
// synonyms (synonyms.h), and the bounds of the length in code points.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "payload/text/splitting.h"
#include "payload/text/stemmer.h"
#include "payload/text/stopwords.h"
#include "payload/text/synonyms.h"
#include "payload/text/word_numbers.h"
#include "payload/text_options.h"

namespace quiver::payload {

/// Most code points of the prefixes that Tokenizer::kPrefix makes, whatever `max_token_len` is:
/// a text of n bytes has then at most 32 n bytes of tokens.
inline constexpr std::uint32_t kMaxPrefixLength = 64;

/// Whether tokens are stored, or looked for among stored ones. Only kPrefix makes a difference.
enum class TokenUse : std::uint8_t { kDocument, kQuery };

/// Splits texts by one set of options. Not thread safe: it keeps the words it saw, a buffer and a
/// stemmer. Make one for many texts; AnalyzerPool lends them to threads.
///
/// - kWord: runs of letters, numbers and combining marks.
/// - kWhitespace: what stands between white space.
/// - kPrefix: words; a document's word gives all its prefixes from `min_token_len` to
///   `max_token_len` code points, a query's word only the longest of them. `max_token_len` is at
///   most kMaxPrefixLength here, and that if it is 0.
/// - kMultilingual: words by Unicode's rules, so "don't" and "3.14" are one. In scripts without
///   spaces all pairs of neighbours: `ABC` gives `AB` and `BC`.
/// - kCode: words, cut where identifiers have parts: `getHTTPCode2` gives get, HTTP, Code, 2.
///
/// Bytes that are not UTF-8 separate tokens. Time is linear in the bytes of the text. Tokens have
/// no greatest length but `max_token_len`; words of more than kMaxStemmedBytes are not stemmed.
class Analyzer {
 public:
  explicit Analyzer(const TextOptions& options);

  /// Calls `visit(std::string_view)` for each token in order, with repetitions. The view is valid
  /// during the call.
  template <class Visit>
  void for_each_token(std::string_view text, TokenUse use, Visit&& visit) {
    using Function = std::remove_reference_t<Visit>;
    analyze(
        text, use,
        [](void* function, std::string_view token) { (*static_cast<Function*>(function))(token); },
        &visit);
  }
  /// The same for a single piece, as `split` makes them by the tokenizer of the options.
  template <class Visit>
  void for_each_token(const Piece& piece, TokenUse use, Visit&& visit) {
    using Function = std::remove_reference_t<Visit>;
    add_piece(piece, {use,
                      [](void* function, std::string_view token) {
                        (*static_cast<Function*>(function))(token);
                      },
                      &visit});
  }
  /// Appends the number of each token of a document in order. `number_of(token)` numbers tokens
  /// from 0; `numbers` remembers what it said, so it must be the same function whenever the same
  /// `numbers` are given.
  template <class NumberOf>
  void append_numbers(std::string_view text, WordNumbers& numbers, NumberOf number_of,
                      std::vector<std::uint32_t>& out) {
    if (options_.tokenizer == Tokenizer::kPrefix) {  // a word has several tokens
      return for_each_token(text, TokenUse::kDocument,
                            [&](std::string_view token) { out.push_back(number_of(token)); });
    }
    std::array<PendingWord, kWordsAhead> pending;
    std::size_t n_pending = 0;
    const auto number_pending = [&] {
      std::size_t end = out.size();
      out.resize(end + n_pending);
      for (std::size_t i = 0; i < n_pending; ++i) {
        // Without a branch: whether a word is a stop word cannot be predicted.
        out[end] = number_of_piece(pending[i], numbers, number_of);
        end += out[end] == WordNumbers::kNoToken ? 0 : 1;
      }
      out.resize(end);
      n_pending = 0;
    };
    const char* end = text.data() + text.size();
    split(text, options_.tokenizer, [&](const Piece& piece) {
      if (n_pending == kWordsAhead) number_pending();
      const auto n_readable = static_cast<std::size_t>(end - piece.text.data());
      pending[n_pending] = pending_word(piece, n_readable);
      numbers.prefetch(pending[n_pending++].hash);
    });
    number_pending();
  }
  /// The part of `piece` that became `token`, one of a document's tokens of it: its beginning if
  /// the token is a prefix, else all. With a stemmer always all.
  [[nodiscard]] std::string_view source_of(const Piece& piece, std::string_view token) const;
  [[nodiscard]] std::vector<std::string> tokens(std::string_view text, TokenUse use);
  [[nodiscard]] std::size_t memory_bytes() const;
  [[nodiscard]] const TextOptions& options() const { return options_; }

 private:
  using Visitor = void (*)(void* function, std::string_view token);
  struct Target {
    TokenUse use;
    Visitor visit;
    void* function;
    void operator()(std::string_view token) const { visit(function, token); }
  };

  /// Words that are looked up together, so that the places of all are fetched at once: many lie
  /// beyond the L2 cache.
  static constexpr std::size_t kWordsAhead = 16;
  struct PendingWord {
    Piece piece;
    bool has_key = false;
    WordNumbers::Key key;    ///< of the piece, in lower case if the options say so
    std::uint64_t hash = 0;  ///< of the key
  };
  /// `n_readable`: bytes from the beginning of the piece to the end of its text.
  [[nodiscard]] PendingWord pending_word(const Piece& piece, std::size_t n_readable) const {
    PendingWord word;
    word.piece = piece;
    word.has_key = piece.is_ascii && piece.text.size() <= WordNumbers::kMaxBytes;
    if (!word.has_key) return word;
    word.key = WordNumbers::key_of(piece.text, n_readable);
    if (options_.lowercase) word.key = WordNumbers::to_lower(word.key);
    word.hash = WordNumbers::hash_of(word.key);
    return word;
  }

  /// kNoToken if the piece, not of kPrefix, gives no token.
  template <class NumberOf>
  std::uint32_t number_of_piece(const PendingWord& word, WordNumbers& numbers,
                                NumberOf& number_of) {
    if (!word.has_key) return number_of_long_piece(word.piece, numbers, number_of);
    return number_of_word(word.key, word.hash, numbers,
                          [&] { return number_of_form(normal_form(word.piece), number_of); });
  }
  /// Of a piece that is not ASCII, or long.
  template <class NumberOf>
  std::uint32_t number_of_long_piece(const Piece& piece, WordNumbers& numbers,
                                     NumberOf& number_of) {
    const std::string_view word = normal_form(piece);
    if (word.empty() || word.size() > WordNumbers::kMaxBytes) {
      return number_of_form(word, number_of);
    }
    const auto key = WordNumbers::key_of(word);
    return number_of_word(key, WordNumbers::hash_of(key), numbers,
                          [&] { return number_of_form(word, number_of); });
  }
  template <class Make>
  static std::uint32_t number_of_word(const WordNumbers::Key& key, std::uint64_t hash,
                                      WordNumbers& numbers, Make make) {
    std::uint32_t number = numbers.find(key, hash);
    if (number == WordNumbers::kUnknown) numbers.remember(key, hash, number = make());
    return number;
  }
  template <class NumberOf>
  std::uint32_t number_of_form(std::string_view word, NumberOf& number_of) {
    const std::string_view token = final_form(word);
    return token.empty() || !has_allowed_length(token) ? WordNumbers::kNoToken : number_of(token);
  }

  void analyze(std::string_view text, TokenUse use, Visitor visit, void* function);
  void add_piece(const Piece& piece, const Target& target);
  std::string_view normal_form(const Piece& piece);
  /// The stem, or that of the word for which it counts; empty for a stop word. Valid until the next
  /// call.
  std::string_view final_form(std::string_view word);
  std::string_view form_unless_stopped(std::string_view word);
  [[nodiscard]] bool has_allowed_length(std::string_view token) const;
  void emit_prefixes(std::string_view token, const Target& target) const;

  const TextOptions options_;
  const StopwordSet stopwords_;
  std::unique_ptr<Stemmer> stemmer_;  ///< nullptr: words stay
  const SynonymMap synonyms_;
  WordCache cache_;     ///< what `form_unless_stopped` said
  std::string buffer_;  ///< the normal form of one word
};

/// Analyzers of one set of options for any number of threads. Thread safe.
class AnalyzerPool {
 public:
  explicit AnalyzerPool(TextOptions options) : options_(std::move(options)) {}

  [[nodiscard]] const TextOptions& options() const { return options_; }
  [[nodiscard]] std::vector<std::string> tokens(std::string_view text, TokenUse use) const;

 private:
  const TextOptions options_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Analyzer>> idle_;  ///< guarded by mutex_
};

/// An analyzer for the time until this thread asks again. It is made anew if the options are others
/// than before.
[[nodiscard]] Analyzer& analyzer_of_thread(const TextOptions& options);

/// The tokens of one text. Makes an analyzer for it.
[[nodiscard]] std::vector<std::string> tokenize(std::string_view text, const TextOptions& options,
                                                TokenUse use = TokenUse::kDocument);

}  // namespace quiver::payload
