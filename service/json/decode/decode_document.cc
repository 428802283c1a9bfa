// Texts of which a vector is to be made.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "payload/bm25/text_vector.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"
#include "service/json/request_rules.h"

namespace quiver::service::json {
namespace {

constexpr std::string_view kModel = "qdrant/bm25";
constexpr std::string_view kDefaultLanguage = "english";
constexpr std::string_view kNoLanguage = "none";

bool is_bm25(std::string_view model) {
  return std::ranges::equal(model, kModel, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

/// The stop words and the stemmer of a language, as far as there are any.
Decoded<> set_language(std::string_view language, const Path& path, payload::TextOptions& text) {
  if (language == kNoLanguage) return {};
  const auto stemmer = std::ranges::find(payload::kStemmerLanguages, language);
  const auto stopwords = std::ranges::find(payload::kStopwordLanguages, language);
  if (stemmer != payload::kStemmerLanguages.end()) {
    text.stemmer =
        static_cast<payload::StemmerLanguage>(stemmer - payload::kStemmerLanguages.begin());
  }
  if (stopwords != payload::kStopwordLanguages.end()) {
    text.stopwords.languages = {
        static_cast<payload::StopwordLanguage>(stopwords - payload::kStopwordLanguages.begin())};
  }
  if (text.stemmer || !text.stopwords.empty()) return {};
  return format_error(path, fmt::format("unknown language `{}`: there are neither stop words nor a "
                                        "stemmer for it; `none` wants neither",
                                        language));
}

Decoded<payload::TextVectorModel> decode_model(Object options, const Path& path) {
  payload::TextVectorModel model;
  QV_TRY(read_bm25_params(options, path, model.params));
  if (const auto length = find(options, "avg_len"); length && !length->is_null()) {
    const Path here = path.member("avg_len");
    QV_TRY(model.mean_length, get_f64(*length, here));
    if (!(model.mean_length > 0)) return out_of_range(here, to_json(*length), "more than 0");
  }
  std::string_view language = kDefaultLanguage;
  const Path at_language = path.member("language");
  if (const auto given = find(options, "language"); given && !given->is_null()) {
    QV_TRY(language, get_string(*given, at_language));
  }
  QV_TRY(set_language(language, at_language, model.analysis));
  QV_TRY(read_text_options(options, path, model.analysis));
  return model;
}

Decoded<> check_model(std::string_view model, const Path& path) {
  if (is_bm25(model)) return {};
  return wrong_input(
      fmt::format("{}: inference with model `{}` is not available: this server makes vectors of "
                  "texts with `{}`, send vectors of anything else",
                  path.to_string(), model, kModel));
}

/// `options`: nullopt means all defaults.
Decoded<engine::VectorValue> make_vector(std::string_view text, std::optional<Object> options,
                                         const Path& path, payload::TokenUse use) {
  payload::TextVectorModel model;
  if (options) {
    QV_TRY(model, decode_model(*options, path.member("options")));
  } else {
    QV_TRY(set_language(kDefaultLanguage, path, model.analysis));
  }
  auto vector = payload::text_vector(model, text, use);
  return engine::VectorValue(
      engine::SparseVector{std::move(vector.indices), std::move(vector.values)});
}

}  // namespace

Decoded<> read_bm25_params(Object object, const Path& path, payload::Bm25Params& params) {
  if (const auto k = find(object, "k"); k && !k->is_null()) {
    QV_TRY(params.k, get_f64(*k, path.member("k")));
  }
  if (const auto b = find(object, "b"); b && !b->is_null()) {
    QV_TRY(params.b, get_f64(*b, path.member("b")));
  }
  return check_bm25(params, path);
}

Decoded<engine::VectorValue> decode_document(Object object, const Path& path,
                                             payload::TokenUse use) {
  QV_TRY(const Element named, require(object, "model", path));
  QV_TRY(const auto model, get_string(named, path.member("model")));
  QV_TRY(check_model(model, path));
  QV_TRY(const Element text, require(object, "text", path));
  QV_TRY(const auto string, get_string(text, path.member("text")));
  const auto given = find(object, "options");
  if (!given || given->is_null()) return make_vector(string, std::nullopt, path, use);
  QV_TRY(const Object options, get_object(*given, path.member("options")));
  return make_vector(string, options, path, use);
}

Decoded<engine::VectorValue> vector_of_text(std::string_view text, std::string_view model,
                                            std::string& options, const Path& path,
                                            payload::TokenUse use) {
  QV_TRY(check_model(model, path));
  QV_TRY(const Object object, parse_object_body(options));
  return make_vector(text, object, path, use);
}

}  // namespace quiver::service::json
