#include "client/decision.hpp"

#include <fmt/format.h>

#include "client/text.hpp"
#include "core/limits.hpp"

namespace ql3 {

std::string decision_note(std::string_view word, const std::string& text) {
  return clean_text(text.empty() ? std::string(word) : fmt::format("{}: {}", word, text), note_max);
}

Decision decide(const ProbeAnswer& answer, int failure_count) {
  Decision decision;
  switch (answer.verdict) {
    case Verdict::running: decision.note = decision_note("running", answer.reason); break;
    case Verdict::not_running:
      decision.conclude = true;
      decision.verdict = to_text(Verdict::not_running);
      decision.evidence = answer.evidence;
      decision.note = decision_note("not_running", answer.reason);
      break;
    case Verdict::unknown:
      decision.note = decision_note("unknown", std::string(to_text(answer.why)));
      if (answer.why != Why::provider_unavailable && failure_count >= unknown_retries) {
        decision.how = disposition::manual;
      }
      break;
    case Verdict::succeeded:
    case Verdict::failed:
      decision.note = decision_note("bad answer", "it is a verdict on a dispatch");
      break;
    case Verdict::bad: decision.note = decision_note("bad answer", answer.reason); break;
  }
  return decision;
}

Decision without_transition(const Decision& conclusion) {
  Decision decision;
  decision.how = disposition::resolved;
  decision.note =
      clean_text(fmt::format("the source has no transition; {}", conclusion.note), note_max);
  return decision;
}

Decision after_failed_transition(const std::string& sqlstate) {
  Decision decision;
  decision.note = fmt::format("the transition failed with SQLSTATE {}", sqlstate);
  return decision;
}

}  // namespace ql3
