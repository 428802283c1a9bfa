#include "service/grpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <set>
#include <string>

#include "base/result.h"
#include "service/grpc/methods/services.h"

namespace quiver::service::rpc {
namespace {

namespace protocol = grpc::reflection::v1alpha;
using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;

/// The file after those that it imports.
void add_file(const FileDescriptor& file, std::set<const FileDescriptor*>& added,
              protocol::FileDescriptorResponse& out) {
  if (!added.insert(&file).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) add_file(*file.dependency(i), added, out);
  google::protobuf::FileDescriptorProto text;
  file.CopyTo(&text);
  out.add_file_descriptor_proto(text.SerializeAsString());
}

void set_file(const FileDescriptor* file, const std::string& name,
              protocol::ServerReflectionResponse& out) {
  if (file == nullptr) {
    auto& error = *out.mutable_error_response();
    error.set_error_code(static_cast<int>(Code::kNotFound));
    error.set_error_message("there is no `" + name + "`");
    return;
  }
  std::set<const FileDescriptor*> added;
  add_file(*file, added, *out.mutable_file_descriptor_response());
}

}  // namespace

protocol::ServerReflectionResponse reflect(const protocol::ServerReflectionRequest& request) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  protocol::ServerReflectionResponse out;
  out.set_valid_host(request.host());
  *out.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case protocol::ServerReflectionRequest::kListServices:
      for (const auto name : kServices) {
        out.mutable_list_services_response()->add_service()->set_name(std::string(name));
      }
      return out;
    case protocol::ServerReflectionRequest::kFileByFilename:
      set_file(pool.FindFileByName(request.file_by_filename()), request.file_by_filename(), out);
      return out;
    case protocol::ServerReflectionRequest::kFileContainingSymbol: {
      const std::string& symbol = request.file_containing_symbol();
      set_file(pool.FindFileContainingSymbol(symbol), symbol, out);
      return out;
    }
    case protocol::ServerReflectionRequest::kAllExtensionNumbersOfType:
      out.mutable_all_extension_numbers_response()->set_base_type_name(
          request.all_extension_numbers_of_type());
      return out;
    default:
      set_file(nullptr, "extension", out);
      return out;
  }
}

}  // namespace quiver::service::rpc
