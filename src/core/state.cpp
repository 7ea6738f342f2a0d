#include "state.hpp"

#include "error.hpp"

namespace ql3 {

disposition check_disposition(std::string_view word, std::string_view argument) {
  const std::optional<disposition> value = parse_disposition(word);
  if (value) return *value;
  message_text<error_text_max> message;
  message << argument << " " << quoted{word} << " is not known";
  throw error(sqlstate::invalid_parameter, message, "Use resolved, retry or manual.");
}

void check_delay_allowed(disposition value, bool delay_given, std::string_view argument) {
  if (!delay_given || value == disposition::retry) return;
  message_text<error_text_max> message;
  message << argument << " does not go with disposition " << to_text(value);
  throw error(sqlstate::invalid_parameter, message, "Leave it out, or settle as retry.");
}

}  // namespace ql3
