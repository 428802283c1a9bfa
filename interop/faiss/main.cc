// quiver-faiss: indexes of FAISS in and out. `quiver import --faiss` and `quiver export --faiss`
// call it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "app/common/version.h"
#include "interop/faiss/convert.h"
#include "interop/faiss/index_file.h"

namespace {

using quiver::Result;

int report(const Result<std::string>& done) {
  if (done) {
    std::printf("%s\n", done->c_str());
    return 0;
  }
  std::fprintf(stderr, "quiver-faiss: %s\n", done.error().message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Indexes of FAISS as exports of Quiver, and exports as indexes of FAISS.",
               "quiver-faiss");
  app.require_subcommand(1);
  app.set_version_flag("--version", quiver::app::version_line());
  quiver::interop::ReadOptions read;
  auto* reading = app.add_subcommand("read", "Write the vectors of an index to an export folder.");
  reading->add_option("index", read.index, "File of FAISS")->required();
  reading->add_option("--out", read.out, "New folder, for `quiver import --from-export`")
      ->required();
  reading->add_option("--name", read.name, "Name of the vectors; default: none");
  quiver::interop::WriteOptions write;
  auto* writing = app.add_subcommand("write", "Build an index over the vectors of an export.");
  writing->add_option("export", write.from, "Folder that `quiver export` wrote")->required();
  writing->add_option("--out", write.out, "New file")->required();
  writing->add_option("--factory", write.factory, "FAISS's description, as \"IVF1024,Flat\"")
      ->capture_default_str();
  writing->add_option("--name", write.name, "Name of the vectors; default: the unnamed ones");
  writing->add_option("--train", write.n_train, "Rows to train on; 0: up to 256 for each list");
  writing->add_flag("--row-numbers", write.row_numbers, "Number the rows in place of their ids");
  CLI11_PARSE(app, argc, argv);
  return report(*reading ? quiver::interop::read_index(read) : quiver::interop::write_index(write));
}
