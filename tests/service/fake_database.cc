#include "tests/service/fake_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>

namespace quiver::service {
namespace {

using engine::Record;

float dot(const engine::DenseVector& a, const engine::DenseVector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0F);
}

const engine::DenseVector* dense_of(const engine::Query& query) {
  const auto* nearest = std::get_if<engine::Nearest>(&query.kind);
  const auto* value =
      nearest == nullptr ? nullptr : std::get_if<engine::VectorValue>(&nearest->vector);
  return value == nullptr ? nullptr : std::get_if<engine::DenseVector>(value);
}

Error missing(const std::string& name) {
  return Error(Code::kNotFound, Subject::kCollection, name, "no such collection");
}

}  // namespace

std::shared_ptr<const engine::CollectionConfig> FakeCollection::config() const {
  MutexLock lock(mutex_);
  return config_;
}

void FakeCollection::set_config(engine::CollectionConfig config) {
  MutexLock lock(mutex_);
  config_ = std::make_shared<const engine::CollectionConfig>(std::move(config));
}

bool FakeCollection::is_asked_to_be(std::string_view word) const {
  return config()->client_settings.find(fmt::format("\"{}\"", word)) != std::string::npos;
}

engine::CollectionInfo FakeCollection::info() const {
  MutexLock lock(mutex_);
  engine::CollectionInfo info;
  info.n_points = points_.size();
  info.n_segments = 1;
  info.config = *config_;
  for (const auto& index : indexes_) info.indexes.push_back({index, 0});
  return info;
}

std::vector<engine::ShardInfo> FakeCollection::shards() const {
  MutexLock lock(mutex_);
  engine::SegmentInfo segment;
  segment.id = 7;
  segment.n_points = points_.size();
  for (const auto& field : config_->fields) {
    auto& info = segment.fields.emplace_back();
    info.field = field.name;
    info.n_vectors = points_.size();
    info.n_bytes = 100;
  }
  for (const auto& index : indexes_) segment.columns.push_back({index, 1, 2});
  engine::ShardInfo shard;
  shard.work.n_done = 2;
  shard.work.n_rows = 30;
  shard.work.total_s = 3;
  shard.segments.push_back(std::move(segment));
  return {std::move(shard)};
}

Result<> FakeCollection::check(const engine::Operation& operation) const {
  const auto* upsert = std::get_if<engine::Upsert>(&operation);
  if (upsert == nullptr) return {};
  const auto fields = config()->fields;
  for (const auto& point : upsert->points) {
    for (const auto& [name, value] : point.vectors) {
      const auto* dense = std::get_if<engine::DenseVector>(&value);
      if (dense == nullptr || fields.empty() || dense->size() == fields.front().dim) continue;
      return fail(Code::kInvalidArgument,
                  fmt::format("Vector dimension error: expected dim: {}, got {}",
                              fields.front().dim, dense->size()));
    }
  }
  return {};
}

Result<> FakeCollection::update(
    std::vector<engine::Operation> operations, const engine::UpdateTerms& terms,
    std::function<void(Result<std::vector<engine::UpdateResult>>)> done) {
  if (is_asked_to_be("full")) {
    return fail(Code::kResourceExhausted, "the update queue is full");
  }
  for (const auto& operation : operations) QV_TRY(check(operation));
  executor_.post(Priority::kHigh, [this, ack = terms.ack, operations = std::move(operations),
                                   done = std::move(done)] {
    std::vector<engine::UpdateResult> results;
    {
      MutexLock lock(mutex_);
      for (const auto& operation : operations) {
        apply(operation);
        results.push_back({Seq{++seq_}, ack == engine::Ack::kVisible});
      }
    }
    done(std::move(results));
  });
  return {};
}

void FakeCollection::apply(const engine::Operation& operation) {
  if (const auto* upsert = std::get_if<engine::Upsert>(&operation)) {
    for (const auto& point : upsert->points) points_[point.id] = {point.vectors, point.payload};
  }
  if (const auto* change = std::get_if<engine::DeletePoints>(&operation)) {
    const auto* ids = std::get_if<std::vector<PointId>>(&change->points);
    if (ids == nullptr) return points_.clear();
    for (const auto& id : *ids) points_.erase(id);
  }
  if (const auto* change = std::get_if<engine::SetPayload>(&operation)) {
    if (const auto* ids = std::get_if<std::vector<PointId>>(&change->points)) {
      for (const auto& id : *ids) points_[id].payload = change->payload;
    }
  }
}

Record FakeCollection::record(const PointId& id, const Point& point,
                              const payload::Selector& payload,
                              const engine::VectorSelector& vectors) const {
  Record record;
  record.id = id;
  record.version = Seq{1};
  if (!payload.is_none()) record.payload = point.payload.empty() ? "{}" : point.payload;
  if (!vectors.none()) record.vectors = point.vectors;
  return record;
}

Result<std::vector<std::vector<Record>>> FakeCollection::query_batch(
    std::span<const engine::Query> queries, const Cancel& cancel) const {
  largest_batch_ = std::max(largest_batch_.load(), queries.size());
  while (is_asked_to_be("together")) {
    QV_TRY(cancel.check());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::vector<std::vector<Record>> answers;
  for (const auto& one : queries) {
    QV_TRY(auto answer, query(one, cancel));
    answers.push_back(std::move(answer));
  }
  return answers;
}

namespace {

class FakePlannedQuery final : public engine::PlannedQuery {
 public:
  FakePlannedQuery(const FakeCollection& collection, engine::Query query)
      : collection_(collection), query_(std::move(query)) {
    cost_.read_bytes = collection.is_small(query_) ? 0 : engine::QueryCost::kMaxSerialBytes;
    cost_.can_share_pass = collection.shares_passes();
  }
  const engine::Query& query() const override { return query_; }
  const engine::QueryCost& cost() const override { return cost_; }
  Result<std::vector<engine::Record>> run(const Cancel& cancel) const override {
    return collection_.query(query_, cancel);
  }

 private:
  const FakeCollection& collection_;
  const engine::Query query_;
  engine::QueryCost cost_;
};

}  // namespace

std::shared_ptr<const engine::PlannedQuery> FakeCollection::plan(engine::Query query) const {
  return std::make_shared<const FakePlannedQuery>(*this, std::move(query));
}

bool FakeCollection::shares_passes() const { return is_asked_to_be("shared"); }

Result<std::vector<Record>> FakeCollection::query(const engine::Query& query,
                                                  const Cancel& cancel) const {
  if (is_asked_to_be("throws")) {
    throw std::runtime_error("the fake was asked to throw");
  }
  const bool endless = is_asked_to_be("endless");
  if (endless || is_asked_to_be("slow")) {
    for (int i = 0; endless || i < 200; ++i) {
      QV_TRY(cancel.check());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  if (++n_running_ >= 2) were_together_ = true;
  const auto end = std::shared_ptr<void>(nullptr, [this](void*) { --n_running_; });
  while (is_asked_to_be("together") && !were_together_) {
    QV_TRY(cancel.check());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::vector<Record> records;
  MutexLock lock(mutex_);
  const auto* vector = dense_of(query);
  for (const auto& [id, point] : points_) {
    records.push_back(record(id, point, query.with_payload, query.with_vector));
    if (vector == nullptr || point.vectors.empty()) continue;
    records.back().score = dot(*vector, std::get<engine::DenseVector>(point.vectors.front().value));
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  if (records.size() > query.limit) records.resize(query.limit);
  return records;
}

Result<std::vector<Record>> FakeCollection::retrieve(const engine::RetrieveRequest& request) const {
  MutexLock lock(mutex_);
  std::vector<Record> records;
  for (const auto& id : request.ids) {
    const auto found = points_.find(id);
    if (found == points_.end()) continue;
    records.push_back(record(id, found->second, request.with_payload, request.with_vector));
  }
  return records;
}

Result<engine::ScrollPage> FakeCollection::scroll(const engine::ScrollRequest& request,
                                                  const Cancel&) const {
  MutexLock lock(mutex_);
  engine::ScrollPage page;
  auto next = request.offset ? points_.lower_bound(*request.offset) : points_.begin();
  for (; next != points_.end() && page.points.size() < request.limit; ++next) {
    page.points.push_back(
        record(next->first, next->second, request.with_payload, request.with_vector));
  }
  if (next != points_.end()) page.next = next->first;
  return page;
}

Result<std::uint64_t> FakeCollection::count(const engine::CountRequest&, const Cancel&) const {
  MutexLock lock(mutex_);
  return std::uint64_t{points_.size()};
}

Result<> FakeCollection::create_index(const payload::FieldIndex& index, engine::Ack) {
  MutexLock lock(mutex_);
  indexes_.push_back(index);
  return {};
}

Result<bool> FakeCollection::drop_index(const std::string& key) {
  MutexLock lock(mutex_);
  return std::erase_if(indexes_, [&](const auto& index) { return index.key == key; }) > 0;
}

std::vector<std::string> FakeDatabase::collection_names() const {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, collection] : collections_) names.push_back(name);
  return names;
}

std::vector<std::pair<std::string, std::shared_ptr<engine::Collection>>>
FakeDatabase::open_collections() const {
  MutexLock lock(mutex_);
  return {collections_.begin(), collections_.end()};
}

Result<std::shared_ptr<FakeCollection>> FakeDatabase::find(const std::string& name) const {
  MutexLock lock(mutex_);
  const auto alias = aliases_.find(name);
  const auto found = collections_.find(alias == aliases_.end() ? name : alias->second);
  if (found == collections_.end()) return fail(missing(name));
  return found->second;
}

Result<std::shared_ptr<engine::Collection>> FakeDatabase::collection(const std::string& name) {
  before_opening();
  QV_TRY(auto found, find(name));
  MutexLock lock(mutex_);
  opened_.insert(name);
  return std::shared_ptr<engine::Collection>(std::move(found));
}

std::shared_ptr<engine::Collection> FakeDatabase::collection_if_open(const std::string& name) {
  {
    MutexLock lock(mutex_);
    if (!opened_.contains(name)) return nullptr;
  }
  return find(name).value_or(nullptr);
}

void FakeDatabase::close_collections() {
  MutexLock lock(mutex_);
  opened_.clear();
}

bool FakeDatabase::exists(const std::string& name_or_alias) const {
  return find(name_or_alias).has_value();
}

Result<> FakeDatabase::create_collection(const std::string& name, engine::CollectionConfig config) {
  MutexLock lock(mutex_);
  if (collections_.count(name) > 0) {
    return fail(Code::kAlreadyExists, Subject::kCollection, name, "it exists");
  }
  collections_[name] = std::make_shared<FakeCollection>(std::move(config), updates_);
  return {};
}

Result<bool> FakeDatabase::drop_collection(const std::string& name) {
  MutexLock lock(mutex_);
  return collections_.erase(name) > 0;
}

Result<> FakeDatabase::update_config(
    const std::string& name, const std::function<Result<>(engine::CollectionConfig&)>& change) {
  QV_TRY(auto collection, find(name));
  engine::CollectionConfig config = *collection->config();
  QV_TRY(change(config));
  collection->set_config(std::move(config));
  return {};
}

Result<> FakeDatabase::update_aliases(const std::vector<engine::AliasAction>& actions) {
  MutexLock lock(mutex_);
  for (const auto& action : actions) {
    if (const auto* create = std::get_if<engine::CreateAlias>(&action)) {
      if (collections_.count(create->collection) == 0) return fail(missing(create->collection));
      aliases_[create->alias] = create->collection;
    } else if (const auto* remove = std::get_if<engine::DeleteAlias>(&action)) {
      aliases_.erase(remove->alias);
    }
  }
  return {};
}

std::vector<engine::Alias> FakeDatabase::aliases() const {
  MutexLock lock(mutex_);
  std::vector<engine::Alias> aliases;
  for (const auto& [alias, collection] : aliases_) aliases.push_back({alias, collection});
  return aliases;
}

}  // namespace quiver::service
