#include "tests/model/random_input.h"

#include <array>
#include <set>

namespace quiver::model {
namespace {

using engine::Operation;

constexpr std::uint64_t kIds = 250;
constexpr std::array<const char*, 5> kWords = {"red", "green", "blue", "warm", "cold"};

bool one_in(std::uint64_t n, Random& random) { return random() % n == 0; }

std::string word(Random& random) { return kWords[random() % kWords.size()]; }

std::vector<float> random_floats(std::size_t n, DType dtype, Random& random) {
  const bool coarse = one_in(3, random);  // equal scores, zero vectors
  std::vector<float> values(n);
  for (float& value : values) {
    value = dtype == DType::kU8 ? static_cast<float>(random() % (coarse ? 2 : 256))
            : coarse            ? static_cast<float>(random() % 3) - 1
                                : std::normal_distribution<float>()(random);
  }
  return values;
}

/// A word, or one that resembles it.
std::string word_of_text(Random& random) {
  std::string text = word(random);
  if (one_in(6, random)) text += one_in(2, random) ? "s" : "ish";
  if (one_in(8, random)) text[1 + random() % (text.size() - 1)] = 'o';
  return text;
}

std::string words_of_text(std::uint64_t n, Random& random) {
  std::string text;
  for (; n > 0; --n) text += (text.empty() ? "" : " ") + word_of_text(random);
  return text;
}

/// One text, or a list of them.
std::string random_texts(Random& random) {
  const auto quoted = [&] { return '"' + words_of_text(random() % 5, random) + '"'; };
  return one_in(2, random) ? quoted() : '[' + quoted() + ',' + quoted() + ']';
}

/// Canonical text. A key sometimes has another type, null or an array, or is missing.
std::string random_payload(Random& random) {
  std::string text;
  const auto put = [&](const char* key, const std::string& value) {
    text += (text.empty() ? "{\"" : ",\"") + std::string(key) + "\":" + value;
  };
  const auto quoted = [](const std::string& value) { return '"' + value + '"'; };
  if (!one_in(4, random)) put("n", std::to_string(random() % 10));
  if (!one_in(3, random)) put("s", one_in(9, random) ? "null" : quoted(word(random)));
  if (one_in(2, random)) put("f", std::to_string(random() % 8) + ".5");
  if (one_in(2, random)) put("b", one_in(2, random) ? "true" : "false");
  if (one_in(2, random)) put("t", quoted(word(random) + ' ' + word(random)));
  if (one_in(2, random)) put("w", random_texts(random));
  if (one_in(3, random)) put("tags", '[' + quoted(word(random)) + ',' + quoted(word(random)) + ']');
  if (one_in(6, random)) put("deep", R"({"er":{"n":)" + std::to_string(random() % 3) + "}}");
  if (one_in(12, random)) put("mixed", one_in(2, random) ? "[]" : "[1,\"1\",null]");
  return text.empty() ? "{}" : text + "}";
}

/// The fields that were not dropped.
std::vector<FieldSchema> live_fields(const engine::CollectionConfig& config) {
  std::vector<FieldSchema> fields = config.fields;
  std::erase_if(fields, engine::is_dropped);
  return fields;
}

FieldSchema some_field(const engine::CollectionConfig& config, Random& random) {
  const auto fields = live_fields(config);
  return fields[random() % fields.size()];
}

payload::ValueCondition random_text_condition(Random& random) {
  switch (random() % 3) {
    case 0:
      return payload::MatchTextAny{words_of_text(2, random)};
    case 1:
      return payload::MatchPhrase{words_of_text(2, random)};
    default:
      return payload::MatchText{words_of_text(1 + random() % 2, random)};
  }
}

payload::ValueCondition random_condition(Random& random, std::string& key) {
  switch (random() % 9) {
    case 0:
      key = "n";
      return payload::MatchValue{payload::MatchScalar{static_cast<std::int64_t>(random() % 10)}};
    case 1:
      key = one_in(2, random) ? "s" : "tags";
      return payload::MatchValue{payload::MatchScalar{word(random)}};
    case 2:
      key = "b";
      return payload::MatchValue{payload::MatchScalar{one_in(2, random)}};
    case 3:
      key = one_in(2, random) ? "s" : "tags";
      return payload::MatchAny{{word(random), word(random)}};
    case 4:
      key = "s";
      if (one_in(2, random)) return payload::MatchPrefix{word(random).substr(0, 1)};
      return payload::MatchExcept{{word(random)}};
    case 5: {
      key = one_in(2, random) ? "n" : "f";
      payload::Range range;
      range.gte = payload::Number{static_cast<std::int64_t>(random() % 8)};
      if (one_in(2, random)) range.lt = payload::Number{static_cast<double>(random() % 10) + 0.5};
      return range;
    }
    case 6:
      key = one_in(2, random) ? "t" : "w";
      return random_text_condition(random);
    case 7:
      key = one_in(2, random) ? "tags" : "mixed";
      return payload::IsEmpty{one_in(2, random)};
    default:
      key = one_in(2, random) ? "s" : "mixed";
      return payload::IsNull{one_in(2, random)};
  }
}

payload::Condition random_condition(Random& random, int depth) {
  if (depth > 0 && one_in(5, random)) {
    return std::make_shared<const payload::Filter>(random_filter(random, depth - 1));
  }
  if (one_in(8, random)) {
    payload::HasId has;
    for (int i = 0; i < 20; ++i) has.ids.push_back(random_id(random));
    return has;
  }
  if (one_in(8, random)) return payload::HasVector{one_in(2, random) ? "" : "words"};
  payload::FieldCondition condition;
  condition.condition = random_condition(random, condition.key);
  return condition;
}

engine::PointInput random_point(const engine::CollectionConfig& config, Random& random) {
  engine::PointInput point{random_id(random), {}, random_payload(random)};
  for (const auto& field : live_fields(config)) {
    if (!one_in(5, random)) point.vectors.push_back({field.name, random_vector(field, random)});
  }
  return point;
}

std::vector<engine::PointInput> some_points(const engine::CollectionConfig& config,
                                            Random& random) {
  const std::uint64_t n = one_in(10, random) ? 60 : 1 + random() % 8;
  return random_points(config, n, random);
}

engine::PointSelector random_selector(Random& random) {
  if (one_in(3, random)) return random_filter(random);
  std::vector<PointId> ids;
  for (std::uint64_t i = random() % 4; i > 0; --i) ids.push_back(random_id(random));
  return ids;
}

/// Selects few points, because deleting everything that matches would leave little to compare.
engine::PointSelector few_points(Random& random) {
  if (!one_in(6, random)) {
    std::vector<PointId> ids;
    for (std::uint64_t i = random() % 12; i > 0; --i) ids.push_back(random_id(random));
    return ids;
  }
  payload::Filter filter;
  filter.must.emplace_back(payload::FieldCondition{
      "n", payload::MatchValue{payload::MatchScalar{static_cast<std::int64_t>(random() % 10)}}});
  filter.must.emplace_back(
      payload::FieldCondition{"s", payload::MatchValue{payload::MatchScalar{word(random)}}});
  return filter;
}

std::optional<std::string> random_key(Random& random) {
  if (!one_in(4, random)) return std::nullopt;
  return one_in(2, random) ? "deep" : "deep.er";
}

Operation random_upsert(const engine::CollectionConfig& config, Random& random) {
  engine::Upsert upsert{some_points(config, random), {}, {}};
  if (one_in(5, random)) upsert.mode = static_cast<engine::UpsertMode>(random() % 3);
  if (one_in(5, random)) upsert.update_filter = random_filter(random);
  return upsert;
}

Operation random_vector_update(const engine::CollectionConfig& config, Random& random) {
  engine::UpdateVectors update;
  for (std::uint64_t i = 1 + random() % 2; i > 0; --i) {
    update.points.push_back(random_point(config, random));
    update.points.back().payload.clear();
  }
  if (one_in(4, random)) update.update_filter = random_filter(random);
  return update;
}

Operation random_operation(const engine::CollectionConfig& config, Random& random) {
  switch (random() % 14) {
    case 0:
    case 1:
      return engine::DeletePoints{few_points(random)};
    case 2:
      return engine::SetPayload{random_payload(random), random_key(random),
                                random_selector(random)};
    case 3:
      return engine::OverwritePayload{random_payload(random), random_key(random),
                                      random_selector(random)};
    case 4:
      return engine::DeletePayload{{"n", one_in(2, random) ? "deep.er" : "tags"},
                                   random_selector(random)};
    case 5:
      return engine::ClearPayload{few_points(random)};
    case 6:
      return random_vector_update(config, random);
    case 7:
      return engine::DeleteVectors{{some_field(config, random).name}, few_points(random)};
    default:
      return random_upsert(config, random);
  }
}

}  // namespace

engine::CollectionConfig random_config(Random& random) {
  engine::CollectionConfig config;
  const auto none = SparseModifier::kNone;
  config.fields = {
      {"", FieldKind::kDense, 6, DType::kF32, Metric::kCosine, none},
      {"half", FieldKind::kDense, 3, DType::kF16, Metric::kEuclid, none},
      {"bytes", FieldKind::kDense, 4, DType::kU8, Metric::kManhattan, none},
      {"words", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, none},
      {"idf", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kIdf},
      {"tokens", FieldKind::kMulti, 2, DType::kF32, Metric::kCosine, none},
      {"turbo", FieldKind::kDense, 5, DType::kTurbo4, Metric::kEuclid, none},
  };
  config.shard_number = one_in(2, random) ? 1 : 2 + static_cast<std::uint32_t>(random() % 2);
  config.optimizer.seal_rows = 20 + random() % 60;
  config.optimizer.max_segments = 2 + static_cast<std::uint32_t>(random() % 4);
  config.optimizer.vacuum_min_rows = 3;
  config.optimizer.idle_seal_s = 0.05;
  if (!one_in(4, random)) config.optimizer.index_min_bytes = random() % 2000;
  if (one_in(2, random)) config.vector_indexes = random_vector_indexes(config, random);
  return config;
}

KeyValues random_sparse_build(Random& random) {
  KeyValues build;
  build["blocks_from"] = std::int64_t{1};
  build["n_postings"] = static_cast<std::int64_t>(1 + random() % 50);
  build["codec"] = std::string(one_in(2, random) ? "gaps" : "f16");
  if (one_in(2, random)) build["n_neighbours"] = std::int64_t{3};
  return build;
}

/// Parameters that force paths which are otherwise taken in large segments only.
KeyValues random_sparse_search(Random& random) {
  KeyValues search;
  search["exact_below"] = std::int64_t{0};
  search["method"] = std::string(one_in(2, random) ? "blocks" : "scan");
  if (one_in(2, random)) search["n_knn"] = std::int64_t{2};
  return search;
}

engine::VectorIndexConfigs random_vector_indexes(const engine::CollectionConfig& config,
                                                 Random& random) {
  engine::VectorIndexConfigs configs;
  for (const auto& field : live_fields(config)) {
    if (one_in(2, random)) continue;
    auto& index = configs[field.name];
    index.enabled = !one_in(4, random);
    if (one_in(2, random)) index.min_bytes = random() % 2000;
    if (field.kind == FieldKind::kDense) index.build["bits"] = std::int64_t{1} << random() % 4;
    if (field.kind == FieldKind::kSparse) index.build = random_sparse_build(random);
  }
  return configs;
}

PointId random_id(Random& random) {
  const std::uint64_t i = random() % kIds;
  return i % 5 == 4 ? PointId::uuid(i * 0x9e3779b97f4a7c15ULL, ~i) : PointId::number(i);
}

engine::VectorValue random_vector(const FieldSchema& field, Random& random) {
  if (field.kind == FieldKind::kDense) return random_floats(field.dim, field.dtype, random);
  if (field.kind == FieldKind::kMulti) {
    const auto n = static_cast<std::uint32_t>(1 + random() % 4);
    return engine::MultiVector{n, field.dim, random_floats(n * field.dim, field.dtype, random)};
  }
  std::set<std::uint32_t> indices;
  for (std::uint64_t i = random() % 7; i > 0; --i) {
    indices.insert(static_cast<std::uint32_t>(random() % 25));
  }
  return engine::SparseVector{{indices.rbegin(), indices.rend()},  // the engine sorts them
                              random_floats(indices.size(), DType::kF32, random)};
}

payload::Filter random_filter(Random& random, int depth) {
  constexpr int kDepth = 2;
  constexpr std::uint64_t kFrequentFilters = 12;
  // Filters that are asked again and again: a segment keeps their rows.
  if (depth == kDepth && one_in(2, random)) {
    Random of_filter(random() % kFrequentFilters);
    return random_filter(of_filter, kDepth - 1);
  }
  payload::Filter filter;
  const auto some = [&](std::uint64_t most) {
    std::vector<payload::Condition> conditions;
    for (std::uint64_t i = random() % (most + 1); i > 0; --i) {
      conditions.push_back(random_condition(random, depth));
    }
    return conditions;
  };
  filter.must = some(1);
  filter.should = some(2);
  filter.must_not = some(1);
  if (one_in(8, random)) filter.min_should = payload::MinShould{some(3), random() % 3};
  return filter;
}

std::vector<engine::PointInput> random_points(const engine::CollectionConfig& config,
                                              std::uint64_t n, Random& random) {
  std::vector<engine::PointInput> points;
  for (std::uint64_t i = 0; i < n; ++i) points.push_back(random_point(config, random));
  return points;
}

Request random_request(const engine::CollectionConfig& config, Random& random) {
  Request request;
  const std::uint64_t n = one_in(4, random) ? 1 + random() % 3 : 1;
  for (std::uint64_t i = 0; i < n; ++i) request.push_back(random_operation(config, random));
  return request;
}

Request invalid_request(const engine::CollectionConfig& config, Random& random) {
  auto good = some_points(config, random);
  auto bad = random_point(config, random);
  if (one_in(2, random)) {
    bad.vectors = {{"", engine::DenseVector{1, 2, 3}}};
  } else {
    bad.vectors = {{"no such field", engine::DenseVector{1}}};
  }
  good.push_back(std::move(bad));
  return {engine::DeletePoints{payload::Filter{}}, engine::Upsert{std::move(good), {}, {}}};
}

engine::Query random_query(const engine::CollectionConfig& config, Random& random) {
  engine::Query query;
  const auto field = some_field(config, random);
  query.using_field = field.name;
  if (one_in(5, random)) {
    query.kind = engine::Nearest{random_id(random)};
  } else {
    query.kind = engine::Nearest{random_vector(field, random)};
  }
  if (one_in(2, random)) query.filter = random_filter(random);
  query.limit = one_in(4, random) ? 1000 : 1 + random() % 20;
  query.params.exact = one_in(4, random);
  if (field.kind == FieldKind::kSparse && one_in(2, random)) {
    query.params.index["sparse"] = random_sparse_search(random);
  }
  if (one_in(4, random)) query.params.hnsw_ef = 1 + random() % 600;
  if (one_in(8, random)) query.params.ignore_codes = true;
  if (one_in(8, random)) query.params.oversampling = 1 + static_cast<double>(random() % 4);
  query.with_payload = payload::Selector::all();
  return query;
}

namespace {

payload::WordRules random_word_rules(Random& random) {
  payload::WordRules rules;
  if (one_in(3, random)) rules.required.push_back(words_of_text(random() % 3, random));
  if (one_in(3, random)) rules.excluded.push_back(words_of_text(1 + random() % 2, random));
  if (one_in(3, random)) rules.minimum.count = static_cast<std::uint32_t>(random() % 4);
  if (one_in(4, random)) rules.minimum.percent = static_cast<std::uint32_t>(random() % 101);
  return rules;
}

payload::TextOptions random_text_options(Random& random) {
  payload::TextOptions options;
  options.phrase_matching = one_in(2, random);
  if (one_in(3, random)) options.stopwords.custom = {"blue"};
  if (one_in(3, random)) options.stemmer = payload::StemmerLanguage::kEnglish;
  if (one_in(4, random)) options.max_token_len = 4;
  return options;
}

}  // namespace

engine::Query random_text_query(Random& random) {
  engine::Query query;
  engine::TextMatch match;
  match.text = words_of_text(one_in(8, random) ? 0 : 1 + random() % 4, random);
  if (one_in(3, random)) {
    match.keys = {{"t", 1 + static_cast<double>(random() % 3)}, {"w", 0.5}};
  } else {
    query.using_field = one_in(2, random) ? "t" : "w";
  }
  match.params = {static_cast<double>(random() % 4), static_cast<double>(random() % 5) / 4};
  if (one_in(2, random)) match.expansion.max_distance = random() % 3;
  match.expansion.last_is_prefix = one_in(3, random);
  if (one_in(2, random)) match.rules = random_word_rules(random);
  query.kind = std::move(match);
  if (one_in(2, random)) query.filter = random_filter(random);
  query.limit = one_in(4, random) ? 1000 : 1 + random() % 20;
  return query;
}

FieldSchema random_field(Random& random) {
  const std::string name = one_in(2, random) ? "late" : "later";
  const auto dim = static_cast<std::uint32_t>(1 + random() % 6);
  switch (random() % 3) {
    case 0:
      return {name, FieldKind::kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kNone};
    case 1:
      return {name, FieldKind::kMulti, dim, DType::kF32, Metric::kDot, SparseModifier::kNone};
    default:
      return {name,
              FieldKind::kDense,
              dim,
              DType::kF32,
              static_cast<Metric>(random() % 4),
              SparseModifier::kNone};
  }
}

payload::FieldIndex random_index(Random& random) {
  constexpr std::array<std::pair<const char*, payload::IndexKind>, 7> kChoices = {
      {{"n", payload::IndexKind::kInteger},
       {"s", payload::IndexKind::kKeyword},
       {"f", payload::IndexKind::kFloat},
       {"b", payload::IndexKind::kBool},
       {"t", payload::IndexKind::kText},
       {"w", payload::IndexKind::kText},
       {"tags", payload::IndexKind::kKeyword}}};
  const auto& [key, kind] = kChoices[random() % kChoices.size()];
  payload::FieldIndex index;
  index.key = key;
  index.kind = kind;
  if (kind != payload::IndexKind::kText) return index;
  index.scoring = !one_in(4, random);
  index.text = random_text_options(random);
  return index;
}

}  // namespace quiver::model
