// ql3_explain: what is going on with one target, for a person, and the call that changes it.
#pragma once

#include "control_rows.hpp"
#include "result_set.hpp"
#include "sentence.hpp"

namespace ql3::pg {

// The rows of one explanation. A command is SQL that does what its row says when it is pasted into psql.
class explanation {
 public:
  explicit explanation(result_set& into) : into_(into), clock_(clock_now()) {}
  void say(std::string_view topic, const sentence& text) {
    result_row().text(topic).text(text.view()).null().into(into_);
  }
  void say(std::string_view topic, const sentence& text, const sentence& command) {
    result_row().text(topic).text(text.view()).text(command.view()).into(into_);
  }
  // The one clock of the explanation.
  instant clock() const noexcept { return clock_; }

 private:
  result_set& into_;
  instant clock_;
};

// The reason that commands carry until a person writes a better one.
inline constexpr std::string_view pasted_reason = "by hand, after ql3_explain";

void explain_target(explanation& to, std::string_view kind, std::string_view id);
void explain_attempt(explanation& to, std::string_view id);
// What halts dispatch as a whole.
void explain_halts(explanation& to);

}  // namespace ql3::pg
