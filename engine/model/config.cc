#include "engine/model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/schema_names.h"
#include "engine/model/row.h"
#include "engine/model/text_settings.h"
#include "payload/json/document.h"
#include "payload/json/path.h"

namespace quiver::engine {
namespace {

using payload::Array;
using payload::Object;
using payload::Value;

constexpr std::uint64_t kVersion = 1;
/// With dropped fields or points that expire, which older servers would not heed.
constexpr std::uint64_t kNewVersion = 2;
/// With custom sharding, or limits of tenants: servers of version 2 would not heed them.
constexpr std::uint64_t kShardingVersion = 3;
/// With vectors that are made of payloads: servers of version 3 would not make them.
constexpr std::uint64_t kNewestVersion = 4;
/// The name of a dropped field begins with it. Clients cannot use it in a name.
constexpr char kDroppedMark = '\x01';
constexpr std::array<std::string_view, 3> kKinds = {"dense", "sparse", "multi"};
constexpr std::array<std::string_view, 4> kMetrics = {"dot", "cosine", "euclid", "manhattan"};
constexpr std::array<std::string_view, 2> kModifiers = {"none", "idf"};

template <class Enum, std::size_t n>
Value name_of(const std::array<std::string_view, n>& names, Enum value) {
  return Value(std::string(names[static_cast<std::size_t>(value)]));
}

Value number(std::uint64_t value) { return Value(value); }
Value optional_number(std::optional<std::uint64_t> value) {
  return value ? Value(*value) : Value();
}

Value to_value(const FieldSchema& field) {
  return Value(Object{{"name", Value(field.name)},
                      {"kind", name_of(kKinds, field.kind)},
                      {"dim", number(field.dim)},
                      {"dtype", name_of(kDTypeNames, field.dtype)},
                      {"metric", name_of(kMetrics, field.metric)},
                      {"modifier", name_of(kModifiers, field.modifier)}});
}

Value to_value(const OptimizerConfig& config) {
  return Value(Object{
      {"deleted_threshold", Value(config.deleted_threshold)},
      {"vacuum_min_rows", number(config.vacuum_min_rows)},
      {"seal_bytes", number(config.seal_bytes)},
      {"seal_rows", number(config.seal_rows)},
      {"max_segment_rows", number(config.max_segment_rows)},
      {"max_segments", number(config.max_segments)},
      {"idle_seal_s", Value(config.idle_seal_s)},
      {"idle_segments", number(config.idle_segments)},
      {"index_min_bytes", optional_number(config.index_min_bytes)},
      {"max_threads", optional_number(config.max_threads)},
  });
}

Value to_value(const payload::FieldIndex& index) {
  Object object{{"key", Value(index.key)},
                {"kind", name_of(payload::kIndexKindNames, index.kind)},
                {"tokenizer", name_of(payload::kTokenizerNames, index.text.tokenizer)},
                {"lowercase", Value(index.text.lowercase)},
                {"phrase_matching", Value(index.text.phrase_matching)},
                {"min_token_len", number(index.text.min_token_len)},
                {"max_token_len", number(index.text.max_token_len)},
                {"range", Value(index.range)},
                {"wire", Value(index.client_settings)}};
  if (index.scoring) object.push_back({"scoring", Value(true)});  // older servers know no such key
  if (index.kind == payload::IndexKind::kText) {
    object.push_back({"analysis", analysis_of(index.text)});
  }
  return Value(std::move(object));
}

Value to_value(const KeyValues& values) {
  Object object;
  for (const auto& [name, value] : values) {
    object.push_back({name, std::visit([](const auto& v) { return Value(v); }, value)});
  }
  return Value(std::move(object));
}

Value to_value(const VectorIndexConfigs& configs) {
  Array array;
  for (const auto& [field, config] : configs) {
    Object object{{"field", Value(field)},
                  {"enabled", Value(config.enabled)},
                  {"min_bytes", optional_number(config.min_bytes)},
                  {"build", to_value(config.build)},
                  {"given", to_value(config.given)}};
    if (config.on_gpu != gpu::Placing::kAuto) {
      object.emplace_back("on_gpu", Value(std::string(to_string(config.on_gpu))));
    }
    array.push_back(Value(std::move(object)));
  }
  return Value(std::move(array));
}

Value to_value(const ShardKey& key) {
  return std::visit([](const auto& name) { return Value(name); }, key);
}

Value to_value(const ShardKeyShards& key) {
  Array shards;
  for (const std::uint32_t shard : key.shards) shards.push_back(number(shard));
  return Value(Object{{"key", to_value(key.key)}, {"shards", Value(std::move(shards))}});
}

Value to_value(const RecallPoint& point) {
  return Value(Object{{"effort", number(point.effort)},
                      {"recall", number(point.recall)},
                      {"low", number(point.low)}});
}

Value to_value(const RecallCell& cell);
Value to_value(const RecallTable& table);

template <class T>
Value list_of(const std::vector<T>& elements) {
  Array array;
  for (const auto& element : elements) array.push_back(to_value(element));
  return Value(std::move(array));
}

Value to_value(const RecallCell& cell) {
  return Value(Object{{"k", number(cell.k)},
                      {"selectivity", number(cell.selectivity)},
                      {"points", list_of(cell.points)}});
}

Value to_value(const RecallTable& table) {
  return Value(Object{{"field", Value(table.field)},
                      {"queries", number(table.n_queries)},
                      {"synthetic", Value(table.source == RecallSource::kSynthetic)},
                      {"recorded", Value(table.source == RecallSource::kRecorded)},
                      {"points", number(table.n_points)},
                      {"indexed", number(table.n_indexed)},
                      {"measured_at_ms", number(table.measured_at_ms)},
                      {"cells", list_of(table.cells)}});
}

/// Reads members of one object; the first that is missing or of another type is remembered.
class ObjectReader {
 public:
  explicit ObjectReader(const Value& object) : object_(object) {}

  void read(std::string_view key, std::string& out) {
    const auto* member = find(key);
    const auto* text = member == nullptr ? nullptr : member->as_string();
    text == nullptr ? miss(key) : static_cast<void>(out = *text);
  }
  void read(std::string_view key, bool& out) {
    const auto* member = find(key);
    const auto* flag = member == nullptr ? nullptr : member->as_bool();
    flag == nullptr ? miss(key) : static_cast<void>(out = *flag);
  }
  void read(std::string_view key, double& out) {
    const auto* member = find(key);
    const auto* real = member == nullptr ? nullptr : member->as_double();
    real == nullptr ? miss(key) : static_cast<void>(out = *real);
  }
  template <std::unsigned_integral T>
  void read(std::string_view key, T& out) {
    if (const auto value = object_.find_unsigned(key)) {
      out = static_cast<T>(*value);
    } else {
      miss(key);
    }
  }
  void read(std::string_view key, std::optional<std::uint64_t>& out) {
    const auto* member = find(key);
    if (member == nullptr) return miss(key);
    out = member->as_unsigned();
  }
  template <class Enum, std::size_t n>
  void read(std::string_view key, const std::array<std::string_view, n>& names, Enum& out) {
    std::string name;
    read(key, name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return miss(key);
    out = static_cast<Enum>(found - names.begin());
  }
  [[nodiscard]] const Array* list(std::string_view key) {
    const auto* member = find(key);
    const auto* array = member == nullptr ? nullptr : member->as_array();
    if (array == nullptr) miss(key);
    return array;
  }
  [[nodiscard]] const Value* find(std::string_view key) const { return object_.find(key); }
  [[nodiscard]] Result<> status() const {
    if (missing_.empty()) return {};
    return fail(Code::kDataLoss,
                fmt::format("stored collection configuration: `{}` is missing or of another type",
                            missing_));
  }

 private:
  void miss(std::string_view key) {
    if (missing_.empty()) missing_ = key;
  }

  const Value& object_;
  std::string missing_;
};

Result<FieldSchema> read_field(const Value& value) {
  FieldSchema field;
  ObjectReader reader(value);
  reader.read("name", field.name);
  reader.read("kind", kKinds, field.kind);
  reader.read("dim", field.dim);
  reader.read("dtype", kDTypeNames, field.dtype);
  reader.read("metric", kMetrics, field.metric);
  reader.read("modifier", kModifiers, field.modifier);
  QV_TRY(reader.status());
  return field;
}

Result<OptimizerConfig> read_optimizer(const Value& value) {
  OptimizerConfig config;
  ObjectReader reader(value);
  reader.read("deleted_threshold", config.deleted_threshold);
  reader.read("vacuum_min_rows", config.vacuum_min_rows);
  reader.read("seal_bytes", config.seal_bytes);
  reader.read("seal_rows", config.seal_rows);
  reader.read("max_segment_rows", config.max_segment_rows);
  reader.read("max_segments", config.max_segments);
  reader.read("idle_seal_s", config.idle_seal_s);
  if (reader.find("idle_segments") != nullptr) {  // older ones have none
    reader.read("idle_segments", config.idle_segments);
  }
  if (reader.find("index_min_bytes") != nullptr) {
    reader.read("index_min_bytes", config.index_min_bytes);
  }
  reader.read("max_threads", config.max_threads);
  QV_TRY(reader.status());
  return config;
}

/// Older configurations have the steps behind the tokenizer only as the client sent them.
void read_text_analysis(const ObjectReader& reader, payload::FieldIndex& index) {
  if (index.kind != payload::IndexKind::kText) return;
  if (const Value* analysis = reader.find("analysis")) return read_analysis(*analysis, index.text);
  if (const auto settings = payload::parse_json(index.client_settings)) {
    read_analysis(*settings, index.text);
  }
}

Result<payload::FieldIndex> read_index(const Value& value) {
  payload::FieldIndex index;
  ObjectReader reader(value);
  reader.read("key", index.key);
  reader.read("kind", payload::kIndexKindNames, index.kind);
  reader.read("tokenizer", payload::kTokenizerNames, index.text.tokenizer);
  reader.read("lowercase", index.text.lowercase);
  reader.read("phrase_matching", index.text.phrase_matching);
  reader.read("min_token_len", index.text.min_token_len);
  reader.read("max_token_len", index.text.max_token_len);
  reader.read("range", index.range);
  if (reader.find("scoring") != nullptr) reader.read("scoring", index.scoring);
  reader.read("wire", index.client_settings);
  QV_TRY(reader.status());
  QV_TRY(payload::JsonPath::parse(index.key));
  read_text_analysis(reader, index);
  return index;
}

Result<KeyValues> read_key_values(const Value* object) {
  KeyValues values;
  if (object == nullptr || object->as_object() == nullptr) {
    return fail(Code::kDataLoss, "stored collection configuration: build parameters are no object");
  }
  for (const auto& [name, value] : *object->as_object()) {
    if (const auto* flag = value.as_bool()) values[name] = *flag;
    if (const auto* integer = value.as_i64()) values[name] = *integer;
    if (const auto* real = value.as_double()) values[name] = *real;
    if (const auto* text = value.as_string()) values[name] = *text;
  }
  return values;
}

/// Servers that knew no devices did not store it.
Result<gpu::Placing> read_placing(ObjectReader& member) {
  if (member.find("on_gpu") == nullptr) return gpu::Placing::kAuto;
  std::string name;
  member.read("on_gpu", name);
  QV_TRY(member.status());
  const auto placing = gpu::placing_of(name);
  if (!placing) return fail(Code::kDataLoss, fmt::format("on_gpu is `{}`", name));
  return *placing;
}

/// Older configurations have none.
Result<VectorIndexConfigs> read_vector_indexes(ObjectReader& reader) {
  VectorIndexConfigs configs;
  if (reader.find("vector_indexes") == nullptr) return configs;
  const auto* list = reader.list("vector_indexes");
  QV_TRY(reader.status());
  for (const Value& element : *list) {
    ObjectReader member(element);
    std::string field;
    VectorIndexConfig config;
    member.read("field", field);
    member.read("enabled", config.enabled);
    member.read("min_bytes", config.min_bytes);
    QV_TRY(member.status());
    QV_TRY(config.build, read_key_values(member.find("build")));
    if (const auto* given = member.find("given")) {
      QV_TRY(config.given, read_key_values(given));
    }
    QV_TRY(config.on_gpu, read_placing(member));
    configs[std::move(field)] = std::move(config);
  }
  return configs;
}

template <class T, class ReadElement>
Result<> read_list(ObjectReader& reader, std::string_view key, ReadElement read_element,
                   std::vector<T>& out) {
  const auto* list = reader.list(key);
  QV_TRY(reader.status());
  for (const Value& element : *list) {
    QV_TRY(auto value, read_element(element));
    out.push_back(std::move(value));
  }
  return {};
}

Result<RecallPoint> read_recall_point(const Value& value) {
  RecallPoint point;
  ObjectReader reader(value);
  reader.read("effort", point.effort);
  reader.read("recall", point.recall);
  reader.read("low", point.low);
  QV_TRY(reader.status());
  return point;
}

Result<RecallCell> read_recall_cell(const Value& value) {
  RecallCell cell;
  ObjectReader reader(value);
  reader.read("k", cell.k);
  reader.read("selectivity", cell.selectivity);
  QV_TRY(read_list(reader, "points", read_recall_point, cell.points));
  return cell;
}

Result<RecallTable> read_recall(const Value& value) {
  RecallTable table;
  ObjectReader reader(value);
  reader.read("field", table.field);
  reader.read("queries", table.n_queries);
  bool is_synthetic = false;
  reader.read("synthetic", is_synthetic);
  // Earlier versions recorded no queries and have no such member.
  const auto* recorded = value.find("recorded");
  const auto* is_recorded = recorded == nullptr ? nullptr : recorded->as_bool();
  if (is_recorded != nullptr && *is_recorded) table.source = RecallSource::kRecorded;
  if (is_synthetic) table.source = RecallSource::kSynthetic;
  reader.read("points", table.n_points);
  // Earlier versions have no such member.
  table.n_indexed = value.find_unsigned("indexed").value_or(table.n_points);
  reader.read("measured_at_ms", table.measured_at_ms);
  QV_TRY(read_list(reader, "cells", read_recall_cell, table.cells));
  return table;
}

tl::unexpected<Error> bad_sharding(std::string_view what) {
  return fail(Code::kDataLoss, fmt::format("stored collection configuration: {}", what));
}

Result<ShardKeyShards> read_shard_key(const Value& value) {
  ShardKeyShards read;
  ObjectReader reader(value);
  const auto* key = reader.find("key");
  if (const auto* text = key == nullptr ? nullptr : key->as_string()) {
    read.key = *text;
  } else if (const auto number = value.find_unsigned("key")) {
    read.key = *number;
  } else {
    return bad_sharding("the key of shards is no text and no number");
  }
  const auto* shards = reader.list("shards");
  QV_TRY(reader.status());
  for (const Value& shard : *shards) {
    const auto number = shard.as_unsigned();
    if (!number || *number > UINT32_MAX) return bad_sharding("the number of a shard is wrong");
    read.shards.push_back(static_cast<std::uint32_t>(*number));
  }
  return read;
}

Result<> check_sharding(const CollectionConfig& config) {
  auto numbers = shard_numbers(config);
  std::ranges::sort(numbers);
  const bool is_unique = std::ranges::adjacent_find(numbers) == numbers.end();
  if (!is_unique || (!numbers.empty() && numbers.back() >= config.next_shard)) {
    return bad_sharding("the numbers of shards contradict each other");
  }
  for (const auto& key : config.shard_keys) {
    if (key.shards.empty()) return bad_sharding("a key has no shards");
    if (find_shard_key(config, key.key) != &key) return bad_sharding("a key is there twice");
  }
  return {};
}

/// Older configurations have none.
Result<> read_creation(ObjectReader& reader, CollectionConfig& config) {
  constexpr std::uint64_t kYear10000Ms = 253'402'300'800'000;
  if (reader.find("cluster_id") != nullptr) reader.read("cluster_id", config.cluster_id);
  if (const auto* part = reader.find("part")) {
    ObjectReader member(*part);
    config.part.emplace();
    member.read("number", config.part->number);
    member.read("of", config.part->n_parts);
    QV_TRY(member.status());
  }
  if (reader.find("created_at_ms") == nullptr) return {};
  reader.read("created_at_ms", config.created_at_ms.emplace());
  QV_TRY(reader.status());
  if (*config.created_at_ms < kYear10000Ms) return {};
  return fail(Code::kDataLoss, "stored collection configuration: the time of creation is wrong");
}

/// Configurations with automatic sharding have none.
Result<> read_sharding(ObjectReader& reader, CollectionConfig& config) {
  if (reader.find("shard_keys") == nullptr) return {};
  config.sharding = ShardingMethod::kCustom;
  reader.read("next_shard", config.next_shard);
  QV_TRY(read_list(reader, "shard_keys", read_shard_key, config.shard_keys));
  return check_sharding(config);
}

}  // namespace

const FieldSchema* CollectionConfig::find_field(std::string_view name) const {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const FieldSchema& field) { return field.name == name; });
  return found == fields.end() || is_dropped(*found) ? nullptr : &*found;
}

Result<std::size_t> CollectionConfig::field(std::string_view name) const {
  if (const FieldSchema* found = find_field(name)) {
    return static_cast<std::size_t>(found - fields.data());
  }
  return fail(Code::kInvalidArgument, Subject::kVectorField, name,
              fmt::format("vector field `{}` does not exist", name));
}

std::vector<std::uint32_t> shard_numbers(const CollectionConfig& config) {
  std::vector<std::uint32_t> numbers;
  if (config.sharding == ShardingMethod::kAuto) {
    for (std::uint32_t i = 0; i < config.shard_number; ++i) numbers.push_back(i);
  }
  for (const auto& key : config.shard_keys) {
    numbers.insert(numbers.end(), key.shards.begin(), key.shards.end());
  }
  return numbers;
}

const ShardKeyShards* find_shard_key(const CollectionConfig& config, const ShardKey& key) {
  const auto found = std::ranges::find(config.shard_keys, key, &ShardKeyShards::key);
  return found == config.shard_keys.end() ? nullptr : &*found;
}

Result<> add_shard_key(CollectionConfig& config, const ShardKeyCreation& creation) {
  if (config.sharding != ShardingMethod::kCustom) {
    return fail(Code::kFailedPrecondition, "Shard Key cannot be created with Auto sharding method");
  }
  if (find_shard_key(config, creation.key) != nullptr) {
    return fail(Code::kFailedPrecondition,
                fmt::format("Shard key {} already exists", to_string(creation.key)));
  }
  const std::uint32_t n = creation.n_shards.value_or(config.shard_number);
  const std::size_t n_now = shard_numbers(config).size();
  if (n > kMaxShardNumber - std::min<std::size_t>(n_now, kMaxShardNumber)) {
    return fail(Code::kFailedPrecondition,
                fmt::format("Shard key {} would have {} shards; the collection has {}, of at "
                            "most {}",
                            to_string(creation.key), n, n_now, kMaxShardNumber));
  }
  auto& added = config.shard_keys.emplace_back();
  added.key = creation.key;
  for (std::uint32_t i = 0; i < n; ++i) added.shards.push_back(config.next_shard++);
  return {};
}

Result<> remove_shard_key(CollectionConfig& config, const ShardKey& key) {
  if (config.sharding != ShardingMethod::kCustom) {
    return fail(Code::kFailedPrecondition, "Shard Key cannot be deleted with Auto sharding method");
  }
  const auto erased =
      std::erase_if(config.shard_keys, [&](const auto& one) { return one.key == key; });
  if (erased != 0) return {};
  return fail(Code::kFailedPrecondition, fmt::format("Shard key {} not found", to_string(key)));
}

bool is_dropped(const FieldSchema& field) { return field.name.starts_with(kDroppedMark); }

Result<> add_field(CollectionConfig& config, FieldSchema field) {
  if (const FieldSchema* found = config.find_field(field.name)) {
    if (*found == field) return {};
    return fail(
        Code::kInvalidArgument,
        found->kind == field.kind
            ? fmt::format("vector `{}` already exists with a different configuration", field.name)
            : fmt::format("vector `{}` already exists: it is {}", field.name,
                          with_article(found->kind)));
  }
  if (config.fields.size() >= kMaxFieldNumber) {
    return fail(Code::kResourceExhausted,
                fmt::format("the collection has had {} vector fields, no more can be added",
                            config.fields.size()));
  }
  config.fields.push_back(std::move(field));
  return {};
}

void drop_field(CollectionConfig& config, std::string_view name) {
  for (std::size_t i = 0; i < config.fields.size(); ++i) {
    if (config.fields[i].name != name || is_dropped(config.fields[i])) continue;
    config.vector_indexes.erase(config.fields[i].name);
    config.text_vectors.erase(config.fields[i].name);
    std::erase_if(config.recall, [&](const RecallTable& table) { return table.field == name; });
    config.fields[i].name = fmt::format("{}{}", kDroppedMark, i);
    return;
  }
}

const VectorIndexConfig& find_vector_index(const VectorIndexConfigs& configs,
                                           std::string_view field) {
  static const VectorIndexConfig usual;
  const auto found = configs.find(field);
  return found == configs.end() ? usual : found->second;
}

const RecallTable* find_recall(const CollectionConfig& config, std::string_view field) {
  const auto found = std::ranges::find(config.recall, field, &RecallTable::field);
  return found == config.recall.end() ? nullptr : &*found;
}

void set_recall(CollectionConfig& config, RecallTable table) {
  std::erase_if(config.recall, [&](const RecallTable& old) { return old.field == table.field; });
  if (config.find_field(table.field) != nullptr) config.recall.push_back(std::move(table));
}

Result<> check_can_follow(const CollectionConfig& now, const CollectionConfig& next) {
  if (now.sharding != next.sharding || now.shard_number != next.shard_number) {
    return fail(Code::kFailedPrecondition,
                fmt::format("a configuration with {} shards cannot follow one with {}",
                            next.shard_number, now.shard_number));
  }
  if (next.fields.size() < now.fields.size()) {
    return fail(Code::kFailedPrecondition,
                fmt::format("a configuration with {} vector fields cannot follow one with {}",
                            next.fields.size(), now.fields.size()));
  }
  for (std::size_t i = 0; i < now.fields.size(); ++i) {
    FieldSchema kept = now.fields[i];
    kept.modifier = next.fields[i].modifier;  // belongs to queries
    if (is_dropped(next.fields[i])) kept.name = next.fields[i].name;
    if (kept == next.fields[i]) continue;
    const auto name = [](const FieldSchema& field) {
      return is_dropped(field) ? std::string("a dropped one") : quoted_name(field);
    };
    return fail(Code::kFailedPrecondition,
                fmt::format("vector field {} is {}, and {} with another name or type cannot take "
                            "its place",
                            i, name(now.fields[i]), name(next.fields[i])));
  }
  return {};
}

Result<> check_ttl(const CollectionConfig& config) {
  if (!config.ttl) return {};
  for (const auto& index : config.indexes) {
    if (index.key != config.ttl->key) continue;
    if (index.kind == payload::IndexKind::kDatetime) return {};
    if (index.kind == payload::IndexKind::kInteger && index.range) return {};
  }
  return fail(Code::kInvalidArgument,
              fmt::format("points expire by `{}`, which must have a payload index of type datetime "
                          "or of type integer with ranges",
                          config.ttl->key));
}

Result<> check_tenant_quota(const CollectionConfig& config) {
  if (!config.tenant_quota) return {};
  for (const auto& index : config.indexes) {
    const bool has_tenants = index.kind == payload::IndexKind::kKeyword ||
                             index.kind == payload::IndexKind::kUuid ||
                             index.kind == payload::IndexKind::kInteger;
    if (index.key == config.tenant_quota->key && has_tenants) return {};
  }
  return fail(Code::kInvalidArgument,
              fmt::format("tenants are limited by `{}`, which must have a payload index of type "
                          "keyword, uuid or integer",
                          config.tenant_quota->key));
}

namespace {

/// The oldest version that has all that the configuration needs.
std::uint64_t version_of(const CollectionConfig& config) {
  if (!config.text_vectors.empty()) return kNewestVersion;
  if (config.sharding == ShardingMethod::kCustom || config.tenant_quota) return kShardingVersion;
  const bool is_new = config.ttl || std::ranges::any_of(config.fields, is_dropped);
  return is_new ? kNewVersion : kVersion;
}

}  // namespace

std::string to_json(const CollectionConfig& config) {
  Object object{
      {"version", number(version_of(config))},
      {"fields", list_of(config.fields)},
      {"shard_number", number(config.shard_number)},
      {"optimizer", to_value(config.optimizer)},
      {"indexes", list_of(config.indexes)},
      {"vector_indexes", to_value(config.vector_indexes)},
      {"wire", Value(config.client_settings)},
  };
  if (config.created_at_ms) object.push_back({"created_at_ms", number(*config.created_at_ms)});
  if (!config.cluster_id.empty()) object.push_back({"cluster_id", Value(config.cluster_id)});
  if (config.part) {
    object.push_back({"part", Value(Object{{"number", number(config.part->number)},
                                           {"of", number(config.part->n_parts)}})});
  }
  if (config.ttl) {
    object.push_back({"ttl", Value(Object{{"key", Value(config.ttl->key)},
                                          {"seconds", number(config.ttl->seconds)}})});
  }
  if (config.sharding == ShardingMethod::kCustom) {
    object.push_back({"shard_keys", list_of(config.shard_keys)});
    object.push_back({"next_shard", number(config.next_shard)});
  }
  if (config.tenant_quota) {
    object.push_back(
        {"tenant_quota", Value(Object{{"key", Value(config.tenant_quota->key)},
                                      {"max_points", number(config.tenant_quota->max_points)}})});
  }
  if (!config.text_vectors.empty()) {
    object.push_back({"text_vectors", to_value(config.text_vectors)});
  }
  if (!config.recall.empty()) object.push_back({"recall", list_of(config.recall)});
  return payload::to_json(Value(std::move(object)));
}

Result<CollectionConfig> parse_config(std::string_view json) {
  QV_TRY(const auto document, payload::parse_json(json));
  ObjectReader reader(document);
  std::uint64_t version = 0;
  reader.read("version", version);
  QV_TRY(reader.status());
  if (version < kVersion || version > kNewestVersion) {
    return fail(Code::kDataLoss,
                fmt::format("stored collection configuration has version {}, expected {} to {}",
                            version, kVersion, kNewestVersion));
  }
  CollectionConfig config;
  reader.read("shard_number", config.shard_number);
  reader.read("wire", config.client_settings);
  QV_TRY(read_list(reader, "fields", read_field, config.fields));
  QV_TRY(read_list(reader, "indexes", read_index, config.indexes));
  QV_TRY(config.vector_indexes, read_vector_indexes(reader));
  const auto* optimizer = reader.find("optimizer");
  if (optimizer == nullptr)
    return fail(Code::kDataLoss, "stored collection configuration: no `optimizer`");
  QV_TRY(config.optimizer, read_optimizer(*optimizer));
  QV_TRY(read_creation(reader, config));
  if (const auto* ttl = reader.find("ttl")) {
    ObjectReader member(*ttl);
    config.ttl.emplace();
    member.read("key", config.ttl->key);
    member.read("seconds", config.ttl->seconds);
    QV_TRY(member.status());
  }
  QV_TRY(read_sharding(reader, config));
  if (const auto* quota = reader.find("tenant_quota")) {
    ObjectReader member(*quota);
    config.tenant_quota.emplace();
    member.read("key", config.tenant_quota->key);
    member.read("max_points", config.tenant_quota->max_points);
    QV_TRY(member.status());
  }
  if (const auto* text_vectors = reader.find("text_vectors")) {
    QV_TRY(config.text_vectors, read_text_vectors(*text_vectors));
  }
  if (reader.find("recall") != nullptr) {
    QV_TRY(read_list(reader, "recall", read_recall, config.recall));
  }
  config.strict_mode = strict_mode_of(config.client_settings, config.fields);
  config.memory = memory_plan_of(config.client_settings, config.fields, config.indexes);
  return config;
}

}  // namespace quiver::engine
