// Files of segments that become unreadable while a collection uses them: they are cut short, so
// that reading them raises SIGBUS. The process lives, no answer is wrong, and after a while all are
// given again. The same after bytes of them were changed, once the scrub has read them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/io/checked_files.h"
#include "engine/database.h"
#include "tests/patience.h"
#include "tests/support/unreadable_window.h"

namespace quiver::engine::testing {
namespace {

namespace fs = std::filesystem;
using Random = std::mt19937_64;

constexpr std::uint64_t kPoints = 700;
constexpr std::uint32_t kDim = 24;
constexpr std::uint64_t kSeed = 61;

const std::vector<FieldSchema>& fields() {
  static const std::vector<FieldSchema> all = {
      {"", FieldKind::kDense, kDim, DType::kF32, Metric::kCosine, SparseModifier::kNone},
      {"words", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kNone},
      {"tokens", FieldKind::kMulti, 16, DType::kF32, Metric::kDot, SparseModifier::kNone},
  };
  return all;
}

std::vector<float> normals(std::size_t n, Random& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

VectorValue random_vector(const FieldSchema& field, Random& random) {
  if (field.kind == FieldKind::kDense) return normals(field.dim, random);
  if (field.kind == FieldKind::kMulti) {
    const auto n = static_cast<std::uint32_t>(3 + random() % 6);
    return MultiVector{n, field.dim, normals(n * field.dim, random)};
  }
  std::map<std::uint32_t, float> entries;
  for (int i = 0; i < 30; ++i) {
    entries[static_cast<std::uint32_t>(random() % 400)] = static_cast<float>(1 + random() % 50);
  }
  SparseVector vector;
  for (const auto& [index, value] : entries) {
    vector.indices.push_back(index);
    vector.values.push_back(value);
  }
  return vector;
}

std::string payload_of(std::uint64_t id) {
  return R"({"k":"color )" + std::to_string(id % 7) + R"(","n":)" + std::to_string(id % 100) +
         R"(,"t":"some words of text )" + std::to_string(id % 13) + R"("})";
}

PointInput random_point(std::uint64_t id, Random& random) {
  PointInput point{PointId::number(id), {}, payload_of(id)};
  for (const auto& field : fields()) {
    point.vectors.push_back({field.name, random_vector(field, random)});
  }
  return point;
}

/// A question, and the exact score of every point that may be an answer.
struct Question {
  Query query;
  std::map<PointId, float> scores;
};

class UnreadableFile : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) / ("quiver_unreadable_" + std::to_string(getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override {
    if (database_ != nullptr) close();
    fs::remove_all(root_);
  }

  static CollectionConfig config() {
    CollectionConfig config;
    config.fields = fields();
    config.optimizer.seal_rows = 400;
    config.optimizer.idle_seal_s = 0.01;
    config.optimizer.index_min_bytes = 0;
    config.vector_indexes[""].build = {{"graph", std::string("always")},
                                       {"n_lists", std::int64_t{20}}};
    config.vector_indexes["words"].build = {{"blocks_from", std::int64_t{1}},
                                            {"codec", std::string("gaps")},
                                            {"n_neighbours", std::int64_t{4}}};
    for (const auto& [key, kind] : {std::pair("k", payload::IndexKind::kKeyword),
                                    std::pair("n", payload::IndexKind::kInteger),
                                    std::pair("t", payload::IndexKind::kText)}) {
      payload::FieldIndex index;
      index.key = key;
      index.kind = kind;
      index.range = kind == payload::IndexKind::kInteger;
      config.indexes.push_back(index);
    }
    return config;
  }
  void open(const std::optional<CollectionConfig>& created = std::nullopt) {
    DatabaseOptions options;
    options.data_dir = root_.string();
    options.compute_threads = 2;
    options.background_threads = 2;
    options.scrub = scrub_;
    auto database = Database::open(options);
    ASSERT_TRUE(database) << database.error().to_string();
    database_ = *std::move(database);
    if (created) {
      ASSERT_TRUE(database_->create_collection("points", *created));
    }
    auto collection = database_->collection("points");
    ASSERT_TRUE(collection) << collection.error().to_string();
    collection_ = *std::move(collection);
  }
  void close() {
    collection_.reset();
    EXPECT_TRUE(database_->close());
    database_.reset();
  }

  Result<> update(const Operation& operation) {
    std::promise<Result<std::vector<UpdateResult>>> done;
    auto answer = done.get_future();
    QV_TRY(collection_->update({operation}, Ack::kVisible,
                               [&](auto result) { done.set_value(std::move(result)); }));
    QV_TRY(answer.get());
    return {};
  }
  void insert(std::uint64_t first, std::uint64_t n) {
    Random random(kSeed + first);
    Upsert upsert;
    for (std::uint64_t i = 0; i < n; ++i) upsert.points.push_back(random_point(first + i, random));
    ASSERT_TRUE(update(upsert));
  }
  template <class Condition>
  static void wait_until(Condition condition) {
    const auto limit = patience_end(std::chrono::seconds(60));
    while (!condition() && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ASSERT_TRUE(condition());
  }
  void wait_for_rest() {
    wait_until([&] { return collection_->info().health == Health::kGreen; });
  }

  /// What was inserted is more than is kept in memory.
  void wait_until_sealed() {
    wait_until([&] { return collection_->info().n_indexed_vectors != 0; });
    wait_for_rest();
  }

  [[nodiscard]] fs::path segments() const {
    return root_ / "collections" / "00000001" / "shard-0" / "segments";
  }
  /// Files of the segments that the collection has now.
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    std::error_code error;
    for (fs::recursive_directory_iterator it(segments(), error), end; !error && it != end;
         it.increment(error)) {
      if (it->is_regular_file(error)) all.push_back(it->path());
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  /// Asks everything: exactly and through indexes, with filters and without.
  void make_questions() {
    Random random(kSeed + 7);
    payload::Filter color;
    color.must = {payload::FieldCondition{"k", payload::MatchValue{std::string("color 3")}}};
    payload::Filter range;
    range.must = {payload::FieldCondition{"n", payload::Range{{}, std::int64_t{90}, {}, {}}}};
    payload::Filter text;
    text.must = {payload::FieldCondition{"t", payload::MatchText{"words 11"}}};
    for (const auto& field : fields()) {
      for (const auto& filter : {std::optional<payload::Filter>(), std::optional(color),
                                 std::optional(range), std::optional(text)}) {
        Question question;
        question.query.using_field = field.name;
        question.query.kind = Nearest{random_vector(field, random)};
        question.query.filter = filter;
        Query all = question.query;
        all.limit = 10 * kPoints;
        all.params.exact = true;
        const auto records = collection_->query(all, cancel_);
        ASSERT_TRUE(records) << records.error().to_string();
        for (const auto& record : *records) question.scores.emplace(record.id, record.score);
        questions_.push_back(question);
        question.query.params.exact = true;
        questions_.push_back(std::move(question));
      }
    }
    pages_ = read_pages().value();
  }
  /// Every point with all that is known of it, in order of ids and by a payload index.
  [[nodiscard]] Result<std::string> read_pages() const {
    std::string text;
    ScrollRequest request;
    request.limit = 10 * kPoints;
    request.with_vector.all = true;
    QV_TRY(const auto page, collection_->scroll(request, cancel_));
    for (const auto& record : page.points) {
      text += record.id.to_string() + record.payload.value_or("") + "\n";
      for (const auto& vector : *record.vectors) {
        const auto* dense = std::get_if<DenseVector>(&vector.value);
        if (dense != nullptr) text += std::to_string(dense->front()) + " ";
      }
    }
    request.with_vector.all = false;
    request.order_by = OrderBy{"n", true, {}};
    QV_TRY(const auto ordered, collection_->scroll(request, cancel_));
    for (const auto& record : ordered.points) text += record.id.to_string() + " ";
    QV_TRY(const auto n, collection_->count({}, cancel_));
    return text + std::to_string(n);
  }

  /// Right, or refused as it should be. True if all were given.
  bool ask_all() const {
    bool all_given = true;
    const auto is_given = [&](const auto& answer) {
      if (!answer) {
        all_given = false;
        EXPECT_EQ(answer.error().code(), Code::kUnavailable) << answer.error().to_string();
      }
      return answer.has_value();
    };
    for (const auto& question : questions_) {
      const auto records = collection_->query(question.query, cancel_);
      if (!is_given(records)) continue;
      expect_right(question, *records);
    }
    const auto pages = read_pages();
    if (is_given(pages)) {
      EXPECT_TRUE(*pages == pages_) << "a page differs";
    }
    return all_given;
  }
  static void expect_right(const Question& question, const std::vector<Record>& records) {
    EXPECT_EQ(records.size(), std::min<std::size_t>(10, question.scores.size()));
    std::vector<float> best;
    for (const auto& [id, score] : question.scores) best.push_back(score);
    std::sort(best.begin(), best.end(), std::greater<>());
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto found = question.scores.find(records[i].id);
      ASSERT_NE(found, question.scores.end()) << records[i].id.to_string();
      EXPECT_EQ(records[i].score, found->second);
      if (question.query.params.exact) {
        EXPECT_EQ(records[i].score, best[i]);
      }
    }
  }
  /// Opens a collection of kPoints points that has nothing left to do. True if it answers.
  bool open_at_rest() {
    open(config());
    insert(0, kPoints);
    wait_until_sealed();
    wait_for_rest();
    make_questions();
    return ask_all();
  }

  void expect_all_again() {
    wait_until([&] { return ask_all() || ::testing::Test::HasFailure(); });
  }

  /// Changes one byte as memory or a disk may: no call writes to the file, so only the scrub sees
  /// it.
  static void flip(const fs::path& path, std::uint64_t at) {
    const int file = ::open(path.c_str(), O_RDWR);
    ASSERT_GE(file, 0) << path;
    const auto size = static_cast<std::size_t>(fs::file_size(path));
    void* bytes = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ASSERT_NE(bytes, MAP_FAILED) << path;
    static_cast<unsigned char*>(bytes)[at] ^= 0x10;
    ::munmap(bytes, size);
    ::close(file);
  }
  /// As another program may.
  static void write_over(const fs::path& path, std::uint64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
    EXPECT_TRUE(file.good()) << path;
  }
  /// Where a file is now that was opened below this path: a draft got its final name since.
  static fs::path path_now(const CheckedFile& file) {
    std::string path = file.path;
    if (const auto draft = path.find(".tmp/"); draft != std::string::npos) path.erase(draft, 4);
    return path;
  }
  /// Files of the segments that are mapped now, with their parts.
  [[nodiscard]] std::vector<CheckedFile> mapped() const {
    auto all = checked_files();
    std::erase_if(all, [&](const CheckedFile& file) {
      return !file.path.starts_with(segments().string()) || !fs::exists(path_now(file));
    });
    std::sort(all.begin(), all.end(),
              [](const CheckedFile& a, const CheckedFile& b) { return a.path < b.path; });
    return all;
  }
  /// Returns after a pass that began now.
  void scrub() {
    const std::uint64_t wanted = database_->request_scrub().value();
    wait_until([&] { return database_->scrub_status().n_passes >= wanted; });
  }

  ScrubOptions scrub_{4ULL << 30, 0};  ///< as fast as it can, when asked
  fs::path root_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
  std::vector<Question> questions_;
  std::string pages_;
  Cancel cancel_;
};

/// Every file of a segment in turn, to nothing and to a part, while others ask.
TEST_F(UnreadableFile, AnswersAreRightOrRefusedAndComeBack) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  open(config());
  insert(0, kPoints);
  wait_until_sealed();
  make_questions();
  ASSERT_TRUE(ask_all());
  const std::size_t n_files = files().size();
  ASSERT_GE(n_files, 13U) << "rows, columns, lists, a graph, impacts, tokens";
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop && !HasFailure()) (void)ask_all();
  });
  for (std::size_t i = 0; i < 2 * n_files && !HasFailure(); ++i) {
    const auto now = files();
    const auto& file = now[i % now.size()];
    std::error_code error;
    const auto size = fs::file_size(file, error);
    if (error || size == 0) continue;
    SCOPED_TRACE("file " + file.string());
    fs::resize_file(file, i < n_files ? 0 : random() % size, error);
    expect_all_again();
    wait_for_rest();
  }
  stop = true;
  reader.join();
  if (HasFailure()) return;
  EXPECT_EQ(collection_->info().n_damaged_segments, 0U);
  EXPECT_EQ(collection_->info().n_damaged_indexes, 0U);
  close();
  open();
  EXPECT_TRUE(ask_all());
}

/// Edits are made of the rows that are there: never of zeros.
TEST_F(UnreadableFile, UpdatesAreNotMadeOfZeros) {
  Random random(kSeed);
  open(config());
  insert(0, 500);
  wait_until_sealed();
  std::map<std::uint64_t, std::uint64_t> edits;
  for (std::uint64_t round = 1; round <= 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    bool is_cut = false;
    for (const auto& file : files()) {
      if (file.filename() != "rows.qvs") continue;
      fs::resize_file(file, 4096 * (random() % 4));
      is_cut = true;
    }
    ASSERT_TRUE(is_cut);
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t id = random() % 500;
      const SetPayload edit{
          R"({"round":)" + std::to_string(round) + "}", {}, std::vector{PointId::number(id)}};
      Result<> done;
      wait_until([&] {
        done = update(edit);
        return done || done.error().code() != Code::kUnavailable;
      });
      ASSERT_TRUE(done) << done.error().to_string();
      edits[id] = round;
    }
    Result<ScrollPage> page;
    wait_until([&] {
      ScrollRequest all;
      all.limit = 1000;
      page = collection_->scroll(all, cancel_);
      return page || page.error().code() != Code::kUnavailable;
    });
    ASSERT_TRUE(page) << page.error().to_string();
    ASSERT_EQ(page->points.size(), 500U);
    for (std::uint64_t id = 0; id < 500; ++id) {
      std::string wanted = payload_of(id);
      if (const auto edit = edits.find(id); edit != edits.end()) {
        wanted.pop_back();
        wanted += R"(,"round":)" + std::to_string(edit->second) + "}";
      }
      EXPECT_EQ(page->points[id].payload, wanted) << id;
      if (HasFailure()) return;
    }
    wait_until_sealed();
  }
}

/// What was deleted while a segment could not be read stays so, also if it can be read again.
TEST_F(UnreadableFile, DeletesHoldWhenTheFileComesBack) {
  auto configured = config();
  configured.optimizer.idle_seal_s = 1000;
  configured.optimizer.max_segments = 100;
  open(configured);
  insert(0, 500);  // more than are kept in memory
  wait_until_sealed();
  const fs::path segment = [&] {
    for (const auto& file : files()) {
      if (file.filename() == "rows.qvs") return file.parent_path();
    }
    return fs::path();
  }();
  ASSERT_FALSE(segment.empty());
  const fs::path copy = root_ / "copy";
  fs::copy(segment, copy, fs::copy_options::recursive);
  fs::resize_file(segment / "rows.qvs", 0);
  wait_until([&] {
    ScrollRequest all;
    all.limit = 1000;
    const auto page = collection_->scroll(all, cancel_);
    return page && page->points.size() == 500;
  });
  std::vector<PointId> deleted;
  for (std::uint64_t id = 0; id < 500; id += 2) deleted.push_back(PointId::number(id));
  ASSERT_TRUE(update(DeletePoints{deleted}));
  EXPECT_EQ(collection_->count({}, cancel_).value(), 250U);
  insert(1000, 400);  // another is sealed, and the manifest saved
  wait_until([&] { return collection_->count({}, cancel_).value_or(0) == 650; });
  // Some rows that were read again are in memory alone: until they are sealed the damage is kept.
  ASSERT_EQ(collection_->info().n_damaged_segments, 1U);
  close();
  fs::remove_all(segment);
  fs::copy(copy, segment, fs::copy_options::recursive);
  open();
  EXPECT_EQ(collection_->count({}, cancel_).value(), 650U);
  RetrieveRequest request;
  request.ids = deleted;
  EXPECT_TRUE(collection_->retrieve(request).value().empty());
}

/// A merge that meets an unreadable input leaves everything as it was, and is made up for.
TEST_F(UnreadableFile, MergesOfUnreadableSegmentsAreMadeUpFor) {
  auto configured = config();
  configured.optimizer.idle_segments = 100;
  open(configured);
  for (std::uint64_t i = 0; i < 3; ++i) {
    insert(i * 500, 500);
    wait_until([&] { return collection_->info().n_indexed_vectors == 3 * 500 * (i + 1); });
    wait_for_rest();
  }
  make_questions();
  ASSERT_EQ(collection_->info().n_segments, 3U);
  for (const auto& file : files()) {
    if (file.filename() != "rows.qvs") continue;
    fs::resize_file(file, fs::file_size(file) / 2);  // nobody has met it yet
    break;
  }
  ASSERT_TRUE(database_->update_config("points", [](CollectionConfig& changed) -> Result<> {
    changed.optimizer.idle_segments = 1;
    return {};
  }));
  // The last rows read again may come to lie in a segment that is too small to rewrite the others
  // for.
  wait_until([&] {
    const auto info = collection_->info();
    return info.n_segments <= 2 && info.n_damaged_segments == 0 &&
           info.n_indexed_vectors == 3 * 1500;
  });
  wait_for_rest();
  EXPECT_TRUE(ask_all());
  close();
  open();
  EXPECT_TRUE(ask_all());
}

/// Builds of indexes look at rows more than once; the file may be cut short at any moment of it.
TEST_F(UnreadableFile, BuildsOverUnreadableRowsAreMadeUpFor) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  open(config());
  insert(0, kPoints);
  wait_until_sealed();
  make_questions();
  const int n_rounds = std::getenv("QUIVER_LONG_TESTS") != nullptr ? 300 : 3;
  for (int round = 0; round < n_rounds && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    close();
    for (const auto& file : files()) {
      const fs::path parent = file.parent_path();
      if (parent.filename().string().starts_with("index-")) fs::remove_all(parent);
    }
    const auto now = files();
    open();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
    for (const auto& file : now) {
      std::error_code error;
      if (file.filename() != "rows.qvs") continue;
      fs::resize_file(file, random() % (1 + fs::file_size(file, error)), error);
    }
    expect_all_again();
    wait_for_rest();
  }
}

/// One byte in each section of each kind of file, in its head and in its table of sections.
TEST_F(UnreadableFile, TheScrubFindsChangedBytesOfEverySection) {
  open(config());
  insert(0, kPoints);
  wait_until_sealed();
  make_questions();
  ASSERT_TRUE(ask_all());
  scrub();
  ASSERT_EQ(database_->scrub_status().n_damages, 0U);
  EXPECT_GT(database_->scrub_status().n_pass_bytes, 0U);
  using Place = std::tuple<std::string, std::uint32_t, std::uint32_t, bool>;
  std::set<Place> done;
  // The next section of each kind of file.
  const auto flip_some = [&] {
    std::vector<CheckedFile> flipped;
    std::set<std::string> names;
    for (const CheckedFile& file : mapped()) {
      const fs::path path = path_now(file);
      const fs::path folder = path.parent_path().filename();
      const bool is_index = folder.string().starts_with("index-");
      const std::string name = is_index ? folder / path.filename() : path.filename();
      if (names.contains(name)) continue;
      const auto& parts = *file.parts;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const FilePart& part = parts[i];
        const bool is_last = i + 1 == parts.size();
        if (part.section == FilePart::kNoSection && i != 0 && !is_last) continue;  // padding
        if (!done.emplace(name, part.section, part.field, is_last).second) continue;
        flip(path, part.offset + part.size / 2);
        flipped.push_back(file);
        names.insert(name);
        break;
      }
    }
    return flipped;
  };
  for (auto flipped = flip_some(); !flipped.empty() && !HasFailure(); flipped = flip_some()) {
    scrub();
    for (const CheckedFile& each : flipped) {
      const auto file = each.file.lock();
      EXPECT_TRUE(file == nullptr || file->is_damaged()) << each.path;
    }
    expect_all_again();
    wait_for_rest();
  }
  EXPECT_GT(database_->scrub_status().n_damages, 20U);
  EXPECT_GT(done.size(), 60U) << "rows, columns, attributes, lists, a graph, impacts, tokens";
  EXPECT_EQ(collection_->info().n_damaged_segments, 0U);
  close();
  open();
  EXPECT_TRUE(ask_all());
}

/// What another program writes to a file is in no answer from then on, without a scrub.
TEST_F(UnreadableFile, WritesOfOthersAreNoticedAtOnce) {
  ASSERT_TRUE(open_at_rest());
  Random random(kSeed);
  std::size_t n_written = 0;
  for (int round = 0; round < 12 && !HasFailure(); ++round) {
    std::vector<std::shared_ptr<const MappedFile>> written;
    std::size_t number = 0;
    for (const CheckedFile& file : mapped()) {
      if (number++ % 12 != static_cast<std::size_t>(round)) continue;
      const FilePart& part = (*file.parts)[random() % file.parts->size()];
      if (const auto mapping = file.file.lock()) written.push_back(mapping);
      write_over(path_now(file), part.offset + random() % part.size);
    }
    expect_all_again();
    for (const auto& each : written) EXPECT_TRUE(each->is_damaged());
    n_written += written.size();
    wait_for_rest();
  }
  EXPECT_GT(n_written, 10U);
  EXPECT_EQ(database_->scrub_status().n_damages, n_written);
  EXPECT_EQ(database_->scrub_status().n_passes, 0U);
  EXPECT_EQ(collection_->info().n_damaged_segments, 0U);
  EXPECT_EQ(collection_->info().n_damaged_indexes, 0U);
  EXPECT_TRUE(ask_all());
}

/// The disk cannot read a page (EIO) that the scrub reads. Every file in turn: the segment is made
/// again from rows, and no answer is wrong.
TEST_F(UnreadableFile, ReadErrorsInTheScrubDamageOneFile) {
  ASSERT_TRUE(open_at_rest());
  testing_support::make_window_unreadable(0);
  scrub();
  const std::uint64_t n_windows = testing_support::n_windows();
  ASSERT_GT(n_windows, 30U);
  const std::uint64_t n_damages = database_->scrub_status().n_damages;
  std::uint64_t n_found = 0;
  for (std::uint64_t nth = 1; nth <= n_windows && !HasFailure(); nth += 7) {
    SCOPED_TRACE("window " + std::to_string(nth));
    testing_support::make_window_unreadable(nth);
    scrub();
    if (testing_support::n_windows() >= nth) ++n_found;  // fewer files may be mapped now
    EXPECT_EQ(database_->scrub_status().n_damages, n_damages + n_found);
    expect_all_again();
    wait_for_rest();
  }
  testing_support::make_window_unreadable(0);
  EXPECT_GT(n_found, 4U);
  EXPECT_EQ(collection_->info().n_damaged_segments, 0U);
  EXPECT_EQ(collection_->info().n_damaged_indexes, 0U);
  scrub();
  EXPECT_EQ(database_->scrub_status().n_damages, n_damages + n_found);
}

/// Changed rows and columns do not come into the output of a merge with checksums of their own.
TEST_F(UnreadableFile, MergesOfChangedSegmentsAreMadeUpFor) {
  auto configured = config();
  configured.optimizer.idle_segments = 100;
  open(configured);
  for (std::uint64_t i = 0; i < 3; ++i) {
    insert(i * 500, 500);
    wait_until([&] { return collection_->info().n_indexed_vectors == 3 * 500 * (i + 1); });
    wait_for_rest();
  }
  make_questions();
  ASSERT_EQ(collection_->info().n_segments, 3U);
  std::set<std::string> changed;
  for (const CheckedFile& file : mapped()) {
    const fs::path path = path_now(file);
    const bool is_column = path.extension() == ".qvc";
    if (path.filename() != "rows.qvs" && !is_column) continue;
    // One segment loses its rows, another a column.
    if (changed.contains(path.parent_path().string()) || !changed.insert(path.filename()).second) {
      continue;
    }
    changed.insert(path.parent_path().string());
    const FilePart& last = (*file.parts)[file.parts->size() - (is_column ? 1 : 2)];
    flip(path, last.offset + last.size / 2);
  }
  ASSERT_GE(changed.size(), 4U);
  ASSERT_TRUE(database_->update_config("points", [](CollectionConfig& config) -> Result<> {
    config.optimizer.idle_segments = 1;
    return {};
  }));
  wait_until([&] {
    const auto info = collection_->info();
    return info.n_segments <= 2 && info.n_damaged_segments == 0 &&
           info.n_indexed_vectors == 3 * 1500;
  });
  wait_for_rest();
  EXPECT_TRUE(ask_all());
  scrub();
  EXPECT_EQ(database_->scrub_status().n_damages, 0U) << "the merge found them";
  close();
  open();
  EXPECT_TRUE(ask_all());
}

/// A partial update is made of the row in the store: what changed in a file is not stored.
TEST_F(UnreadableFile, UpdatesAreNotMadeOfChangedBytes) {
  open(config());
  insert(0, kPoints);
  wait_until_sealed();
  std::uint64_t n_changed = 0;
  for (const CheckedFile& file : mapped()) {
    const fs::path path = path_now(file);
    if (path.filename() != "rows.qvs") continue;
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (std::size_t at = text.find("some words"); at != std::string::npos;
         at = text.find("some words", at + 1)) {
      flip(path, at + 1);
      ++n_changed;
    }
  }
  ASSERT_GE(n_changed, kPoints / 2);
  std::vector<PointId> ids;
  for (std::uint64_t id = 0; id < kPoints; ++id) ids.push_back(PointId::number(id));
  ASSERT_TRUE(update(SetPayload{R"({"new":1})", {}, ids}));
  scrub();
  wait_until([&] { return collection_->count({}, cancel_).value_or(0) == kPoints; });
  ScrollRequest request;
  request.limit = 2 * kPoints;
  const auto page = collection_->scroll(request, cancel_);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->points.size(), kPoints);
  for (std::uint64_t id = 0; id < kPoints; ++id) {
    std::string wanted = payload_of(id);
    wanted.pop_back();
    EXPECT_EQ(page->points[id].payload, wanted + R"(,"new":1})");
  }
}

/// Bytes change while indexes are built, segments are replaced, and passes run all the time.
TEST_F(UnreadableFile, ScrubsBesideBuildsAndMerges) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  open(config());
  std::atomic<bool> stop = false;
  std::thread scrubber([&] {
    while (!stop) scrub();
  });
  const int n_rounds = std::getenv("QUIVER_LONG_TESTS") != nullptr ? 100 : 6;
  for (int round = 0; round < n_rounds && !HasFailure(); ++round) {
    insert(0, kPoints);  // replaces all rows: segments are vacuumed and merged
    const auto now = files();
    for (int i = 0; i < 2 && !now.empty(); ++i) {
      const auto& file = now[random() % now.size()];
      std::error_code error;
      const auto size = fs::file_size(file, error);
      if (error || size == 0) continue;
      if (i == 0) {
        fs::resize_file(file, random() % size, error);
      } else if (std::fstream(file).good()) {
        std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
        out.seekp(static_cast<std::streamoff>(random() % size));
        out.put('\x5a');
      }
    }
  }
  stop = true;
  scrubber.join();
  scrub();
  wait_until([&] { return collection_->count({}, cancel_).value_or(0) == kPoints; });
  wait_for_rest();
  std::map<std::string, std::string> payloads;
  ScrollRequest request;
  request.limit = 2 * kPoints;
  const auto page = collection_->scroll(request, cancel_);
  ASSERT_TRUE(page);
  for (const auto& record : page->points) payloads[record.id.to_string()] = *record.payload;
  for (std::uint64_t id = 0; id < kPoints; ++id) {
    EXPECT_EQ(payloads[PointId::number(id).to_string()], payload_of(id));
  }
}

/// A pass that would take hours ends when the database closes, and holds no dropped file.
TEST_F(UnreadableFile, ASlowScrubDelaysNothing) {
  scrub_ = {1 << 20, 1e-3};
  open(config());
  insert(0, kPoints);
  wait_until_sealed();
  wait_until([&] { return database_->scrub_status().n_bytes > 0; });
  close();
  scrub_ = {1, 1e-3};
  open();
  ASSERT_TRUE(collection_->count({}, cancel_));
  wait_until([&] { return database_->scrub_status().n_bytes > 0; });
  collection_.reset();
  EXPECT_TRUE(database_->drop_collection("points").value());
  EXPECT_TRUE(database_->scrub_status().is_running);
}

/// A file is cut short while the scrub is in the middle of it.
TEST_F(UnreadableFile, TheScrubMeetsAFileThatIsCutShort) {
  open(config());
  insert(0, kPoints);
  wait_until_sealed();
  make_questions();
  for (const CheckedFile& file : mapped()) {
    FileCheck check(file);
    const auto some = check.step();
    if (!some || *some == 0) continue;
    std::error_code error;
    fs::resize_file(path_now(file), *some / 2, error);
    if (error) continue;  // replaced since
    Result<std::size_t> n = 1;
    while (n && *n != 0) n = check.step();
    EXPECT_TRUE(file.file.expired() || file.file.lock()->is_damaged()) << file.path;
    expect_all_again();
    wait_for_rest();
    if (HasFailure()) return;
  }
  scrub();
  EXPECT_EQ(collection_->info().n_damaged_segments, 0U);
}

}  // namespace
}  // namespace quiver::engine::testing
