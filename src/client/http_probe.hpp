// The probe that is a service: `http://…` or `https://…`.
#pragma once

#include <string>

#include "client/export.hpp"
#include "client/probe.hpp"

namespace ql3 {

struct HttpProbeOptions {
  // Certificates (PEM) that vouch for the server, in place of the system's. Empty: the system's.
  std::string ca_file;
};

// Posts the candidate as JSON, one request on a fresh connection for each target; only status 200
// with the answer as its body counts. The server's certificate and name are always verified.
// Redirects are not followed, and nothing is taken from the environment or .netrc: no proxy, no
// credentials. A user and password in the URL are sent as basic authentication.
//
// Nothing of the URL is ever told, in no answer, exception or identity. When the time is over or
// the answer is no longer wanted, judge() returns at once, unless the system's resolver hangs: then
// it returns with the resolver, and nothing of ours is left behind it.
class QL3_API HttpProbe final : public Probe {
 public:
  static constexpr Milliseconds connect_max = std::chrono::seconds(3);

  // std::invalid_argument when `url` is no http or https URL with a host, or the file of
  // certificates cannot be read or goes with http.
  explicit HttpProbe(const std::string& url, HttpProbeOptions options = {});

  // "http" or "https".
  std::string identity() const override { return scheme_; }
  ProbeAnswer judge(const Target& target, const ProbeCall& call) override;

 private:
  std::string url_;
  std::string scheme_;
  std::string ca_file_;
};

}  // namespace ql3
