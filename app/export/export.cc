#include "app/export/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "app/common/faiss_program.h"
#include "app/common/signals.h"
#include "app/export/point_sink.h"
#include "app/export/point_source.h"
#include "app/import/run/progress.h"
#include "base/clock.h"
#include "base/schema_names.h"

namespace quiver::app {
namespace {

/// UUIDs order after all numbers, so one point from there on answers it.
Result<IdKinds> id_kinds(PointSource& source) {
  QV_TRY(const auto page, source.page(PointId::uuid(0, 0), 1));
  return page.points.empty() ? IdKinds::kNumbers : IdKinds::kAny;
}

Result<std::unique_ptr<PointSink>> create_sink(const ExportOptions& options, PointSource& source) {
  const auto if_exists = options.force ? dataset::IfExists::kReplace : dataset::IfExists::kFail;
  QV_TRY(const ExportFormat format, export_format(options.out));
  if (format == ExportFormat::kLines) {
    return create_lines(options.out, source.facts(), if_exists);
  }
  QV_TRY(const IdKinds ids, id_kinds(source));
  return create_arrays(options.out, source.facts(), ids, if_exists);
}

/// Returns the number of points written.
Result<std::uint64_t> copy_points(const ExportOptions& options, PointSource& source,
                                  PointSink& sink) {
  ProgressDisplay display(0, source.facts().n_points,
                          options.quiet ? Verbosity::kQuiet : Verbosity::kNormal);
  const std::uint64_t limit = page_size(options, source.facts());
  std::optional<PointId> first;
  std::uint64_t n_points = 0;
  do {
    QV_TRY(const auto page, source.page(first, limit));
    QV_TRY(sink.write(page.points));
    n_points += page.points.size();
    display.show(n_points);
    first = page.next;
    if (stop_signal() != 0) return fail(Code::kCancelled, "interrupted: nothing was exported");
  } while (first);
  display.clear();
  QV_TRY(sink.finish());
  return n_points;
}

/// With --faiss: what quiver-faiss would refuse when all points are already written.
Result<> check_for_faiss(const ExportOptions& options, PointSource& source) {
  std::string names;
  bool is_there = false;
  for (const FieldSchema& field : source.facts().fields) {
    names +=
        fmt::format("{}\"{}\" ({})", names.empty() ? "" : ", ", field.name, kind_name(field.kind));
    is_there |= field.name == options.vectors && field.kind == FieldKind::kDense;
  }
  if (!is_there) {
    return fail(Code::kInvalidArgument,
                fmt::format("--vectors: there are no dense vectors \"{}\" in `{}`, it has {}",
                            options.vectors, options.collection, names));
  }
  QV_TRY(const IdKinds ids, id_kinds(source));
  if (ids == IdKinds::kNumbers || options.row_numbers) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("`{}` has UUIDs, and FAISS wants numbers: --row-numbers numbers the rows",
                          options.collection));
}

Result<std::uint64_t> export_points(const ExportOptions& options, PointSource& source) {
  if (!options.faiss.empty()) QV_TRY(check_for_faiss(options, source));
  QV_TRY(const auto sink, create_sink(options, source));
  return copy_points(options, source, *sink);
}

}  // namespace

Result<std::unique_ptr<PointSource>> open_points(ExportOptions options) {
  if (!options.data_dir.empty()) return open_directory_points(options);
  if (options.url.empty()) options.url = "http://127.0.0.1:6333";
  return open_server_points(options);
}

std::uint64_t page_size(const ExportOptions& options, const CollectionFacts& facts) {
  constexpr std::uint64_t kGoodPageBytes = 8 << 20;
  constexpr std::uint64_t kBytesPerFloat = 12;
  constexpr std::uint64_t kGuessedTokens = 100;  // per point; also non-zeros of sparse vectors
  if (options.page > 0) return options.page;
  std::uint64_t bytes = 1000;
  for (const FieldSchema& field : facts.fields) {
    const std::uint64_t n = field.kind == FieldKind::kDense   ? field.dim
                            : field.kind == FieldKind::kMulti ? field.dim * kGuessedTokens
                                                              : 2 * kGuessedTokens;
    bytes += n * kBytesPerFloat;
  }
  return std::clamp<std::uint64_t>(kGoodPageBytes / bytes, 1, 10'000);
}

namespace {

Result<int> export_as_asked(const ExportOptions& options) {
  const Stopwatch watch;
  QV_TRY(const auto source, open_points(options));
  const auto exported = export_points(options, *source);
  const auto closed = source->close();
  if (!exported && stop_signal() != 0) {
    std::fprintf(stderr, "%s\n", exported.error().message().c_str());
    return 128 + stop_signal();
  }
  if (!exported) return fail(exported.error());
  QV_TRY(closed);
  const double rate = static_cast<double>(*exported) / watch.seconds();
  std::printf("exported %s points of `%s` to %s in %.1f s, %s points/s\n",
              with_commas(*exported).c_str(), options.collection.c_str(), options.out.c_str(),
              watch.seconds(), with_commas(static_cast<std::uint64_t>(rate)).c_str());
  return 0;
}

/// By way of a folder beside the file.
Result<int> export_to_faiss(const ExportOptions& options) {
  if (std::filesystem::exists(options.out) && !options.force) {
    return fail(Code::kAlreadyExists,
                fmt::format("{} exists: give --force to replace it", options.out));
  }
  ExportOptions folder = options;
  folder.out = options.out + ".export/";
  folder.force = true;
  QV_TRY(const int status, export_as_asked(folder));
  if (status != 0) return status;
  std::error_code error;
  std::filesystem::remove(options.out, error);
  std::vector<std::string> arguments = {"write",     folder.out,    "--out",  options.out,
                                        "--factory", options.faiss, "--name", options.vectors};
  if (options.row_numbers) arguments.emplace_back("--row-numbers");
  const auto written = run_faiss_program(arguments);
  std::filesystem::remove_all(folder.out, error);
  QV_TRY(written);
  return 0;
}

}  // namespace

Result<int> run_export(ExportOptions options) {
  QV_TRY(install_stop_signals());
  return options.faiss.empty() ? export_as_asked(options) : export_to_faiss(options);
}

}  // namespace quiver::app
