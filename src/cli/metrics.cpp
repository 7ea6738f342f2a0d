#include "cli/metrics.hpp"

#include <map>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include "cli/log.hpp"

namespace ql3::cli {

namespace {

using Counters = prometheus::Family<prometheus::Counter>;
using Gauges = prometheus::Family<prometheus::Gauge>;

Counters& counters(prometheus::Registry& in, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(in);
}

Gauges& gauges(prometheus::Registry& in, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(in);
}

}  // namespace

struct Metrics::Registered {
  explicit Registered(const std::string& address)
      : server({"listening_ports", address, "num_threads", "1"}) {
    server.RegisterCollectable(registry);
  }

  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  Counters& passes = counters(*registry, "ql3_passes_total", "Passes, by how they ended");
  Counters& targets = counters(*registry, "ql3_targets_total", "Claims that ended, by outcome");
  Counters& verdicts = counters(*registry, "ql3_verdicts_total", "Answers of probes, by verdict");
  Counters& fenced = counters(*registry, "ql3_fenced_total",
                              "Claims that were not ours any more: late = our clock said so and "
                              "nothing was sent, refused = the server did");
  Counters& errors = counters(*registry, "ql3_store_errors_total",
                              "Passes that an error of the store cost something");
  Gauges& safe = gauges(*registry, "ql3_safe", "1 when the last pass found nothing left to do");
  Gauges& remaining = gauges(*registry, "ql3_remaining", "Targets that the last pass left");
  Gauges& failed =
      gauges(*registry, "ql3_failed", "Store errors and blind sources of the last pass");
  Gauges& has_more = gauges(*registry, "ql3_has_more", "1 when there is more than a pass sees");
  Gauges& last = gauges(*registry, "ql3_last_pass_timestamp_seconds", "When the last pass ended");
  // Last: it stops before what it serves is gone.
  prometheus::Exposer server;
};

Metrics::Metrics(const std::string& address) {
  try {
    registered_ = std::make_unique<Registered>(address);
  } catch (const std::exception&) {
    throw std::invalid_argument(fmt::format("cannot listen on \"{}\" for metrics", address));
  }
  for (const int port : registered_->server.GetListeningPorts()) {
    log::info("metrics on port {}", port);
  }
}

Metrics::~Metrics() = default;

void Metrics::count(int cell, const PassReport& report) {
  Registered& to = *registered_;
  const std::string number = std::to_string(cell);
  to.passes.Add({{"cell", number}, {"end", report.safe ? "safe" : "not_safe"}}).Increment();
  // Both causes from the first pass on: an absent series reads like an unknown number.
  for (const char* const cause : {"late", "refused"}) {
    to.fenced.Add({{"cell", number}, {"cause", cause}}).Increment(0);
  }
  for (const TargetReport& one : report.targets) {
    to.targets
        .Add({{"cell", number}, {"kind", one.kind}, {"outcome", std::string(to_text(one.outcome))}})
        .Increment();
    if (!one.verdict.empty()) {
      to.verdicts.Add({{"cell", number}, {"kind", one.kind}, {"verdict", one.verdict}}).Increment();
    }
    if (one.outcome == Outcome::fenced) {
      to.fenced.Add({{"cell", number}, {"cause", one.late ? "late" : "refused"}}).Increment();
    }
  }
  if (report.error) {
    to.errors.Add({{"cell", number}, {"code", std::string(to_text(report.error->code()))}})
        .Increment();
  }
  to.safe.Add({{"cell", number}}).Set(report.safe ? 1 : 0);
  to.remaining.Add({{"cell", number}}).Set(report.remaining);
  to.failed.Add({{"cell", number}}).Set(report.failed);
  to.has_more.Add({{"cell", number}}).Set(report.has_more ? 1 : 0);
  to.last.Add({{"cell", number}}).SetToCurrentTime();
}

}  // namespace ql3::cli
