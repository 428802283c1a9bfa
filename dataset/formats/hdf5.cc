#include "dataset/formats/hdf5.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "base/mutex.h"
#include "dataset/formats/value_type.h"
#include "dataset/streams/byte_source.h"

namespace quiver::dataset {
namespace {

/// Held during calls of the library, which keeps global state and may be built without threads.
class LibraryLock {
 public:
  LibraryLock() : lock_(mutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

 private:
  static Mutex& mutex() {
    static Mutex instance;
    return instance;
  }
  MutexLock lock_;
};

/// An id of the library, released by `Close`.
template <herr_t (*Close)(hid_t)>
class Handle {
 public:
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() { close(); }
  void close() {
    if (id_ >= 0) Close(std::exchange(id_, H5I_INVALID_HID));
  }
  [[nodiscard]] explicit operator bool() const { return id_ >= 0; }
  [[nodiscard]] hid_t get() const { return id_; }

 private:
  hid_t id_;
};
using FileHandle = Handle<H5Fclose>;
using DatasetHandle = Handle<H5Dclose>;
using SpaceHandle = Handle<H5Sclose>;
using TypeHandle = Handle<H5Tclose>;
using ObjectHandle = Handle<H5Oclose>;
using PropertiesHandle = Handle<H5Pclose>;

/// Text of the innermost of the library's last errors.
std::string last_error() {
  std::string text = "unknown error";
  const auto keep_first = [](unsigned n, const H5E_error2_t* error, void* data) {
    if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(data) = error->desc;
    return herr_t{0};
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  return text;
}

/// A temporary file, removed with this object.
class TemporaryFile {
 public:
  TemporaryFile(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  [[nodiscard]] static Result<std::unique_ptr<TemporaryFile>> create() {
    std::error_code error;
    std::string path = std::filesystem::temp_directory_path(error) / "quiver-XXXXXX";
    const int descriptor = ::mkstemp(path.data());
    if (descriptor < 0) return fail(file_error(errno, "create a temporary file", path));
    return std::make_unique<TemporaryFile>(path, descriptor);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  Result<> append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail(file_error(errno, "write", path_));
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return {};
  }

 private:
  std::string path_;
  int descriptor_;
};

Result<std::unique_ptr<TemporaryFile>> unpack(ByteSource& source) {
  QV_TRY(auto file, TemporaryFile::create());
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (std::size_t n = buffer.size(); n == buffer.size();) {
    QV_TRY(n, source.read(buffer));
    QV_TRY(file->append(std::span(buffer).first(n)));
  }
  return file;
}

/// Error text for HDF5 files that cannot be read. Files of newer libraries are such: HDF5 2.0
/// writes chunked data sets of a version that 1.10 refuses.
std::string unreadable(std::string_view name, const std::string& why) {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format(
      "{}: cannot be read by the HDF5 library {}.{}.{} ({}): it is damaged, or in a newer format "
      "(of HDF5 2.0, say); wanted one that HDF5 1.10 reads, as h5py writes with libver='v110'",
      name, major, minor, release, why);
}

/// Opens `real_path`; `path` is for messages.
Result<FileHandle> open_file(const std::string& path, const std::string& real_path) {
  const PropertiesHandle properties(H5Pcreate(H5P_FILE_ACCESS));
  // Locks would keep files on read-only and network file systems from being read.
  H5Pset_file_locking(properties.get(), 0, 1);
  FileHandle file(H5Fopen(real_path.c_str(), H5F_ACC_RDONLY, properties.get()));
  if (file) return file;
  const std::string why = last_error();
  const bool is_of_another_version = why.find("version") != std::string::npos;
  if (is_of_another_version && H5Fis_hdf5(real_path.c_str()) > 0) {
    return fail(Code::kInvalidArgument, unreadable(path, why));
  }
  return fail(Code::kInvalidArgument,
              fmt::format("{}: byte 0: wanted an HDF5 file, found: {}", path, why));
}

std::vector<std::string> datasets_of(const FileHandle& file) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5L_info_t*, void* data) {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    return herr_t{0};
  };
  H5Literate(file.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names);
  return names;
}

/// True if something of this name exists that is not known to be a group.
bool holds_no_group(const FileHandle& file, const std::string& name) {
  if (H5Lexists(file.get(), name.c_str(), H5P_DEFAULT) <= 0) return false;
  const ObjectHandle object(H5Oopen(file.get(), name.c_str(), H5P_DEFAULT));
  return H5Iget_type(object.get()) != H5I_GROUP;
}

Result<DatasetHandle> open_dataset(const FileHandle& file, const std::string& path,
                                   const std::string& name) {
  DatasetHandle dataset(name.empty() ? H5I_INVALID_HID
                                     : H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT));
  if (dataset) return dataset;
  const std::string why = last_error();
  if (!name.empty() && holds_no_group(file, name)) {
    return fail(Code::kInvalidArgument, unreadable(path + ":" + name, why));
  }
  return fail(name.empty() ? Code::kInvalidArgument : Code::kNotFound,
              fmt::format("{}: found no data set `{}`, wanted FILE:DATASET with one of: {}", path,
                          name, fmt::join(datasets_of(file), ", ")));
}

std::string shape_of(const SpaceHandle& space) {
  std::array<hsize_t, H5S_MAX_RANK> sizes;
  const int rank = H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr);
  return fmt::format(
      "[{}]", fmt::join(std::span(sizes).first(static_cast<std::size_t>(std::max(rank, 0))), ", "));
}

/// Returns nullopt if no `ValueType` has the same width.
std::optional<ValueType> value_type_of(const TypeHandle& type) {
  const H5T_class_t kind = H5Tget_class(type.get());
  const std::size_t n_bytes = H5Tget_size(type.get());
  const bool is_signed = kind == H5T_INTEGER && H5Tget_sign(type.get()) == H5T_SGN_2;
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) return std::nullopt;
  for (int i = 0; i <= static_cast<int>(ValueType::kU64); ++i) {
    const auto candidate = static_cast<ValueType>(i);
    if (is_integer(candidate) != (kind == H5T_INTEGER)) continue;
    const bool signs_agree =
        kind == H5T_FLOAT || to_string(candidate).starts_with(is_signed ? 'i' : 'u');
    if (signs_agree && bytes_per_value(candidate) == n_bytes) return candidate;
  }
  return std::nullopt;
}

hid_t memory_type_of(const float*) { return H5T_NATIVE_FLOAT; }
hid_t memory_type_of(const std::int64_t*) { return H5T_NATIVE_INT64; }

}  // namespace

struct Hdf5Matrix::Handles {
  std::string name;
  ValueType type;
  std::array<hsize_t, 2> sizes;
  std::unique_ptr<TemporaryFile> unpacked;
  FileHandle file;
  DatasetHandle dataset;

  ~Handles() {
    const LibraryLock lock;
    dataset.close();
    file.close();
  }

  template <class T>
  Result<> read(std::uint64_t first, std::uint64_t n, T* out) const {
    if (n == 0) return {};
    const LibraryLock lock;
    const std::array<hsize_t, 2> begin = {first, 0};
    const std::array<hsize_t, 2> count = {n, sizes[1]};
    const SpaceHandle in_file(H5Dget_space(dataset.get()));
    const SpaceHandle in_memory(H5Screate_simple(2, count.data(), nullptr));
    const bool is_read = H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, begin.data(), nullptr,
                                             count.data(), nullptr) >= 0 &&
                         H5Dread(dataset.get(), memory_type_of(out), in_memory.get(), in_file.get(),
                                 H5P_DEFAULT, out) >= 0;
    if (is_read) return {};
    return fail(Code::kDataLoss, fmt::format("{}: rows {} to {} cannot be read: {}", name, first,
                                             first + n - 1, last_error()));
  }
};

Result<Hdf5Matrix> Hdf5Matrix::open(const std::string& path, const std::string& dataset) {
  QV_TRY(const auto source, open_bytes(path));
  std::unique_ptr<TemporaryFile> unpacked;
  if (unpacked_name(source->path()) != source->path()) {
    QV_TRY(unpacked, unpack(*source));
  }
  const LibraryLock lock;
  QV_TRY(FileHandle file, open_file(path, unpacked ? unpacked->path() : source->path()));
  QV_TRY(DatasetHandle found, open_dataset(file, path, dataset));
  const std::string name = path + ":" + dataset;
  const SpaceHandle space(H5Dget_space(found.get()));
  const auto type = value_type_of(TypeHandle(H5Dget_type(found.get())));
  std::array<hsize_t, 2> sizes = {0, 0};
  if (!type || H5Sget_simple_extent_ndims(space.get()) != 2 ||
      H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr) != 2) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: found {} of shape {}, wanted numbers of shape [rows, columns]",
                            name, type ? to_string(*type) : "other things", shape_of(space)));
  }
  return Hdf5Matrix(std::shared_ptr<const Handles>(
      new Handles{name, *type, sizes, std::move(unpacked), std::move(file), std::move(found)}));
}

const std::string& Hdf5Matrix::name() const { return handles_->name; }
ValueType Hdf5Matrix::type() const { return handles_->type; }
std::uint64_t Hdf5Matrix::n_rows() const { return handles_->sizes[0]; }
std::uint64_t Hdf5Matrix::n_columns() const { return handles_->sizes[1]; }

Result<> Hdf5Matrix::read(std::uint64_t first, std::uint64_t n, float* out) const {
  return handles_->read(first, n, out);
}
Result<> Hdf5Matrix::read(std::uint64_t first, std::uint64_t n, std::int64_t* out) const {
  return handles_->read(first, n, out);
}

}  // namespace quiver::dataset
