#include "app/import/faiss_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/common/faiss_program.h"
#include "app/import/plan/source_spec.h"

namespace quiver::app {
namespace {

/// In the folder: the file that it was made from.
constexpr const char* kOrigin = "faiss.txt";

/// Path, size and time of a file.
Result<std::string> origin_of(const std::string& file) {
  std::error_code error;
  const auto path = std::filesystem::canonical(file, error);
  if (error) return fail(Code::kNotFound, fmt::format("{}: {}", file, error.message()));
  const auto size = std::filesystem::file_size(path, error);
  if (error) return fail(Code::kNotFound, fmt::format("{}: {}", file, error.message()));
  const auto time = std::filesystem::last_write_time(path, error).time_since_epoch().count();
  return fmt::format("{} {} {}", path.string(), size, time);
}

std::string read_origin(const std::string& folder) {
  std::ifstream file(folder + "/" + kOrigin);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Result<FaissSource> FaissSource::open(const std::string& text, const std::string& collection) {
  QV_TRY(const SourceSpec spec, parse_source(text));
  QV_TRY(const std::string origin, origin_of(spec.source));
  FaissSource source(collection + ".faiss-import");
  if (read_origin(source.folder_) == origin) return source;
  std::error_code error;
  const bool is_ours = std::filesystem::exists(source.folder_ + "/" + kOrigin, error);
  if (std::filesystem::exists(source.folder_, error) && !is_ours) {
    return fail(Code::kAlreadyExists,
                fmt::format("{} exists and no import made it", source.folder_));
  }
  std::filesystem::remove_all(source.folder_, error);
  std::filesystem::create_directories(source.folder_, error);
  std::ofstream(source.folder_ + "/" + kOrigin) << "unfinished";
  const auto done =
      run_faiss_program({"read", spec.source, "--out", source.folder_, "--name", spec.name});
  if (!done) {
    source.finish();
    return fail(done.error());
  }
  std::ofstream(source.folder_ + "/" + kOrigin, std::ios::trunc) << origin;
  return source;
}

void FaissSource::finish() const {
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

}  // namespace quiver::app
