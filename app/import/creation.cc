#include "app/import/creation.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "app/import/schema.h"

namespace quiver::app {
namespace {

/// "{…}" or "@FILE".
Result<std::string> text_or_file(const std::string& text) {
  if (!text.starts_with('@')) return text;
  std::ifstream file(text.substr(1), std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) {
    return fail(Code::kNotFound, fmt::format("cannot read {}", text.substr(1)));
  }
  return std::move(bytes).str();
}

}  // namespace

Result<std::string> body_to_create(const ImportOptions& options, const ImportPlan& plan,
                                   const std::vector<ColumnReader>& columns) {
  if (!options.create) {
    return fail(
        Code::kNotFound,
        fmt::format("there is no collection `{}` at {}: create it, or give --create",
                    options.collection, options.data_dir.empty() ? options.url : options.data_dir));
  }
  if (!options.create->empty()) return text_or_file(*options.create);
  if (!plan.create_body.empty()) return plan.create_body;
  return creation_body(options, columns);
}

}  // namespace quiver::app
