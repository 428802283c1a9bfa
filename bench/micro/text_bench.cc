// Tokens of texts: speed of each step of an analyzer (docs/text.md) in MB of raw text per second.
// One thread; times are those of the thread. Each text is analyzed once per pass; the best of
// several passes counts, with one analyzer for all, so its cache of stems is warm but for the
// first. Then the indexing of documents {"text": …} with `scoring`: reading the JSON, adding rows
// to a growing column, and writing it as a sealed one, into memory.
//
//   text_bench FILE [passes]      one text per line; 5 passes
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/file.h"
#include "bench/micro/yardstick.h"
#include "payload/column/column.h"
#include "payload/json/document.h"
#include "payload/text/analyzer.h"

namespace quiver {
namespace {

using payload::FieldIndex;

using payload::TextOptions;
using payload::Tokenizer;

struct Setting {
  std::string_view name;
  TextOptions options;
};

std::vector<Setting> settings() {
  TextOptions plain;
  TextOptions folding = plain;
  folding.ascii_folding = true;
  TextOptions stopped = plain;
  stopped.stopwords.languages = {payload::StopwordLanguage::kEnglish};
  TextOptions stemmed = stopped;
  stemmed.stemmer = payload::StemmerLanguage::kEnglish;
  std::vector<Setting> all = {{"word, lower case", plain},
                              {"word, lower case, folding", folding},
                              {"word, lower case, stop words", stopped},
                              {"word, lower case, stop words, stemmer", stemmed}};
  for (const auto tokenizer :
       {Tokenizer::kWhitespace, Tokenizer::kPrefix, Tokenizer::kMultilingual, Tokenizer::kCode}) {
    all.push_back({payload::kTokenizerNames[static_cast<std::size_t>(tokenizer)], plain});
    all.back().options.tokenizer = tokenizer;
  }
  return all;
}

std::vector<std::string> read_lines(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  return lines;
}

/// Seconds of one pass.
struct IndexingTimes {
  double parsing = 0, adding = 0, sealing = 0;
  [[nodiscard]] double total() const { return parsing + adding + sealing; }
};

std::vector<std::string> documents_of(const std::vector<std::string>& texts) {
  std::vector<std::string> documents;
  for (const auto& text : texts) {
    payload::Object object{{"text", payload::Value(text)}};
    documents.push_back(payload::to_json(payload::Value(std::move(object))));
  }
  return documents;
}

IndexingTimes index_once(const std::vector<std::string>& documents, const TextOptions& options) {
  constexpr std::size_t kRowsPerSegment = 100'000;
  FieldIndex index;
  index.key = "text";
  index.kind = payload::IndexKind::kText;
  index.text = options;
  index.scoring = true;
  IndexingTimes times;
  for (std::size_t first = 0; first < documents.size(); first += kRowsPerSegment) {
    auto column = *payload::MutableColumn::create(index);
    const std::size_t end = std::min(documents.size(), first + kRowsPerSegment);
    std::vector<payload::Value> values;
    times.parsing += thread_seconds([&] {
      for (std::size_t i = first; i < end; ++i)
        values.push_back(*payload::parse_json(documents[i]));
    });
    times.adding += thread_seconds([&] {
      for (const auto& value : values) column->add_row(value);
    });
    times.sealing += thread_seconds([&] {
      const auto directory = make_memory_directory();
      if (!payload::write_column(column->view(), *directory, "column")) std::abort();
    });
  }
  return times;
}

void print_indexing(const std::vector<std::string>& texts, double mb, int n_passes) {
  fmt::print("\n| indexing, MB/s | JSON | rows | sealing | all |\n|---|---|---|---|---|\n");
  const auto documents = documents_of(texts);
  for (const auto& [name, options] : settings()) {
    if (options.tokenizer != Tokenizer::kWord) continue;
    IndexingTimes best = index_once(documents, options);
    for (int pass = 1; pass < n_passes; ++pass) {
      const auto times = index_once(documents, options);
      if (times.total() < best.total()) best = times;
    }
    fmt::print("| {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} |\n", name, mb / best.parsing,
               mb / best.adding, mb / best.sealing, mb / best.total());
  }
}

int run(const char* path, int n_passes) {
  const auto texts = read_lines(path);
  std::size_t n_bytes = 0;
  for (const auto& text : texts) n_bytes += text.size();
  if (n_bytes == 0) {
    fmt::print(stderr, "text_bench: no text in {}\n", path);
    return 1;
  }
  fmt::print(
      "{} texts, {:.1f} MB\n\n| setting | first pass, MB/s | best pass, MB/s | tokens |\n"
      "|---|---|---|---|\n",
      texts.size(), static_cast<double>(n_bytes) * 1e-6);
  for (const auto& [name, options] : settings()) {
    payload::Analyzer analyzer(options);
    std::vector<double> seconds;
    std::size_t n_tokens = 0;
    std::size_t sum = 0;
    for (int pass = 0; pass < n_passes; ++pass) {
      n_tokens = 0;
      seconds.push_back(thread_seconds([&] {
        for (const auto& text : texts) {
          analyzer.for_each_token(text, payload::TokenUse::kDocument, [&](std::string_view token) {
            ++n_tokens;
            sum += token.size();
          });
        }
      }));
    }
    g_sink = static_cast<float>(sum);
    const auto speed = [&](double s) { return static_cast<double>(n_bytes) * 1e-6 / s; };
    fmt::print("| {} | {:.0f} | {:.0f} | {} |\n", name, speed(seconds.front()),
               speed(*std::ranges::min_element(seconds)), n_tokens);
  }
  print_indexing(texts, static_cast<double>(n_bytes) * 1e-6, n_passes);
  return 0;
}

}  // namespace
}  // namespace quiver

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: text_bench FILE [passes]\n");
    return 2;
  }
  return quiver::run(argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : 5);
}
