#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "app/export/point_source.h"
#include "base/observe/log.h"
#include "engine/database.h"
#include "service/json/encode/encode.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

class DirectoryPoints final : public PointSource {
 public:
  explicit DirectoryPoints(std::unique_ptr<engine::Database> database)
      : database_(std::move(database)) {}

  Result<> open(const std::string& name) {
    QV_TRY(collection_, database_->collection(name));
    std::string info;
    service::json::Writer json(info);
    service::json::write_collection_info(json, collection_->info());
    QV_TRY(facts_, parse_facts(info));
    return {};
  }

  [[nodiscard]] const CollectionFacts& facts() const override { return facts_; }

  Result<engine::ScrollPage> page(const std::optional<PointId>& first,
                                  std::uint64_t limit) override {
    engine::ScrollRequest request;
    request.offset = first;
    request.limit = limit;
    request.with_vector.all = true;
    return collection_->scroll(request, Cancel());
  }

  Result<> close() override {
    collection_.reset();
    return database_->close();
  }

 private:
  std::unique_ptr<engine::Database> database_;
  std::shared_ptr<engine::Collection> collection_;
  CollectionFacts facts_;
};

}  // namespace

Result<std::unique_ptr<PointSource>> open_directory_points(const ExportOptions& options) {
  if (!std::filesystem::is_directory(options.data_dir)) {
    return fail(Code::kNotFound, fmt::format("there is no data directory {}", options.data_dir));
  }
  set_up_log({.level = LogLevel::kWarning});
  engine::DatabaseOptions database_options;
  database_options.data_dir = options.data_dir;
  QV_TRY(auto database, engine::Database::open(std::move(database_options)));
  auto points = std::make_unique<DirectoryPoints>(std::move(database));
  if (auto opened = points->open(options.collection); !opened) {
    [[maybe_unused]] const auto closed = points->close();
    return fail(opened.error());
  }
  return std::unique_ptr<PointSource>(std::move(points));
}

}  // namespace quiver::app
