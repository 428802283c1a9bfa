#include "dataset/streams/lines.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/dataset/support.h"

namespace quiver::dataset {
namespace {

using Lines = std::vector<std::string>;

class LinesTest : public testing::Test {
 protected:
  static Result<Lines> read_rest(LineReader& reader) {
    Lines lines;
    for (;;) {
      const std::uint64_t before = reader.line();
      QV_TRY(const auto line, reader.next());
      EXPECT_EQ(reader.line(), before + (line ? 1 : 0));
      if (!line) return lines;
      lines.emplace_back(*line);
    }
  }
  Result<Lines> read(const std::string& name, const std::string& bytes) {
    QV_TRY(auto reader, LineReader::open(directory_.write(name, bytes)));
    return read_rest(reader);
  }
  /// Checks the plain and the compressed file.
  void expect_lines(const std::string& bytes, const Lines& wanted) {
    const auto plain = read("a.jsonl", bytes);
    ASSERT_TRUE(plain) << error_of(plain);
    EXPECT_EQ(*plain, wanted);
    const auto packed = read("a.jsonl.zst", compressed(bytes));
    ASSERT_TRUE(packed) << error_of(packed);
    EXPECT_EQ(*packed, wanted);
  }

  TemporaryDirectory directory_;
};

TEST_F(LinesTest, EndsOfLines) {
  expect_lines("", {});
  expect_lines("a", {"a"});
  expect_lines("a\n", {"a"});
  expect_lines("a\nb", {"a", "b"});
  expect_lines("a\r\nb\r\n", {"a", "b"});
  expect_lines("\n\na\n\n", {"", "", "a", ""});
  expect_lines("\xEF\xBB\xBF{}\n\xEF\xBB\xBF", {"{}", "\xEF\xBB\xBF"});
  expect_lines("\xEF\xBB\xBF", {});
  expect_lines(std::string("a\0b\n", 4), {std::string("a\0b", 3)});
}

TEST_F(LinesTest, RandomLinesAndSkips) {
  constexpr unsigned kSeed = 2;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937 random(kSeed);
  Lines lines;
  std::string bytes;
  for (int i = 0; i < 200; ++i) {  // some longer than what is read at once
    const std::size_t size = random() % (i % 50 == 0 ? 1000000 : 100);
    lines.emplace_back(size, static_cast<char>('a' + i % 26));
    bytes += lines.back() + "\n";
  }
  expect_lines(bytes, lines);
  for (int round = 0; round < 20; ++round) {
    auto reader = LineReader::open(directory_.path(round % 2 == 0 ? "a.jsonl" : "a.jsonl.zst"));
    ASSERT_TRUE(reader);
    std::size_t at = 0;
    while (at < lines.size()) {
      at += random() % (lines.size() - at);
      ASSERT_TRUE(reader->skip_to(at));
      ASSERT_EQ(reader->line(), at);
      const auto line = reader->next();
      ASSERT_TRUE(line && *line);
      ASSERT_EQ(**line, lines[at]);
      ++at;
    }
  }
}

TEST_F(LinesTest, KnowsWhereItIs) {
  auto reader = LineReader::open(directory_.write("a.jsonl",
                                                  "\xEF\xBB\xBF"
                                                  "a\r\n\nbc"));
  ASSERT_TRUE(reader);
  for (const std::uint64_t byte : {3, 6, 7, 9}) {
    EXPECT_EQ(reader->byte(), byte);
    ASSERT_TRUE(reader->next());
  }
}

TEST_F(LinesTest, BeyondTheEnd) {
  auto reader = LineReader::open(directory_.write("a.jsonl", "a\nb\n"));
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->skip_to(2));
  const auto beyond = reader->skip_to(3);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(error_of(beyond),
            "out_of_range: " + directory_.path("a.jsonl") + ": found 2 lines, wanted line 3");
}

TEST_F(LinesTest, LinesWithoutEnd) {
  const std::string path = directory_.write("a.jsonl", "ab\n" + std::string(1000000, 'x'));
  auto reader = LineReader::open(path, 1000);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->next());
  const auto line = reader->next();
  ASSERT_FALSE(line);
  EXPECT_EQ(error_of(line), "invalid_argument: " + path +
                                ": byte 3: line 2 is longer than 1000 bytes, wanted JSON lines");
}

TEST_F(LinesTest, ThePlainNameOfACompressedFile) {
  directory_.write("a.jsonl.zst", compressed("{}\n{}\n"));
  auto reader = LineReader::open(directory_.path("a.jsonl"));
  ASSERT_TRUE(reader) << error_of(reader);
  EXPECT_EQ(read_rest(*reader), Lines({"{}", "{}"}));
  EXPECT_EQ(reader->path(), directory_.path("a.jsonl.zst"));
  // The given name is tried first, and is the one in messages if no file exists.
  EXPECT_EQ(read("a.jsonl", "[]"), Lines({"[]"}));
  EXPECT_EQ(
      error_of(LineReader::open(directory_.path("b.jsonl"))),
      "not_found: cannot open `" + directory_.path("b.jsonl") + "`: No such file or directory");
}

TEST_F(LinesTest, GuessesTheLengthOfLines) {
  const auto guess = [&](const std::string& bytes) {
    return LineReader::open(directory_.write("a.jsonl", bytes))->guessed_line_bytes();
  };
  EXPECT_EQ(guess(""), 0);
  EXPECT_EQ(guess("abc"), 3);
  EXPECT_EQ(guess("abc\nd\n"), 3);
  EXPECT_GE(guess(std::string(10'000'000, 'x')), 100'000);
}

TEST_F(LinesTest, FilesThatAreNone) {
  EXPECT_EQ(LineReader::open(directory_.path("none")).error().code(), Code::kNotFound);
  const std::string packed = compressed("{}\n{}\n");
  for (std::size_t n = 0; n < packed.size(); ++n) {
    const auto lines = read("a.jsonl.zst", packed.substr(0, n));
    ASSERT_FALSE(lines) << n;
    EXPECT_NE(error_of(lines).find("a.jsonl.zst: byte "), std::string::npos) << error_of(lines);
  }
  EXPECT_FALSE(read("a.jsonl.zst", "{}\n"));
}

}  // namespace
}  // namespace quiver::dataset
