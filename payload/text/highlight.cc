#include "payload/text/highlight.h"

#include <algorithm>

#include "payload/text/characters.h"
#include "payload/text/fragments.h"
#include "payload/text/splitting.h"

namespace quiver::payload {
namespace {

/// Finds the matches of one text.
class MatchFinder {
 public:
  /// `max_length`: greatest length of matches that overlap and become one, in code points.
  MatchFinder(const HighlightTokens& tokens, std::size_t max_length, std::size_t max_occurrences,
              MatchedText& out)
      : tokens_(tokens), max_length_(max_length), max_occurrences_(max_occurrences), out_(out) {}

  void run(Analyzer& analyzer) {
    split(out_.text, analyzer.options().tokenizer, [&](const Piece& piece) {
      if (out_.tokens.size() >= max_occurrences_) return;
      const std::size_t n_before = out_.tokens.size();
      std::string_view source;  // prefixes come shortest first
      analyzer.for_each_token(piece, TokenUse::kDocument, [&](std::string_view token) {
        const auto number = tokens_.find(token);
        if (!number) return;
        out_.tokens.push_back(*number);
        source = analyzer.source_of(piece, token);
      });
      if (out_.tokens.size() > n_before) add(source);
    });
  }

 private:
  void add(std::string_view source) {
    const TextOccurrence match = occurrence_of(source);
    if (!out_.matches.empty() && match.begin.byte < out_.matches.back().end.byte) {
      TextOccurrence& last = out_.matches.back();
      if (match.end.point - last.begin.point <= max_length_) {
        last.end = match.end;
        last.tokens_end = match.tokens_end;
        return;
      }
      last.end = match.begin;
    }
    out_.matches.push_back(match);
  }

  /// Pieces come in order, so that each byte is counted about once.
  TextOccurrence occurrence_of(std::string_view source) {
    TextOccurrence match;
    match.begin.byte = static_cast<std::size_t>(source.data() - out_.text.data());
    const auto skipped = out_.text.substr(last_.byte, match.begin.byte - last_.byte);
    match.begin.point = last_.point + count_code_points(skipped);
    last_ = match.begin;
    match.end = {match.begin.byte + source.size(), match.begin.point + count_code_points(source)};
    match.tokens_end = out_.tokens.size();
    return match;
  }

  const HighlightTokens& tokens_;
  const std::size_t max_length_;
  const std::size_t max_occurrences_;
  MatchedText& out_;
  TextPosition last_;
};

void append_escaped(std::string_view text, HighlightEscape escape, std::string& out) {
  if (escape == HighlightEscape::kNone) {
    out += text;
    return;
  }
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
}

HighlightFragment rendered(const MatchedText& source, const Fragment& fragment,
                           const HighlightOptions& options) {
  HighlightFragment out;
  out.text_number = source.number;
  out.offset = fragment.begin.point;
  std::size_t at = fragment.begin.byte;
  const auto append_up_to = [&](std::size_t end) {
    append_escaped(source.text.substr(at, end - at), options.escape, out.text);
    at = end;
  };
  for (std::size_t i = fragment.first_match; i < fragment.end_match; ++i) {
    const auto& match = source.matches[i];
    append_up_to(match.begin.byte);
    out.text += options.pre;
    append_up_to(match.end.byte);
    out.text += options.post;
    out.matches.push_back({match.begin.point, match.end.point});
  }
  append_up_to(fragment.end.byte);
  return out;
}

std::vector<Fragment> whole_texts(std::span<const MatchedText> texts) {
  std::vector<Fragment> fragments;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    fragments.push_back({i, 0, texts[i].matches.size(), {}, {texts[i].text.size(), 0}});
  }
  return fragments;
}

}  // namespace

void HighlightTokens::add(std::string_view text, Analyzer& analyzer) {
  analyzer.for_each_token(text, TokenUse::kQuery, [&](std::string_view token) {
    numbers_.try_emplace(std::string(token), static_cast<std::uint32_t>(numbers_.size()));
  });
}

std::optional<std::uint32_t> HighlightTokens::find(std::string_view token) const {
  const auto found = numbers_.find(token);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

std::vector<HighlightFragment> highlight(std::span<const std::string_view> texts,
                                         const HighlightTokens& tokens,
                                         const HighlightOptions& options, Analyzer& analyzer) {
  const bool is_whole = options.n_fragments == 0;
  std::vector<MatchedText> matched;
  std::size_t n_left = tokens.empty() ? 0 : kMaxHighlightOccurrences;
  for (std::size_t i = 0; i < texts.size() && n_left > 0; ++i) {
    MatchedText text{i, texts[i], {}, {}};
    const std::size_t max_length = is_whole ? texts[i].size() : options.fragment_length;
    MatchFinder(tokens, max_length, n_left, text).run(analyzer);
    n_left -= std::min(n_left, text.tokens.size());
    if (!text.matches.empty()) matched.push_back(std::move(text));
  }
  const auto fragments =
      is_whole ? whole_texts(matched)
               : choose_fragments(matched,
                                  {options.n_fragments, options.fragment_length, tokens.size()});
  std::vector<HighlightFragment> out;
  for (const auto& fragment : fragments) {
    out.push_back(rendered(matched[fragment.text], fragment, options));
  }
  return out;
}

}  // namespace quiver::payload
