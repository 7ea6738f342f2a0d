#include "cli/probes.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "client/exec_probe.hpp"
#include "client/http_probe.hpp"

namespace ql3::cli {

namespace {

Milliseconds timeout_for(const SuperviseOptions& options) {
  if (options.probe_timeout) return *options.probe_timeout;
  return std::min(ProbeRegistry::timeout_default, options.lease - std::chrono::milliseconds(251));
}

constexpr const char* shape = "is not KIND=exec:PROGRAM or KIND=http(s)://HOST…";

bool begins_with(std::string_view text, std::string_view part) {
  return text.substr(0, part.size()) == part;
}

std::shared_ptr<Probe> make_probe(const std::string& kind, const std::string& what,
                                  const std::string& ca_file) {
  constexpr std::string_view exec = "exec:";
  if (begins_with(what, exec)) return std::make_shared<ExecProbe>(what.substr(exec.size()));
  if (begins_with(what, "http://")) return std::make_shared<HttpProbe>(what);
  if (begins_with(what, "https://")) {
    return std::make_shared<HttpProbe>(what, HttpProbeOptions{ca_file});
  }
  throw std::invalid_argument(fmt::format("--probe of kind \"{}\" {}", kind, shape));
}

}  // namespace

std::shared_ptr<const ProbeRegistry> make_probes(const SuperviseOptions& options) {
  auto probes = std::make_shared<ProbeRegistry>();
  bool any_https = false;
  for (const std::string& text : options.probes) {
    const std::size_t equals = text.find('=');
    const std::string kind = text.substr(0, equals);
    if (equals == std::string::npos || kind.find_first_of(":/@") != std::string::npos) {
      throw std::invalid_argument(fmt::format("--probe {}", shape));
    }
    const std::string what = text.substr(equals + 1);
    probes->add(kind, make_probe(kind, what, options.probe_ca), timeout_for(options));
    any_https = any_https || begins_with(what, "https://");
  }
  if (!options.probe_ca.empty() && !any_https) {
    throw std::invalid_argument("--probe-ca is given, but there is no https probe");
  }
  return probes;
}

}  // namespace ql3::cli
