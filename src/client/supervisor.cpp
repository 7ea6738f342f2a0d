#include "client/supervisor.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "client/claim_page.hpp"
#include "client/look_again.hpp"
#include "client/pass.hpp"
#include "client/probe_flight.hpp"
#include "core/limits.hpp"
#include "core/names.hpp"

namespace ql3 {

namespace {

constexpr Clock::Length observe_limit = std::chrono::seconds(10);

void check_options(const SupervisorOptions& options, const ProbeRegistry& probes) {
  if (!is_owner(options.owner)) {
    throw std::invalid_argument(fmt::format(
        "owner \"{}\" is not a name of 1 to 128 letters, digits, dots, colons, dashes and "
        "underscores that begins with a letter or digit",
        options.owner.substr(0, 140)));
  }
  if (options.page_size < page_size_min || options.page_size > page_size_max) {
    throw std::invalid_argument(fmt::format("page size {} is outside of {} to {}",
                                            options.page_size, page_size_min, page_size_max));
  }
  constexpr Milliseconds least(lease_min / 1000), most(lease_max / 1000);
  if (options.lease < least || options.lease > most) {
    throw std::invalid_argument(fmt::format("lease {} is outside of {} to {}",
                                            to_text(options.lease), to_text(least), to_text(most)));
  }
  if (options.grace < Milliseconds::zero()) throw std::invalid_argument("the grace is negative");
  if (options.kinds.empty()) throw std::invalid_argument("there is no probe for any kind");
  for (const std::string& kind : options.kinds) {
    const ProbeRegistry::Entry* const entry = probes.find(kind);
    if (entry == nullptr) {
      throw std::invalid_argument(fmt::format("kind \"{}\" has no probe", kind.substr(0, 80)));
    }
    if (entry->timeout >= options.lease - HeldPage::margin) {
      throw std::invalid_argument(fmt::format(
          "the timeout of kind {} is {}: it must be less than the lease of {} minus 250ms", kind,
          to_text(entry->timeout), to_text(options.lease)));
    }
  }
}

}  // namespace

std::string_view to_text(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::concluded: return "concluded";
    case Outcome::resolved: return "resolved";
    case Outcome::retry: return "retry";
    case Outcome::manual: return "manual";
    case Outcome::stale: return "stale";
    case Outcome::fenced: return "fenced";
    case Outcome::given_back: return "given_back";
    case Outcome::left: return "left";
    case Outcome::failed: return "failed";
  }
  return "failed";
}

RecoverySupervisor::RecoverySupervisor(SupervisorOptions options, Stores stores,
                                       std::shared_ptr<const ProbeRegistry> probes, Tell listener,
                                       Clock& clock)
    : options_(std::move(options)),
      stores_(stores),
      probes_(std::move(probes)),
      listener_(std::move(listener)),
      clock_(clock),
      traffic_(std::make_shared<ProbeTraffic>()) {
  if (options_.kinds.empty()) options_.kinds = probes_->kinds();
  check_options(options_, *probes_);
}

std::size_t RecoverySupervisor::abandoned_probes() const { return traffic_->in_flight(); }

PassReport RecoverySupervisor::run_pass(const Shutdown& shutdown) {
  PassReport report;
  try {
    const Clock::Time started = clock_.now();
    const Page page = claim_page(
        stores_.claims, {options_.owner, options_.page_size, options_.lease, options_.kinds},
        clock_, shutdown.drain);
    stepped();
    report.discovered = static_cast<int>(page.targets.size());
    if (!page.targets.empty()) {
      Pass pass(options_, stores_, *probes_, traffic_, listener_, clock_, shutdown, page, started);
      pass.run(report);
    }
  } catch (const StoreError& error) {
    ++report.failed;
    if (!report.error) report.error = error;
  }
  for (const TargetReport& target : report.targets) {
    if (target.outcome == Outcome::failed) {
      ++report.failed;
    } else if (target.listed ||
               (target.outcome != Outcome::concluded && target.outcome != Outcome::resolved)) {
      ++report.remaining;
    }
    if (target.outcome == Outcome::fenced) ++report.fenced;
  }
  report.stopped = shutdown.drain.stop_requested();
  report.has_more = report.discovered == options_.page_size;
  if (!report.stopped) observe(report, shutdown.drain);
  stepped();
  return report;
}

void RecoverySupervisor::stepped() const {
  if (options_.on_step) options_.on_step();
}

void RecoverySupervisor::observe(PassReport& report, std::stop_token stop) {
  try {
    const Observation seen = look_again(clock_, stop, [&] {
      try {
        return stores_.candidates.observe(1, {}, observe_limit);
      } catch (const StoreError& error) {
        // Where the built-in kind alone is attached, the server refuses to speak for every kind;
        // then what this supervisor judges is all there is.
        if (error.code() != StoreCode::not_possible) throw;
        return stores_.candidates.observe(1, kinds(), observe_limit);
      }
    });
    int listed = 0;
    for (const ObservedTarget& one : seen.rows) {
      if (one.blind()) {
        ++report.failed;
        tell(listener_, Level::warning,
             fmt::format("source {} cannot be read: SQLSTATE {}", one.target.kind,
                         one.detail.value_or("unknown")));
      } else {
        ++listed;
      }
    }
    if (listed > 0) report.remaining = std::max(report.remaining, 1);
    report.has_more = seen.has_more || (report.has_more && listed > 0);
    report.safe = seen.writable && seen.rows.empty() && report.remaining == 0 && report.failed == 0;
  } catch (const StoreError& error) {
    ++report.failed;
    if (!report.error) report.error = error;
  }
}

}  // namespace ql3
