#include "client/decision.hpp"

#include <fmt/format.h>

#include "client/text.hpp"
#include "core/limits.hpp"

namespace ql3 {

std::string decision_note(std::string_view word, const std::string& text) {
  return clean_text(text.empty() ? std::string(word) : fmt::format("{}: {}", word, text), note_max);
}

namespace {

// A probe's own `unknown` has one of the three words as its reason; what is said in place of an
// answer has more.
std::string unknown_note(const ProbeAnswer& answer) {
  const std::string why(to_text(answer.why));
  const bool more = !answer.reason.empty() && answer.reason != why;
  return decision_note("unknown", more ? fmt::format("{}: {}", why, answer.reason) : why);
}

}  // namespace

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
      decision.note = unknown_note(answer);
      if (answer.why != Why::provider_unavailable && failure_count >= unknown_retries) {
        decision.how = disposition::manual;
      }
      break;
    case Verdict::succeeded:
    case Verdict::failed:
      decision.note = unknown_note(no_answer("it is a verdict on a dispatch"));
      break;
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
