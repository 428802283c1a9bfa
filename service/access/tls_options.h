// Certificates of a server, for every transport.
#pragma once

#include <cstdint>
#include <string>

namespace quiver::service {

struct TlsOptions {
  bool enabled = false;
  std::string cert;            ///< PEM file: the server's certificate, then those that signed it
  std::string key;             ///< PEM file: its private key
  std::string ca_cert;         ///< PEM file: who may sign certificates of clients
  bool verify_client = false;  ///< refuse clients without a certificate signed by `ca_cert`
  double cert_ttl_s = 3600;    ///< time between looks for changed files; 0: never look again
};

}  // namespace quiver::service
