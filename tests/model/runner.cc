#include "tests/model/runner.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <iterator>
#include <limits>
#include <map>
#include <thread>

#include "tests/engine/indexing/copied_index.h"
#include "tests/model/bulk_input.h"
#include "tests/patience.h"

namespace quiver::model {
namespace {

using engine::Ack;
using engine::Record;

engine::VectorSelector all_vectors() { return {true, {}}; }

/// Every visible bit of an answer.
std::string text_of(const Record& record) {
  std::string text = record.id.to_string() + " v" + std::to_string(to_number(record.version));
  std::uint32_t bits = 0;
  std::memcpy(&bits, &record.score, sizeof(bits));
  text += " s" + std::to_string(bits) + ' ' + record.payload.value_or("none");
  return text;
}

std::string text_of(const Result<std::vector<Record>>& records) {
  if (!records) return records.error().to_string();
  std::string text;
  for (const auto& record : *records) text += text_of(record) + '\n';
  return text;
}

const FieldSchema& field_of(const engine::CollectionConfig& config, const engine::Query& query) {
  return *config.find_field(query.using_field);
}

/// True if an index may miss some of the best. Sparse indexes of this size are exact unless
/// parameters say otherwise, and have no codes to ignore.
bool is_approximate(const engine::CollectionConfig& config, const engine::Query& query) {
  const FieldSchema& field = field_of(config, query);
  if (query.params.exact) return false;
  if (field.kind == FieldKind::kSparse) return query.params.index.contains("sparse");
  return engine::default_index(field) != engine::flat_index() && !query.params.ignore_codes;
}

/// True if users see distances.
bool ascends(const engine::CollectionConfig& config, const engine::Query& query) {
  const Metric metric = field_of(config, query).metric;
  return metric == Metric::kEuclid || metric == Metric::kManhattan;
}

}  // namespace

engine::DatabaseOptions small_options(const std::string& directory) {
  engine::DatabaseOptions options;
  options.data_dir = directory;
  options.compute_threads = 2;
  options.background_threads = 2;
  options.block_cache_bytes = 8 << 20;
  options.write_buffer_bytes = 8 << 20;
  options.choose_index = engine::testing::some_index;
  return options;
}

Result<std::vector<engine::UpdateResult>> update(engine::Collection& collection, Request request,
                                                 const engine::UpdateTerms& terms) {
  auto promise = std::make_shared<std::promise<Result<std::vector<engine::UpdateResult>>>>();
  auto answer = promise->get_future();
  QV_TRY(collection.update(std::move(request), terms,
                           [promise](auto result) { promise->set_value(std::move(result)); }));
  return answer.get();
}

Runner::Runner(engine::DatabaseOptions options, engine::CollectionConfig config)
    : options_(std::move(options)), model_(config) {
  auto database = engine::Database::open(options_);
  EXPECT_TRUE(database) << database.error().to_string();
  if (!database) return;
  const auto created = (*database)->create_collection(kCollection, std::move(config));
  EXPECT_TRUE(created) << created.error().to_string();
  EXPECT_TRUE((*database)->close());
}

Runner::~Runner() {
  stop_reader();
  if (database_ != nullptr) close();
}

void Runner::open() {
  auto database = engine::Database::open(options_);
  ASSERT_TRUE(database) << database.error().to_string();
  database_ = *std::move(database);
  auto collection = database_->collection(kCollection);
  ASSERT_TRUE(collection) << collection.error().to_string();
  collection_ = *std::move(collection);
  EXPECT_EQ(collection_->config()->fields, model_.config().fields);
  EXPECT_EQ(collection_->config()->indexes, model_.config().indexes);
  cursor_ = collection_->bulk_cursor().value();
}

void Runner::close() {
  collection_ = nullptr;
  const auto closed = database_->close();
  EXPECT_TRUE(closed) << closed.error().to_string();
  database_ = nullptr;
}

void Runner::random_step(Random& random) {
  switch (random() % 28) {
    case 0:
      return burst_step(random);
    case 1:
      return invalid_step(random);
    case 2:
      return index_step(random);
    case 3:
      return durable_step(random);
    case 4:
      return order_step(random);
    case 5:
    case 6:
      return scroll_step(random);
    case 7:
      return retrieve_step(random);
    case 8:
    case 9:
    case 10:
      return query_step(random);
    case 16:
      return text_step(random);
    case 11:
      return query_batch_step(random);
    case 12:
      return bulk_step(random);
    case 13:
      return random() % 3 == 0 ? invalid_bulk_step(random) : bulk_step(random);
    case 14:
      return random() % 3 == 0 ? index_config_step(random) : query_step(random);
    case 15:
      return fields_step(random);
    case 17:
      return writers_step(random);
    default:
      return request_step(random);
  }
}

void Runner::request_step(Random& random) {
  Request request = random_request(model_.config(), random);
  const bool accepted = model_.apply(request);
  const auto result = update(*collection_, std::move(request), Ack::kVisible);
  ASSERT_EQ(result.has_value(), accepted) << (result ? "accepted" : result.error().to_string());
  if (!result) {
    EXPECT_EQ(result.error().code(), Code::kNotFound);
  }
}

/// Queues several requests at once, which are committed as one batch; some are refused.
void Runner::burst_step(Random& random) {
  std::vector<std::future<Result<std::vector<engine::UpdateResult>>>> answers;
  std::vector<bool> accepted;
  for (std::uint64_t n = 2 + random() % 10; n > 0; --n) {
    Request request = random_request(model_.config(), random);
    accepted.push_back(model_.apply(request));
    auto promise = std::make_shared<std::promise<Result<std::vector<engine::UpdateResult>>>>();
    answers.push_back(promise->get_future());
    const auto queued = collection_->update(
        std::move(request), Ack::kVisible, [promise](auto r) { promise->set_value(std::move(r)); });
    ASSERT_TRUE(queued) << queued.error().to_string();
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto result = answers[i].get();
    EXPECT_EQ(result.has_value(), accepted[i])
        << "request " << i << ": " << (result ? "accepted" : result.error().to_string());
  }
}

/// Several clients write at once. The answers tell in which order each shard took their requests,
/// and the model takes them in that order.
void Runner::writers_step(Random& random) {
  constexpr std::uint64_t kWriters = 4;
  std::array<std::vector<TakenRequest>, kWriters> taken;
  std::vector<std::thread> writers;
  for (auto& mine : taken) {
    writers.emplace_back([this, &mine, seed = random()] { mine = write_some(seed); });
  }
  for (auto& writer : writers) writer.join();
  std::vector<TakenRequest> all;
  for (auto& mine : taken) std::move(mine.begin(), mine.end(), std::back_inserter(all));
  std::sort(all.begin(), all.end(), [](const TakenRequest& a, const TakenRequest& b) {
    return std::pair(a.shard, a.position) < std::pair(b.shard, b.position);
  });
  for (const auto& [shard, position, request] : all) {
    EXPECT_TRUE(model_.apply_to_shard(request, shard)) << "position " << to_number(position);
  }
}

/// Requests of one shard each, which have one position. Each ends with a change that is always one:
/// no two have the same position.
std::vector<Runner::TakenRequest> Runner::write_some(std::uint64_t seed) {
  constexpr int kRequests = 8;
  Random random(seed);
  std::vector<TakenRequest> taken;
  for (int i = 0; i < kRequests; ++i) {
    Request request = random_request(model_.config(), random);
    const auto touched = model_.touched(request);
    if (std::count(touched.begin(), touched.end(), true) != 1) continue;
    const auto found = std::find(touched.begin(), touched.end(), true) - touched.begin();
    const auto shard = static_cast<std::uint32_t>(found);
    auto last = random_points(model_.config(), 1, random).front();
    while (model_.shard_of(last.id) != shard) last.id = random_id(random);
    request.emplace_back(engine::Upsert{{std::move(last)}, {}, {}});
    const auto result = update(*collection_, request, Ack::kVisible);
    if (result) {
      taken.push_back({shard, result->back().operation_id, std::move(request)});
    } else {
      EXPECT_EQ(result.error().code(), Code::kNotFound) << result.error().to_string();
    }
  }
  return taken;
}

/// Requests acknowledged before they are visible. When a later request is visible, they must be
/// too.
void Runner::durable_step(Random& random) {
  Request request = random_request(model_.config(), random);
  const bool accepted = model_.apply(request);
  const auto result = update(*collection_, std::move(request), Ack::kDurable);
  ASSERT_EQ(result.has_value(), accepted);
  if (result && !result->empty()) {
    EXPECT_FALSE((*result)[0].completed);
  }
  std::vector<PointId> nobody;  // one in every shard: a barrier
  for (std::uint64_t n = 1'000'000; n < 1'000'100; ++n) nobody.push_back(PointId::number(n));
  ASSERT_TRUE(update(*collection_, {engine::DeletePoints{nobody}}, Ack::kVisible));
}

void Runner::invalid_step(Random& random) {
  const auto result = update(*collection_, invalid_request(model_.config(), random), Ack::kVisible);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kInvalidArgument) << result.error().to_string();
}

void Runner::index_step(Random& random) {
  const payload::FieldIndex index = random_index(random);
  auto indexes = model_.config().indexes;
  const auto same_key = [&](const auto& other) { return other.key == index.key; };
  const bool there = std::any_of(indexes.begin(), indexes.end(), same_key);
  std::erase_if(indexes, same_key);
  if (random() % 3 == 0) {
    const auto dropped = collection_->drop_index(index.key);
    ASSERT_TRUE(dropped) << dropped.error().to_string();
    EXPECT_EQ(*dropped, there);
  } else {
    const auto created =
        collection_->create_index(index, random() % 2 == 0 ? Ack::kVisible : Ack::kDurable);
    ASSERT_TRUE(created) << created.error().to_string();
    indexes.push_back(index);
    std::sort(indexes.begin(), indexes.end(),
              [](const auto& a, const auto& b) { return a.key < b.key; });
  }
  model_.set_indexes(std::move(indexes));
  EXPECT_EQ(collection_->config()->indexes, model_.config().indexes);
}

/// Adds a field if there is none of its name, else drops that.
void Runner::fields_step(Random& random) {
  const FieldSchema field = random_field(random);
  auto config = model_.config();
  const bool drops = config.find_field(field.name) != nullptr;
  const auto change = [&](engine::CollectionConfig& changed) -> Result<> {
    if (!drops) return engine::add_field(changed, field);
    engine::drop_field(changed, field.name);
    return {};
  };
  ASSERT_TRUE(change(config));
  const auto changed = database_->update_config(kCollection, change);
  ASSERT_TRUE(changed) << changed.error().to_string();
  model_.set_fields(config.fields);
  EXPECT_EQ(collection_->config()->fields, model_.config().fields);
}

void Runner::bulk_step(Random& random) {
  const std::uint64_t n = random() % 5 == 0 ? random() % 3 : 1 + random() % 150;
  auto points = random_points(model_.config(), n, random);
  ASSERT_TRUE(model_.apply({engine::Upsert{points, {}, {}}}));
  std::optional<std::string> cursor;
  if (random() % 4 != 0) cursor = cursor_ = "row " + std::to_string(random() % 1000);
  const OwnedChunk chunk(model_.config(), std::move(points), cursor);
  const auto loaded = collection_->bulk_load(chunk.view());
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  EXPECT_EQ(collection_->bulk_cursor().value(), cursor_);
}

void Runner::invalid_bulk_step(Random& random) {
  auto points = random_points(model_.config(), 1 + random() % 50, random);
  auto& bad = points[random() % points.size()];
  bad.vectors = {{"", engine::DenseVector(6, 1.0F)}};
  switch (random() % 3) {
    case 0:
      std::get<engine::DenseVector>(bad.vectors[0].value)[3] =
          std::numeric_limits<float>::infinity();
      break;
    case 1:
      bad.vectors.push_back({"words", engine::SparseVector{{4, 4}, {1, 2}}});
      break;
    default:
      bad.payload = random() % 2 == 0 ? "[1]" : "{\"n\":";
  }
  const PointId id = bad.id;
  const OwnedChunk chunk(model_.config(), std::move(points), "never");
  const auto loaded = collection_->bulk_load(chunk.view());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code(), Code::kInvalidArgument);
  EXPECT_NE(loaded.error().message().find("point " + id.to_string()), std::string::npos)
      << loaded.error().message();
  EXPECT_EQ(collection_->bulk_cursor().value(), cursor_);
}

/// Until its segments have the new index, the field is searched as before or exactly.
void Runner::index_config_step(Random& random) {
  const auto changed =
      database_->update_config(kCollection, [&](engine::CollectionConfig& config) -> Result<> {
        config.vector_indexes = random_vector_indexes(config, random);
        if (random() % 2 == 0) config.optimizer.index_min_bytes = random() % 2000;
        return {};
      });
  ASSERT_TRUE(changed) << changed.error().to_string();
}

void Runner::query_step(Random& random) {
  const engine::Query query = random_query(model_.config(), random);
  const Cancel cancel;
  const auto got = collection_->query(query, cancel);
  const bool answerable = model_.nearest(query).has_value();
  ASSERT_EQ(got.has_value(), answerable) << (got ? "an answer" : got.error().to_string());
  if (got) {
    expect_answer(query, *got);
  } else {
    EXPECT_EQ(got.error().code(), Code::kNotFound);
  }
}

void Runner::text_step(Random& random) {
  const engine::Query query = random_text_query(random);
  const Cancel cancel;
  const auto got = collection_->query(query, cancel);
  const auto all = model_.texts(query);
  if (!all) {
    ASSERT_FALSE(got) << "nothing ranks the texts";
    EXPECT_EQ(got.error().code(), Code::kInvalidArgument);
    return;
  }
  if (!got) {  // a column may still be built
    EXPECT_EQ(got.error().code(), Code::kUnavailable) << got.error().to_string();
    return;
  }
  ASSERT_EQ(got->size(), std::min<std::uint64_t>(query.limit, all->size()));
  std::map<PointId, float> scores;
  for (const auto& hit : *all) scores[hit.id] = hit.score;
  for (std::size_t i = 0; i < got->size(); ++i) {
    const Record& record = (*got)[i];
    ASSERT_TRUE(scores.contains(record.id)) << record.id.to_string() << " is none, or comes twice";
    EXPECT_NEAR(record.score, scores.at(record.id), 1e-5F * record.score);
    EXPECT_NEAR(record.score, (*all)[i].score, 1e-5F * record.score) << "hit " << i;
    scores.erase(record.id);
  }
}

void Runner::expect_answer(const engine::Query& query, const std::vector<Record>& got) const {
  SCOPED_TRACE("field `" + query.using_field + '`');
  const auto wanted = model_.nearest(query).value();
  ASSERT_EQ(got.size(), wanted.size());
  engine::Query of_all = query;
  of_all.limit = std::numeric_limits<std::uint64_t>::max();
  std::map<PointId, float> scores;
  const auto all = model_.nearest(of_all).value();
  for (const auto& hit : all) scores[hit.id] = hit.score;
  const auto points = model_.points();
  const bool approximate = is_approximate(model_.config(), query);
  const float sign = ascends(model_.config(), query) ? -1.0F : 1.0F;
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE("hit " + std::to_string(i));
    const Record& record = got[i];
    EXPECT_TRUE(approximate || record.id == wanted[i].id) << record.id.to_string();
    ASSERT_TRUE(scores.contains(record.id)) << "it is none, or comes twice";
    EXPECT_EQ(record.score, scores.at(record.id));
    EXPECT_LE(sign * record.score, sign * wanted[i].score);
    EXPECT_LE(sign * record.score, sign * got[i == 0 ? 0 : i - 1].score);
    EXPECT_EQ(record.payload, points.at(record.id).payload);
    EXPECT_EQ(record.version, points.at(record.id).seq);
    scores.erase(record.id);
  }
}

void Runner::query_batch_step(Random& random) {
  std::vector<engine::Query> queries(2 + random() % 6);
  for (auto& query : queries) {
    query = random_query(model_.config(), random);
    if (random() % 2 == 0) query.filter.reset();  // so that some share a pass
  }
  for (const auto& query : queries) {
    if (!model_.nearest(query)) return;  // checked by query_step
  }
  const Cancel cancel;
  const auto answers = collection_->query_batch(queries, cancel);
  ASSERT_TRUE(answers) << answers.error().to_string();
  ASSERT_EQ(answers->size(), queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) expect_answer(queries[i], (*answers)[i]);
}

void Runner::scroll_step(Random& random) {
  engine::ScrollRequest request;
  if (random() % 4 != 0) request.filter = random_filter(random);
  request.limit = 1 + random() % 40;
  const auto wanted = model_.matching(request.filter);
  const Cancel cancel;
  std::vector<PointId> got;
  while (true) {
    const auto page = collection_->scroll(request, cancel);
    ASSERT_TRUE(page) << page.error().to_string();
    for (const auto& record : page->points) got.push_back(record.id);
    if (!page->next) break;
    EXPECT_EQ(page->points.size(), request.limit);
    request.offset = page->next;
  }
  EXPECT_EQ(got, wanted);
  const auto n = collection_->count({request.filter}, cancel);
  ASSERT_TRUE(n) << n.error().to_string();
  EXPECT_EQ(*n, wanted.size());
}

/// `n` is one small integer, or missing, or changed by an edit. Points without it are not listed.
void Runner::order_step(Random& random) {
  const auto& indexes = model_.config().indexes;
  const bool indexed = std::any_of(indexes.begin(), indexes.end(),
                                   [](const auto& index) { return index.key == "n"; });
  engine::ScrollRequest request;
  request.order_by = engine::OrderBy{"n", random() % 2 == 0, std::nullopt};
  request.limit = 1 + random() % 300;
  const Cancel cancel;
  auto page = collection_->scroll(request, cancel);
  // A client that did not wait for a new index is told that it is being built.
  const auto limit = patience_end(std::chrono::seconds(60));
  while (!page && page.error().code() == Code::kUnavailable &&
         std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    page = collection_->scroll(request, cancel);
  }
  ASSERT_EQ(page.has_value(), indexed) << (page ? "a page" : page.error().to_string());
  if (!page) return;
  std::vector<std::pair<std::int64_t, PointId>> wanted;
  for (const auto& [id, row] : model_.points()) {
    const auto document = payload::parse_json(row.payload).value();
    const auto* n = document.find("n");
    if (n != nullptr && n->as_i64() != nullptr) wanted.emplace_back(*n->as_i64(), id);
  }
  std::sort(wanted.begin(), wanted.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return (a.first < b.first) != request.order_by->descending;
    return a.second < b.second;
  });
  if (wanted.size() > request.limit) wanted.resize(request.limit);
  ASSERT_EQ(page->points.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(page->points[i].id, wanted[i].second) << "point " << i;
    EXPECT_EQ(page->points[i].order_value, engine::OrderValue(wanted[i].first));
  }
}

void Runner::retrieve_step(Random& random) {
  engine::RetrieveRequest request;
  request.with_vector = all_vectors();
  for (int i = 0; i < 20; ++i) request.ids.push_back(random_id(random));
  const auto got = collection_->retrieve(request);
  ASSERT_TRUE(got) << got.error().to_string();
  const auto points = model_.points();
  std::vector<PointId> wanted;
  for (const auto& id : request.ids) {
    if (points.contains(id)) wanted.push_back(id);
  }
  ASSERT_EQ(got->size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ((*got)[i].id, wanted[i]);
    expect_record((*got)[i], points.at(wanted[i]));
  }
}

void Runner::expect_record(const Record& record, const engine::Row& row) const {
  EXPECT_EQ(record.version, row.seq) << record.id.to_string();
  EXPECT_EQ(record.payload, row.payload) << record.id.to_string();
  ASSERT_TRUE(record.vectors.has_value());
  std::size_t n_present = 0;
  for (std::size_t f = 0; f < row.vectors.size(); ++f) {
    if (!is_present(row.vectors[f])) continue;
    ++n_present;
    const FieldSchema& field = model_.config().fields[f];
    const auto found = std::find_if(record.vectors->begin(), record.vectors->end(),
                                    [&](const auto& vector) { return vector.name == field.name; });
    ASSERT_NE(found, record.vectors->end()) << "no vector `" << field.name << '`';
    EXPECT_EQ(found->value, engine::to_value(field, row.vectors[f])) << '`' << field.name << '`';
  }
  EXPECT_EQ(record.vectors->size(), n_present);
}

void Runner::check_everything() {
  engine::ScrollRequest request;
  request.limit = 100000;
  request.with_vector = all_vectors();
  const Cancel cancel;
  const auto page = collection_->scroll(request, cancel);
  ASSERT_TRUE(page) << page.error().to_string();
  const auto points = model_.points();
  ASSERT_EQ(page->points.size(), points.size());
  std::size_t i = 0;
  for (const auto& [id, row] : points) {
    ASSERT_EQ(page->points[i].id, id);
    expect_record(page->points[i], row);
    ++i;
  }
  EXPECT_EQ(collection_->count({}, cancel).value(), points.size());
  EXPECT_EQ(collection_->info().n_points, points.size());
}

std::vector<std::string> Runner::probe(std::uint64_t seed) const {
  Random random(seed);
  std::vector<std::string> answers;
  const Cancel cancel;
  for (int i = 0; i < 30; ++i) {
    auto query = random_query(model_.config(), random);
    // Rows may move into indexed segments meanwhile.
    if (is_approximate(model_.config(), query)) query.params.exact = true;
    answers.push_back(text_of(collection_->query(query, cancel)));
  }
  return answers;
}

void Runner::check_rest() {
  const auto limit = patience_end(std::chrono::seconds(60));
  auto info = collection_->info();
  while (info.health != engine::Health::kGreen && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    info = collection_->info();
  }
  EXPECT_EQ(info.health, engine::Health::kGreen) << info.optimizer_error;
  EXPECT_EQ(info.optimizer_error, "");
  const auto most = model_.n_shards() * (model_.config().optimizer.max_segments + 1);
  EXPECT_LE(info.n_segments, most) << "with the mutable segment of each shard";
  const auto work = collection_->optimizations();
  EXPECT_TRUE(work.running.empty());
  EXPECT_TRUE(work.queued.empty());
  EXPECT_EQ(info.n_damaged_indexes, 0U);
}

void Runner::start_reader(std::uint64_t seed) {
  stop_reader_ = false;
  reader_ = std::thread([this, seed] { read_until_stopped(seed); });
}

void Runner::stop_reader() {
  stop_reader_ = true;
  if (reader_.joinable()) reader_.join();
}

/// While a writer runs, only the integrity of answers can be checked.
void Runner::read_until_stopped(std::uint64_t seed) const {
  Random random(seed);
  const Cancel cancel;
  const engine::CollectionConfig config = *collection_->config();
  while (!stop_reader_) {
    const auto hits = collection_->query(random_query(config, random), cancel);
    const bool is_answer = hits || hits.error().code() == Code::kNotFound ||
                           hits.error().subject() == Subject::kVectorField ||
                           collection_->config()->fields != config.fields;  // changed since
    EXPECT_TRUE(is_answer) << hits.error().to_string();
    engine::ScrollRequest request;
    request.limit = 1000;
    request.filter = random_filter(random);
    const auto page = collection_->scroll(request, cancel);
    ASSERT_TRUE(page) << page.error().to_string();
    EXPECT_TRUE(std::is_sorted(page->points.begin(), page->points.end(),
                               [](const auto& a, const auto& b) { return a.id < b.id; }));
    EXPECT_TRUE(collection_->count({request.filter}, cancel));
    (void)collection_->info();
    (void)collection_->optimizations();
  }
}

}  // namespace quiver::model
