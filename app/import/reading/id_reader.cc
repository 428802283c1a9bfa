#include "app/import/reading/id_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/import/reading/payload_line.h"
#include "dataset/streams/byte_source.h"
#include "payload/json/document.h"

namespace quiver::app {
namespace {

Result<PointId> parse_line(std::string_view line) {
  QV_TRY(const auto value, payload::parse_json(line));
  return to_point_id(value);
}

}  // namespace

bool is_npy(const std::string& path) { return dataset::unpacked_name(path).ends_with(".npy"); }

Result<IdReader> IdReader::open(const std::string& path) {
  IdReader reader(path);
  if (!is_npy(path)) {
    QV_TRY(auto lines, dataset::LineReader::open(path));
    reader.lines_ = std::make_unique<dataset::LineReader>(std::move(lines));
    return reader;
  }
  QV_TRY(auto array, dataset::open_npy(path));
  if (array.shape.size() != 1 || !dataset::is_integer(array.values.type())) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{} holds {} of shape {}, wanted a list of integers", path,
                    dataset::to_string(array.values.type()), dataset::shape_text(array.shape)));
  }
  reader.numbers_ = std::make_unique<dataset::ArrayStream>(std::move(array.values));
  return reader;
}

Result<> IdReader::read(std::size_t n, std::vector<Result<PointId>>& out) {
  out.clear();
  return numbers_ != nullptr ? read_numbers(n, out) : read_lines(n, out);
}

Result<> IdReader::read_lines(std::size_t n, std::vector<Result<PointId>>& out) {
  while (out.size() < n) {
    QV_TRY(const auto line, lines_->next());
    if (!line) break;
    auto id = parse_line(*line);
    if (id) {
      out.push_back(*id);
    } else {
      out.push_back(fail(id.error().code(), fmt::format("{} line {}: {}", path_, lines_->line(),
                                                        id.error().message())));
    }
  }
  return {};
}

Result<> IdReader::read_numbers(std::size_t n, std::vector<Result<PointId>>& out) {
  const std::uint64_t first = numbers_->position();
  scratch_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(n, numbers_->size() - first)));
  QV_TRY(const std::size_t n_read, numbers_->read(std::span(scratch_)));
  if (n_read < scratch_.size()) {
    return fail(numbers_->broken_off(first + n_read, first + n_read));
  }
  const bool is_unsigned = numbers_->type() == dataset::ValueType::kU64;
  for (std::size_t i = 0; i < n_read; ++i) {
    if (scratch_[i] >= 0 || is_unsigned) {
      out.push_back(PointId::number(static_cast<std::uint64_t>(scratch_[i])));
    } else {
      out.push_back(fail(Code::kInvalidArgument,
                         fmt::format("{} row {}: {} is negative", path_, first + i, scratch_[i])));
    }
  }
  return {};
}

Result<> IdReader::skip_to(std::uint64_t row) {
  return numbers_ != nullptr ? numbers_->skip_to(row) : lines_->skip_to(row);
}

}  // namespace quiver::app
