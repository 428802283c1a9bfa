#include "app/import/run/creation.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "app/import/plan/schema.h"

namespace quiver::app {
namespace {

/// The JSON itself, "{…}", or the contents of "@FILE".
Result<std::string> text_or_file(const std::string& text) {
  if (!text.starts_with('@')) return text;
  std::ifstream file(text.substr(1), std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) {
    return fail(Code::kNotFound, fmt::format("cannot read {}", text.substr(1)));
  }
  return std::move(bytes).str();
}

/// The body of `--create`, else that of the imported export; empty if there is neither.
Result<std::string> given_body(const ImportOptions& options, const ImportPlan& plan) {
  if (!options.create->empty()) return text_or_file(*options.create);
  return plan.create_body;
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
  QV_TRY(std::string body, given_body(options, plan));
  if (body.empty()) return creation_body(options, columns);
  return body;
}

Result<> check_collection(const std::vector<FieldSchema>& fields, const ImportOptions& options,
                          const ImportPlan& plan, const std::vector<ColumnReader>& columns) {
  QV_TRY(check_fields(fields, columns, options.collection));
  QV_TRY(check_flags(fields, columns, options));
  if (!options.create) return {};
  QV_TRY(std::string body, given_body(options, plan));
  if (body.empty()) return {};
  QV_TRY(const auto wanted, parse_fields(std::move(body)));
  return check_same(fields, wanted, options.collection);
}

}  // namespace quiver::app
