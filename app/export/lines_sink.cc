#include <utility>

#include "app/export/point_sink.h"
#include "dataset/writers.h"
#include "service/json/encode/encode.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

class LinesSink final : public PointSink {
 public:
  explicit LinesSink(dataset::LineWriter lines) : lines_(std::move(lines)) {}

  Result<> write(std::span<const engine::Record> points) override {
    for (const engine::Record& point : points) {
      text_.clear();
      service::json::Writer json(text_);
      service::json::write_record(json, point);
      QV_TRY(lines_.write(text_));
    }
    return {};
  }
  Result<> finish() override { return lines_.finish(); }

 private:
  dataset::LineWriter lines_;
  std::string text_;
};

/// "docs.create.json" for "docs.jsonl.zst".
std::string creation_path(const std::string& path) {
  return path.substr(0, path.rfind(".jsonl")) + ".create.json";
}

}  // namespace

Result<> write_text(const std::string& path, const std::string& text, dataset::IfExists if_exists) {
  QV_TRY(const auto file, dataset::create_bytes(path, if_exists));
  QV_TRY(file->append(std::as_bytes(std::span(text))));
  return file->finish();
}

Result<std::unique_ptr<PointSink>> create_lines(const std::string& path,
                                                const CollectionFacts& facts,
                                                dataset::IfExists if_exists) {
  QV_TRY(auto lines, dataset::LineWriter::create(path, if_exists));
  QV_TRY(write_text(creation_path(path), facts.create + "\n", if_exists));
  return std::unique_ptr<PointSink>(std::make_unique<LinesSink>(std::move(lines)));
}

}  // namespace quiver::app
