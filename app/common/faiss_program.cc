#include "app/common/faiss_program.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace quiver::app {
namespace {

constexpr const char* kProgram = "quiver-faiss";

std::string program_path() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = self.parent_path() / kProgram;
  return !error && std::filesystem::exists(beside, error) ? beside.string() : kProgram;
}

}  // namespace

Result<> run_faiss_program(const std::vector<std::string>& arguments) {
  const std::string path = program_path();
  std::vector<std::string> texts = {path};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, path.c_str(), nullptr, nullptr, argv.data(), environ);
      error != 0) {
    return fail(Code::kUnavailable,
                fmt::format("cannot run {}: {}. It is built where libfaiss-dev is installed", path,
                            std::strerror(error)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const std::string how =
      WIFSIGNALED(status)
          ? fmt::format("ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
          : "failed, see above";
  return fail(Code::kInternal, fmt::format("{}: {}", path, how));
}

}  // namespace quiver::app
