#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "app/import/directory/bulk_rows.h"
#include "app/import/http/acknowledged.h"
#include "app/import/http/block_queue.h"
#include "app/import/http/body.h"
#include "app/import/plan/export_manifest.h"
#include "app/import/plan/plan.h"
#include "app/import/plan/source_spec.h"
#include "app/import/reading/bad_rows.h"
#include "app/import/reading/payload_line.h"
#include "app/import/reading/point_line.h"
#include "app/import/run/identity.h"
#include "app/import/run/progress.h"
#include "app/import/run/state.h"
#include "app/import/run/state_store.h"
#include "service/binary/ragged.h"

namespace quiver::app {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SourceSpecTest, Forms) {
  const auto plain = parse_source("a/b.npy");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->kind, FieldKind::kDense);
  EXPECT_EQ(plain->name, "");
  EXPECT_EQ(plain->source, "a/b.npy");
  const auto named = parse_source("sparse:title=DIR/x=y");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->kind, FieldKind::kSparse);
  EXPECT_EQ(named->name, "title");
  EXPECT_EQ(named->source, "DIR/x=y");
  EXPECT_EQ(parse_source("multi:tokens=t")->kind, FieldKind::kMulti);
  EXPECT_EQ(parse_source("=a=b.npy")->source, "a=b.npy");
  EXPECT_EQ(parse_source("set.hdf5:train")->source, "set.hdf5:train");
  for (const char* wrong : {"", "name=", "dense:", "sparse:x", "sparse:=x"}) {
    EXPECT_FALSE(parse_source(wrong)) << wrong;
  }
}

TEST(SourceSpecTest, ValuesPerName) {
  const PerName metrics({"dot", "title=cosine"});
  EXPECT_EQ(metrics.find("title"), "cosine");
  EXPECT_EQ(metrics.find("other"), "dot");
  EXPECT_EQ(PerName({"a=dot"}).find("b"), std::nullopt);
  EXPECT_TRUE(metrics.check_names("--metric", {"title"}));
  const auto unknown = metrics.check_names("--metric", {"body"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("--metric title=cosine"));
}

TEST(SourceSpecTest, Factors) {
  EXPECT_EQ(*parse_factor("0.5"), 0.5);
  EXPECT_EQ(*parse_factor("1/127"), 1.0 / 127);
  for (const char* wrong : {"", "x", "1/", "/2", "1/0", "inf", "1/2/3"}) {
    EXPECT_FALSE(parse_factor(wrong)) << wrong;
  }
}

TEST(PlanTest, WhatDoesNotFitTogether) {
  const auto error = [](const std::function<void(ImportOptions&)>& change) {
    ImportOptions options;
    options.vectors = {"a.npy"};
    change(options);
    const auto plan = make_plan(options);
    return plan ? std::string() : plan.error().message();
  };
  EXPECT_EQ(error([](ImportOptions&) {}), "");
  EXPECT_THAT(error([](auto& o) { o.vectors.clear(); }), HasSubstr("nothing to import"));
  EXPECT_THAT(error([](auto& o) { o.vectors.push_back("b.npy"); }), HasSubstr("same name"));
  EXPECT_THAT(error([](auto& o) { o.points = o.payload = "p"; }), HasSubstr("one of --points"));
  EXPECT_THAT(error([](auto& o) { o.id_column = "x"; }), HasSubstr("--id-column wants"));
  EXPECT_THAT(error([](auto& o) { o.payload_keys = {"x"}; }), HasSubstr("--payload-keys wants"));
  EXPECT_THAT(error([](auto& o) { o.ids = "i", o.id_offset = 1; }), HasSubstr("one of --id"));
  EXPECT_THAT(error([](auto& o) { o.scale = {"b=2"}; }), HasSubstr("no vectors \"b\""));
  EXPECT_THAT(error([](auto& o) { o.from_export = "d"; }), HasSubstr("names all sources"));
}

TEST(PlanTest, FilesOfASource) {
  const auto directory = std::filesystem::temp_directory_path() / "quiver_files_of_test";
  std::filesystem::create_directories(directory);
  for (const char* name : {"a.npy.zst", "s.indptr.npy", "s.indices.npy.gz", "s.values.npy.zst",
                           "h.hdf5.zst", "b.csr"}) {
    std::ofstream(directory / name) << "x";
  }
  const auto files = [&](const std::string& source) {
    std::vector<std::string> names;
    for (const std::string& file : files_of(directory / source)) {
      names.push_back(std::filesystem::path(file).filename());
    }
    return names;
  };
  EXPECT_THAT(files("a.npy"), ElementsAre("a.npy.zst"));
  EXPECT_THAT(files("b.csr.zst"), ElementsAre("b.csr"));
  EXPECT_THAT(files("s"), ElementsAre("s.indptr.npy", "s.indices.npy.gz", "s.values.npy.zst"));
  EXPECT_THAT(files("h.hdf5:train"), ElementsAre("h.hdf5.zst"));
  EXPECT_THAT(files("none.npy"), IsEmpty());
  std::filesystem::remove_all(directory);
}

TEST(PayloadLineTest, KeysAndIds) {
  EXPECT_EQ(read_payload(R"({ "a": 1, "b": 2.0 })", {})->payload, R"({"a":1,"b":2.0})");
  EXPECT_EQ(read_payload("null", {})->payload, "");
  EXPECT_EQ(read_payload("{}", {})->payload, "");
  const PayloadRules rules{{"b", "c"}, "a"};
  const auto chosen = read_payload(R"({"a":7,"b":[1],"d":1,"c":null})", rules);
  ASSERT_TRUE(chosen) << chosen.error().message();
  EXPECT_EQ(chosen->payload, R"({"b":[1],"c":null})");
  EXPECT_EQ(chosen->id, PointId::number(7));
  const auto uuid = read_payload(R"({"a":"5c56c793-69f3-4fbf-87e6-c4bf54c28c26"})", rules);
  EXPECT_EQ(uuid->id->to_string(), "5c56c793-69f3-4fbf-87e6-c4bf54c28c26");
  EXPECT_EQ(read_payload(R"({"a":18446744073709551615})", rules)->id, PointId::number(UINT64_MAX));
  for (const char* wrong :
       {R"({"a":-1})", R"({"a":1.5})", R"({"a":"x"})", R"({"b":1})", "[]", "{", "", "null"}) {
    EXPECT_FALSE(read_payload(wrong, rules)) << wrong;
  }
}

TEST(PointLineTest, MembersThatAreKnown) {
  const auto read = [](std::string line) { return read_point_line(line, {}); };
  for (const char* line : {R"({"id":9,"vector":[1,2]})", R"({"id":9,"vectors":[1,2]})"}) {
    const auto point = read(line);
    ASSERT_TRUE(point) << point.error().message();
    EXPECT_EQ(point->id, PointId::number(9));
    ASSERT_EQ(point->vectors.size(), 1U);
    EXPECT_EQ(std::get<engine::DenseVector>(point->vectors[0].value), (engine::DenseVector{1, 2}));
  }
  EXPECT_TRUE(read("{}"));
  const auto unknown = read(R"({"id":9,"vectr":[1,2]})");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(),
              HasSubstr("`vectr`, expected one of `id`, `vector`, `vectors`, `payload`"));
  const auto both = read(R"({"id":9,"vector":[1,2],"vectors":{"a":[1,2]}})");
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().message(), HasSubstr("found both `vector` and `vectors`"));
}

TEST(StateTest, RoundTripAndDamage) {
  const ImportState state{{"to x", "file \"y\""},           12, 10, true, "0123456789abcdef", 2,
                          {{3, "a row 3: \"é\""}, {4, "b"}}};
  const auto read = parse_state(to_json(state));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(to_json(*read), to_json(state));
  for (const char* wrong : {"", "{}", "[]", R"({"quiver_import":2})", R"({"quiver_import":1})"}) {
    EXPECT_FALSE(parse_state(wrong)) << wrong;
  }
  const auto path = std::filesystem::temp_directory_path() / "quiver_state_test.import";
  std::filesystem::remove(path);
  EXPECT_FALSE(load_state(path)->has_value());
  ASSERT_TRUE(save_state(path, state));
  EXPECT_EQ(load_state(path)->value().next_row, 12U);
  std::ofstream(path) << "hello";
  const auto damaged = load_state(path);
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message(), HasSubstr("--restart"));
  std::filesystem::remove(path);
  StateFile kept(path, WhenFinished::kKeep);
  StateFile removed(path, WhenFinished::kRemove);
  ImportState unfinished = state;
  unfinished.finished = false;
  ASSERT_TRUE(kept.save(state));
  EXPECT_TRUE(removed.load()->value().finished);
  ASSERT_TRUE(removed.save(unfinished));
  EXPECT_FALSE(removed.load()->value().finished);
  ASSERT_TRUE(removed.save(state));
  EXPECT_FALSE(removed.load()->has_value());
  EXPECT_TRUE(removed.save(state));
}

TEST(StateTest, Differences) {
  EXPECT_EQ(first_difference({"a", "b"}, {"a", "b"}), "");
  EXPECT_EQ(first_difference({"a", "b"}, {"a", "c"}), "then \"b\", now \"c\"");
  EXPECT_EQ(first_difference({"a"}, {"a", "c"}), "then \"\", now \"c\"");
  EXPECT_EQ(first_difference({"a", "b"}, {"a"}), "then \"b\", now \"\"");
  EXPECT_EQ(
      first_difference({"file /a: b: 3 bytes, modified X"}, {"file /a: b: 4 bytes, modified Y"}),
      "file /a: b has changed: it had 3 bytes, modified X; now 4 bytes, modified Y");
  EXPECT_EQ(first_difference({"file /a: 3 bytes, modified X"}, {"file /b: 3 bytes, modified X"}),
            "then \"file /a: 3 bytes, modified X\", now \"file /b: 3 bytes, modified X\"");
}

TEST(StateTest, FilesAreToldBySizeAndTime) {
  const auto path = std::filesystem::temp_directory_path() / "quiver_identity_test.jsonl";
  std::ofstream(path) << "{}\n";
  const timespec times[2] = {{0, 0}, {1775046605, 7}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  ImportOptions options;
  options.payload = path;
  const auto lines = import_identity(options, *make_plan(options));
  ASSERT_TRUE(lines) << lines.error().message();
  EXPECT_THAT(*lines, Contains("file " + path.string() +
                               ": 3 bytes, modified 2026-04-01T12:30:05.000000007Z"));
  std::filesystem::remove(path);
}

TEST(AcknowledgedTest, InAnyOrder) {
  constexpr unsigned kSeed = 20260402;
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    std::uint64_t row = 100;
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t end = row + 1 + random() % 5;
      ranges.emplace_back(row, end);
      row = end;
    }
    std::vector<bool> is_done(row, false);
    std::fill(is_done.begin(), is_done.begin() + 100, true);
    std::shuffle(ranges.begin(), ranges.end(), random);
    Acknowledged acknowledged(100);
    for (const auto& [first, end] : ranges) {
      acknowledged.add(first, end, end - first, end - first);
      std::fill(is_done.begin() + static_cast<long>(first),
                is_done.begin() + static_cast<long>(end), true);
      const auto next = std::find(is_done.begin(), is_done.end(), false) - is_done.begin();
      EXPECT_EQ(acknowledged.progress().next_row, static_cast<std::uint64_t>(next));
      EXPECT_EQ(acknowledged.progress().n_points, static_cast<std::uint64_t>(next) - 100);
    }
    EXPECT_EQ(acknowledged.progress().n_points_sent, row - 100);
  }
}

TEST(AcknowledgedTest, WhatWasSentMayBeThere) {
  Acknowledged acknowledged(0);
  acknowledged.add(0, 5, 5, 5);
  acknowledged.add(10, 10, 0, 3);  // the connection broke
  EXPECT_EQ(acknowledged.progress().next_row, 5U);
  EXPECT_EQ(acknowledged.progress().n_points, 5U);
  EXPECT_EQ(acknowledged.progress().n_points_sent, 8U);
}

RowBlock block_of(std::uint64_t first_row, const std::vector<std::uint64_t>& ids) {
  RowBlock block;
  block.first_row = block.end_row = first_row;
  for (const std::uint64_t id : ids) {
    RowPoint point;
    point.row = block.end_row++;
    point.column_row = point.row - first_row;
    point.id = PointId::number(id);
    block.points.push_back(point);
  }
  return block;
}

TEST(BlockQueueTest, AnIdIsOnItsWayOnce) {
  constexpr unsigned kSeed = 20260403;
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  BlockQueue queue(4, Ids::kMayRepeat);
  std::vector<std::atomic<int>> users(20);
  std::vector<std::atomic<std::uint64_t>> last_row(20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (auto block = queue.pop()) {
        for (const RowPoint& point : block->points) {
          EXPECT_EQ(users[point.id.low()]++, 0);
          EXPECT_LE(last_row[point.id.low()].exchange(point.row), point.row);
        }
        std::this_thread::yield();
        for (const RowPoint& point : block->points) --users[point.id.low()];
        queue.done(*std::move(block));
      }
    });
  }
  for (std::uint64_t row = 0; row < 3000; row += 2) {
    const std::uint64_t id = random() % 20;
    ASSERT_TRUE(queue.push(block_of(row, {id, (id + 1 + random() % 19) % 20})));
  }
  queue.finish();
  for (std::thread& thread : threads) thread.join();
}

TEST(BlockQueueTest, StopDropsWhatWaits) {
  BlockQueue queue(2, Ids::kDistinct);
  EXPECT_TRUE(queue.push(block_of(0, {1})));
  queue.stop();
  EXPECT_FALSE(queue.push(block_of(1, {2})));
  EXPECT_FALSE(queue.pop());
}

TEST(BadRowsTest, StopOrSkip) {
  BadRows stopping(OnBadRow::kStop);
  EXPECT_EQ(stopping.add(3, "x").error().message(), "x");
  BadRows skipping(OnBadRow::kSkip);
  EXPECT_TRUE(skipping.add(9, "nine"));
  EXPECT_TRUE(skipping.add(3, "three"));
  EXPECT_EQ(skipping.count(), 2U);
  EXPECT_EQ(skipping.count_before(9), 1U);
  EXPECT_EQ(skipping.before(10).front().text, "three");
  for (std::uint64_t row = 10; row < 10 + 2 * BadRows::kMaxKept; ++row) {
    ASSERT_TRUE(skipping.add(row, "t"));
  }
  EXPECT_EQ(skipping.count(), 2 + 2 * BadRows::kMaxKept);
  EXPECT_EQ(skipping.before(UINT64_MAX).size(), BadRows::kMaxKept);
}

VectorColumn dense_column() {
  VectorColumn column;
  column.name = "d";
  column.dim = 2;
  column.batch.n_rows = 3;
  column.batch.values = {1, 2, 3, 4, 5, 6};
  column.present = {1, 1, 0};
  return column;
}

VectorColumn sparse_column() {
  VectorColumn column;
  column.name = "s";
  column.kind = FieldKind::kSparse;
  column.batch.n_rows = 3;
  column.batch.offsets = {0, 1, 1, 3};
  column.batch.indices = {7, 1, 9};
  column.batch.values = {0.5, 1, 2};
  column.present = {1, 0, 1};
  return column;
}

TEST(BodyTest, Upsert) {
  RowBlock block = block_of(10, {1, 2, 3});
  block.columns = {dense_column(), sparse_column()};
  block.points[1].payload = R"({"a":1})";
  block.points.front().vectors = {{"", engine::MultiVector{2, 1, {8, 9}}}};
  std::string body = "what was there";
  write_upsert(block, block.points, body);
  EXPECT_EQ(body,
            R"({"points":[{"id":1,"vector":{"d":[1.0,2.0],"s":{"indices":[7],"values":[0.5]},)"
            R"("":[[8.0],[9.0]]}},{"id":2,"vector":{"d":[3.0,4.0]},"payload":{"a":1}},)"
            R"({"id":3,"vector":{"s":{"indices":[1,9],"values":[1.0,2.0]}}}]})");
}

/// A body of f16, u8 or f32 tokens: what `type` has, in front of the JSON.
VectorColumn multi_column(std::string name, DType type) {
  VectorColumn column;
  column.name = std::move(name);
  column.kind = FieldKind::kMulti;
  column.dim = 2;
  column.type = type;
  column.batch.n_rows = 3;
  column.batch.offsets = {0, 1, 1, 3};
  column.batch.values = {1, 2, 3, 4, 5, 255};
  column.present = {1, 0, 1};
  return column;
}

FieldSchema multi_field(const VectorColumn& column) {
  return {column.name, FieldKind::kMulti, column.dim, DType::kF32, Metric::kDot, {}};
}

TEST(BodyTest, TokensGoBeforeTheJson) {
  RowBlock block = block_of(10, {1, 2, 3});
  EXPECT_THAT(token_fields(block), IsEmpty());
  for (const DType type : {DType::kF32, DType::kF16, DType::kU8}) {
    block.columns = {multi_column("m", type), dense_column(), multi_column("n", DType::kF32)};
    EXPECT_THAT(token_fields(block), ElementsAre("m", "n"));
    const std::vector<FieldSchema> fields = {multi_field(block.columns[0]),
                                             multi_field(block.columns[2])};
    std::string body = "what was there";
    write_upsert(block, std::span(block.points).subspan(1), body);
    ASSERT_TRUE(service::has_ragged_points(body));
    const auto upsert = service::decode_ragged_points(body, fields);
    ASSERT_TRUE(upsert) << upsert.error().text;
    ASSERT_EQ(upsert->points.size(), 2U);
    EXPECT_EQ(upsert->points[0].id, PointId::number(2));
    const auto named = [](const std::string& name, const engine::VectorValue& value) {
      return AllOf(Field(&engine::NamedVector::name, name),
                   Field(&engine::NamedVector::value, value));
    };
    EXPECT_THAT(upsert->points[0].vectors, ElementsAre(named("d", engine::DenseVector{3, 4})));
    const engine::MultiVector tokens{2, 2, {3, 4, 5, 255}};
    EXPECT_THAT(upsert->points[1].vectors, ElementsAre(named("m", tokens), named("n", tokens)));
  }
}

/// The server says what is wrong with it, as with any other vector.
TEST(BodyTest, AVectorThatIsThereWithoutTokensStays) {
  RowBlock block = block_of(10, {1, 2, 3});
  block.columns = {multi_column("m", DType::kF32)};
  block.columns[0].present = {1, 1, 1};
  std::string body;
  write_upsert(block, block.points, body);
  EXPECT_THAT(body, HasSubstr(R"({"id":2,"vector":{"m":[]}})"));
}

TEST(BulkRowsTest, ColumnsFollowThePointsThatAreLeft) {
  RowBlock block = block_of(10, {1, 2, 3});
  block.columns = {dense_column(), sparse_column()};
  block.points.erase(block.points.begin());
  block.points[0].vectors = {{"m", engine::MultiVector{2, 1, {8, 9}}}};
  const std::vector<FieldSchema> fields = {{.name = "d", .dim = 2},
                                           {.name = "s", .kind = FieldKind::kSparse},
                                           {.name = "m", .kind = FieldKind::kMulti, .dim = 1}};
  for (int repeat = 0; repeat < 2; ++repeat) {
    align_columns(block, fields);
    ASSERT_EQ(block.columns.size(), 3U);
    EXPECT_THAT(block.columns[0].batch.values, ElementsAre(3, 4, 0, 0));
    EXPECT_THAT(block.columns[0].present, ElementsAre(1, 0));
    EXPECT_THAT(block.columns[1].batch.offsets, ElementsAre(0, 0, 2));
    EXPECT_THAT(block.columns[1].batch.indices, ElementsAre(1, 9));
    EXPECT_THAT(block.columns[2].batch.offsets, ElementsAre(0, 2, 2));
    EXPECT_THAT(block.columns[2].present, ElementsAre(1, 0));
  }
}

TEST(BulkRowsTest, NoPointIsLeft) {
  RowBlock block = block_of(10, {1, 2, 3});
  block.columns = {dense_column(), sparse_column()};
  block.points.clear();
  align_columns(block, {{.name = "d", .dim = 2}, {.name = "s", .kind = FieldKind::kSparse}});
  EXPECT_THAT(block.columns[0].batch.values, IsEmpty());
  EXPECT_THAT(block.columns[1].batch.offsets, ElementsAre(0));
}

TEST(BulkRowsTest, UnfitPointsAreNamed) {
  RowBlock block = block_of(0, {1, 2, 3});
  block.points[1].vectors = {{"d", engine::DenseVector{1, 2, 3}}};
  block.points[2].vectors = {{"x", engine::DenseVector{1, 2}}};
  const std::vector<FieldSchema> fields = {{.name = "d", .dim = 2}};
  const auto describe = [](std::uint64_t row) { return "row " + std::to_string(row); };
  RowBlock stopped = block;
  BadRows stopping(OnBadRow::kStop);
  const auto outcome = remove_unfit(stopped, fields, stopping, describe);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr("row 1: "));
  EXPECT_EQ(stopped.end_row, 1U);
  EXPECT_EQ(stopped.points.size(), 1U);
  BadRows skipping(OnBadRow::kSkip);
  EXPECT_TRUE(remove_unfit(block, fields, skipping, describe));
  EXPECT_EQ(skipping.count(), 2U);
  EXPECT_EQ(block.end_row, 3U);
}

TEST(ProgressTest, Texts) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(duration_text(42.4), "42 s");
  EXPECT_EQ(duration_text(185), "3 min 05 s");
  EXPECT_EQ(duration_text(7620), "2 h 07 min");
  EXPECT_EQ(progress_line({5200, 10000, 1200}),
            " 52.0 %  5,200 of 10,000 rows  1,200 rows/s  4 s left");
  EXPECT_EQ(progress_line({5200, std::nullopt, 1200}), "5,200 rows  1,200 rows/s");
  EXPECT_THAT(progress_bar({5, 10, 0}), HasSubstr("[============            ]"));
}

TEST(ExportManifestTest, RoundTrip) {
  ExportManifest manifest;
  manifest.n_points = 3;
  manifest.ids = "ids.npy";
  manifest.payload = "payload.jsonl";
  manifest.vectors = {*parse_source("sparse:a b=vectors.a b")};
  manifest.vectors.front().present = "present.npy";
  manifest.create = R"({"vectors":{}})";
  manifest.indexes = {R"({"field_name":"x"})"};
  const auto read = parse_manifest(to_json(manifest));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->vectors.front().describe(), manifest.vectors.front().describe());
  EXPECT_EQ(read->vectors.front().present, "present.npy");
  EXPECT_EQ(read->create, manifest.create);
  EXPECT_EQ(read->indexes, manifest.indexes);
  for (const char* wrong : {"", "{}", "[]", R"({"quiver_export":2})", R"({"quiver_export":1})"}) {
    EXPECT_FALSE(parse_manifest(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace quiver::app
