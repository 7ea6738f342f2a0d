// The work of one pass on its page: probing, settling, giving back.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/claim_page.hpp"
#include "client/decision.hpp"
#include "client/held_page.hpp"
#include "client/probe_flight.hpp"
#include "client/supervisor.hpp"

namespace ql3 {

// Lives for one run(). Everything it uses outlives it.
class Pass {
 public:
  Pass(const SupervisorOptions& options, Stores stores, const ProbeRegistry& probes,
       std::shared_ptr<ProbeTraffic> traffic, const Tell& listener, Clock& clock,
       const Shutdown& shutdown, const Page& page, Clock::Time claimed);

  // Every target of the page ends in report.targets.
  void run(PassReport& report);

 private:
  enum class Progress { waiting, started, ended };
  // Why the pass stopped waiting for a probe.
  enum class Ending { answered, timed_out, lost, late, cancelled };

  void judge(std::size_t at);
  Ending await(ProbeFlight& flight, std::size_t at, Clock::Time until);
  void commit(std::size_t at, const std::string& verdict, Decision decision);

  Outcome try_commit(std::size_t at, const Decision& decision, Clock::Length limit);
  // True when the error is one that another decision gets around; `decision` is then that one.
  bool change_after(const StoreError& error, std::size_t at, int tries, Decision& decision);
  void give_back_waiting();
  bool still_listed(std::size_t at);
  void end(std::size_t at, Outcome outcome, const std::string& verdict, const std::string& note,
           bool listed = false);
  // For the report: an error that cost something, not one that was got over.
  void remember(const StoreError& error);

  const SupervisorOptions& options_;
  Stores stores_;
  const ProbeRegistry& probes_;
  const std::shared_ptr<ProbeTraffic> traffic_;
  const Tell& listener_;
  Clock& clock_;
  const Shutdown& shutdown_;
  const Page& page_;
  const Clock::Time claimed_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  HeldPage held_;
  std::vector<Progress> progress_;
  std::vector<TargetReport> reports_;
  std::optional<StoreError> error_;
  // Kinds whose source turned out to have no transition in this pass.
  std::set<std::string> without_transition_;
};

}  // namespace ql3
