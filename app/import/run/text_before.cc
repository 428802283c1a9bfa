#include "app/import/run/text_before.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/import/reading/id_reader.h"
#include "app/import/run/identity.h"
#include "base/hash.h"
#include "base/io/file.h"
#include "dataset/streams/lines.h"

namespace quiver::app {
namespace {

std::vector<std::string> texts_of(const ImportPlan& plan) {
  std::vector<std::string> paths;
  for (const std::string& path : {plan.points, plan.payload, plan.ids}) {
    if (!path.empty() && !is_npy(path)) paths.push_back(path);
  }
  return paths;
}

Result<> add_lines(const std::string& path, std::uint64_t n_lines, Checksum& sum) {
  QV_TRY(auto lines, dataset::LineReader::open(path));
  while (lines.line() < n_lines) {
    QV_TRY(const auto line, lines.next());
    if (!line) return fail(Code::kOutOfRange, fmt::format("{} has {} lines", path, lines.line()));
    sum.update(as_byte_span(*line));
    sum.update(as_byte_span("\n"));
  }
  return {};
}

}  // namespace

Result<std::string> digest_of_texts(const ImportPlan& plan, std::uint64_t n_lines) {
  Checksum sum;
  for (const std::string& path : texts_of(plan)) QV_TRY(add_lines(path, n_lines, sum));
  return fmt::format("{:016x}", sum.digest());
}

bool differ_in_texts_only(const std::vector<std::string>& before,
                          const std::vector<std::string>& now, const ImportPlan& plan) {
  std::vector<std::string> texts;
  for (const std::string& text : texts_of(plan)) {
    for (const std::string& file : files_of(text)) texts.push_back(file_text(file));
  }
  const auto agree = [&](const std::string& a, const std::string& b) {
    const std::string_view file = file_part(a);
    const bool is_same_text = !file.empty() && file == file_part(b) &&
                              std::find(texts.begin(), texts.end(), file) != texts.end();
    return a == b || is_same_text;
  };
  return std::equal(before.begin(), before.end(), now.begin(), now.end(), agree);
}

}  // namespace quiver::app
