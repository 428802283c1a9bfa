#include "engine/query/record_highlighter.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "payload/json/document.h"

namespace quiver::engine {
namespace {

using payload::JsonPath;

/// `a` and `a[]` lead to the same elements.
bool lead_to_the_same(const JsonPath& a, const JsonPath& b) { return a.each() == b.each(); }

/// The default without a text index of this path.
payload::TextOptions text_options_of(const JsonPath& path, const CollectionConfig& config) {
  for (const auto& index : config.indexes) {
    if (index.kind != payload::IndexKind::kText) continue;
    const auto key = JsonPath::parse(index.key);
    if (key && lead_to_the_same(*key, path)) return index.text;
  }
  return {};
}

std::optional<std::string_view> text_of(const payload::ValueCondition& condition) {
  if (const auto* match = std::get_if<payload::MatchText>(&condition)) return match->text;
  if (const auto* match = std::get_if<payload::MatchTextAny>(&condition)) return match->text;
  if (const auto* match = std::get_if<payload::MatchPhrase>(&condition)) return match->text;
  return std::nullopt;
}

}  // namespace

/// The texts of a request. Borrows them.
class RecordHighlighter::Words {
 public:
  void add(const Query& query) {
    if (const auto* match = std::get_if<TextMatch>(&query.kind)) {
      queries_.push_back(match->text);
      const auto& required = match->rules.required;
      queries_.insert(queries_.end(), required.begin(), required.end());
    }
    add(query.filter);
    for (const auto& prefetch : query.prefetch) add(prefetch);
  }
  void add(const std::optional<payload::Filter>& filter) {
    if (filter) add_filter(*filter, nullptr);
  }

  /// The texts whose words are marked under `path`.
  [[nodiscard]] std::vector<std::string_view> texts_of(const Highlight& highlight,
                                                       const JsonPath& path) const {
    if (highlight.query) return {*highlight.query};
    if (!queries_.empty()) return queries_;
    std::vector<std::string_view> texts;
    for (const auto& [key, text] : conditions_) {
      if (lead_to_the_same(key, path)) texts.push_back(text);
    }
    return texts;
  }

 private:
  /// `parent`: the array of objects that the conditions look at; nullptr: the document.
  void add_filter(const payload::Filter& filter, const JsonPath* parent) {
    add_conditions(filter.must, parent);
    add_conditions(filter.should, parent);
    if (filter.min_should) add_conditions(filter.min_should->conditions, parent);
  }

  void add_conditions(const std::vector<payload::Condition>& conditions, const JsonPath* parent) {
    for (const auto& condition : conditions) {
      if (const auto* field = std::get_if<payload::FieldCondition>(&condition)) {
        const auto text = text_of(field->condition);
        const auto key = path_of(field->key, parent);
        if (text && key) conditions_.emplace_back(*key, *text);
      } else if (const auto* nested = std::get_if<payload::Nested>(&condition)) {
        const auto key = path_of(nested->key, parent);
        const auto objects = key ? std::optional(key->each()) : std::nullopt;
        if (objects) add_filter(*nested->filter, &*objects);
      } else if (const auto* inner =
                     std::get_if<std::shared_ptr<const payload::Filter>>(&condition)) {
        add_filter(**inner, parent);
      }
    }
  }

  /// nullopt: `key` is no path. That is an error of the filter.
  static std::optional<JsonPath> path_of(const std::string& key, const JsonPath* parent) {
    const auto path = JsonPath::parse(key);
    if (!path) return std::nullopt;
    return parent == nullptr ? *path : parent->join(*path);
  }

  std::vector<std::string_view> queries_;
  std::vector<std::pair<JsonPath, std::string_view>> conditions_;
};

Result<std::unique_ptr<RecordHighlighter>> RecordHighlighter::of(const Query& query,
                                                                 const CollectionConfig& config) {
  if (!query.highlight) return nullptr;
  Words words;
  words.add(query);
  return of(*query.highlight, words, config);
}

Result<std::unique_ptr<RecordHighlighter>> RecordHighlighter::of(const ScrollRequest& request,
                                                                 const CollectionConfig& config) {
  if (!request.highlight) return nullptr;
  Words words;
  words.add(request.filter);
  return of(*request.highlight, words, config);
}

Result<std::unique_ptr<RecordHighlighter>> RecordHighlighter::of(const Highlight& highlight,
                                                                 const Words& words,
                                                                 const CollectionConfig& config) {
  std::unique_ptr<RecordHighlighter> out(new RecordHighlighter(highlight.options));
  bool has_words = false;
  for (const auto& name : highlight.fields) {
    QV_TRY(auto path, JsonPath::parse(name));
    auto analyzer = std::make_unique<payload::Analyzer>(text_options_of(path, config));
    payload::HighlightTokens tokens;
    for (const auto text : words.texts_of(highlight, path)) {
      tokens.add(text, *analyzer);
      has_words = true;
    }
    out->fields_.push_back({name, std::move(path), std::move(analyzer), std::move(tokens)});
  }
  if (has_words) return out;
  return fail(Code::kInvalidArgument,
              "highlight: no words to mark. Wanted `query`, a text query, or a text condition on "
              "one of the `fields`");
}

Result<std::vector<FieldHighlights>> RecordHighlighter::run(const Segment& segment,
                                                            std::uint32_t row) {
  std::vector<FieldHighlights> out;
  const std::string_view text = segment.data->documents[row];
  if (text.empty()) return out;
  const auto document = payload::parse_json(text);
  if (!document) {
    return fail(Code::kDataLoss, fmt::format("the payload of point {} is no JSON",
                                             segment.data->ids[row].to_string()));
  }
  for (auto& field : fields_) {
    std::vector<std::string_view> texts;  // other values are empty texts, as they are counted, too
    payload::for_each_element(*document, field.path, [&](const payload::Value& value) {
      const auto* string = value.as_string();
      texts.push_back(string == nullptr ? std::string_view() : *string);
    });
    auto fragments = payload::highlight(texts, field.tokens, options_, *field.analyzer);
    if (!fragments.empty()) out.push_back({field.name, texts.size() > 1, std::move(fragments)});
  }
  return out;
}

}  // namespace quiver::engine
