#include "gpu/module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

namespace quiver::gpu {
namespace {

constexpr const char* kFileName = "libquiver_gpu_cuda.so";

}  // namespace

Result<Module> Module::of(qv_gpu_function function, const std::string& name) {
  const qv_gpu_api* api = function(QV_GPU_ABI);
  if (api == nullptr || api->abi != QV_GPU_ABI || api->size < sizeof(qv_gpu_api)) {
    const std::string found = api == nullptr ? "another" : fmt::format("{}", api->abi);
    return fail(Code::kFailedPrecondition,
                fmt::format("{} is a module of version {}, this server needs version {}", name,
                            found, QV_GPU_ABI));
  }
  return Module(api);
}

Result<Module> Module::load(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(Code::kFailedPrecondition, fmt::format("cannot load the module: {}", dlerror()));
  }
  auto* const function = reinterpret_cast<qv_gpu_function>(dlsym(library, QV_GPU_SYMBOL));
  if (function == nullptr) {
    return fail(Code::kFailedPrecondition,
                fmt::format("{} is no module for devices: it has no `{}`", path, QV_GPU_SYMBOL));
  }
  return of(function, path);
}

std::string find_module(const std::string& configured) {
  if (!configured.empty()) return configured;
  std::error_code error;
  const auto binary = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const auto& folder : {binary.parent_path(), std::filesystem::path("/usr/lib/quiver")}) {
    const auto path = folder / kFileName;
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return "";
}

}  // namespace quiver::gpu
