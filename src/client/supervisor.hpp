// One supervisor of one control database.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "client/candidates.hpp"
#include "client/claims.hpp"
#include "client/clock.hpp"
#include "client/events.hpp"
#include "client/export.hpp"
#include "client/probe.hpp"
#include "client/store_error.hpp"

namespace ql3 {

class ProbeTraffic;

struct SupervisorOptions {
  std::string owner;
  int page_size = 16;
  Milliseconds lease = std::chrono::seconds(30);
  // Each needs a probe; empty: every kind that has one. A kind without a probe is never claimed.
  std::vector<std::string> kinds;
  // How long a probe in flight may go on after a drain was asked for.
  Milliseconds grace = std::chrono::seconds(15);
  // Called from the pass's own thread whenever one of its steps has ended, well or badly: the
  // claim, a target, the observation. Must not throw.
  std::function<void()> on_step = {};
};

// What of a pass may be ended early. After `drain` nothing is started, what was not started is
// given back at once, and the probe in flight has the grace. After `cancel` it is stopped too.
struct Shutdown {
  std::stop_token drain;
  std::stop_token cancel;
};

enum class Outcome {
  concluded,   // the transition moved the source's row
  resolved,    // settled so, for want of a transition
  retry,       // put off
  manual,      // parked for a person
  stale,       // the transition found other facts: judged anew later
  fenced,      // the claim was not ours any more; nothing was changed
  given_back,  // not judged, claimable by others at once
  left,        // not judged; its claim runs out by itself
  failed       // the store refused or could not be reached in time; the claim runs out by itself
};

QL3_API std::string_view to_text(Outcome outcome) noexcept;

struct TargetReport {
  std::string kind;
  std::string id;
  // The probe's word; empty when it was not probed.
  std::string verdict;
  Outcome outcome = Outcome::left;
  // Its source lists it still, or nobody could tell.
  bool listed = false;
  std::string note;
  // Of a fenced one: our own clock said that the claim is over, and nothing was sent.
  bool late = false;
};

struct PassReport {
  // Nothing remaining and nothing failed, and an independent observation of all attached kinds on
  // a primary that takes writes found nothing.
  bool safe = false;
  // Retry, manual, stale, fenced, still listed, or not probed; at least 1 when the observation
  // found any target.
  int remaining = 0;
  // Errors of the store and blind sources.
  int failed = 0;
  // Targets this pass claimed.
  int discovered = 0;
  // There is more than one observation shows, or the page was full and something is listed.
  bool has_more = false;
  int fenced = 0;
  // A drain or cancel was asked for: the rest of the pass was not done.
  bool stopped = false;
  std::vector<TargetReport> targets;
  // The first error of the store that cost this pass something.
  std::optional<StoreError> error;
};

// The stores of one supervisor, over connections of their own: a call of one never waits for a
// call of another.
struct Stores {
  ClaimStore& claims;
  ClaimStore& renewal;
  CandidateSource& candidates;
};

// Owns nothing between passes: no thread, no timer, no claim, no memory of the backlog.
// Thread rule: one pass at a time.
class QL3_API RecoverySupervisor {
 public:
  // std::invalid_argument when a name or length is outside of its limits, a kind has no probe, or
  // a probe's timeout is not below the lease minus 250 ms.
  RecoverySupervisor(SupervisorOptions options, Stores stores,
                     std::shared_ptr<const ProbeRegistry> probes, Tell listener = {},
                     Clock& clock = boot_clock());

  // Claims one page, probes one target after another, settles or concludes each, and observes.
  // Errors of the store end in the report; what is thrown is std::bad_alloc and its like.
  PassReport run_pass(const Shutdown& shutdown);

  // The kinds it claims.
  const std::vector<std::string>& kinds() const noexcept { return options_.kinds; }

  // Probes that were given up and still run.
  std::size_t abandoned_probes() const;

 private:
  void stepped() const;
  void observe(PassReport& report, std::stop_token stop);

  SupervisorOptions options_;
  Stores stores_;
  std::shared_ptr<const ProbeRegistry> probes_;
  Tell listener_;
  Clock& clock_;
  std::shared_ptr<ProbeTraffic> traffic_;
};

}  // namespace ql3
