#include "names.hpp"

#include "error.hpp"
#include "limits.hpp"

namespace ql3 {

namespace {

// Not <cctype>: those follow the locale of the process.
constexpr bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_alphanumeric(char c) noexcept {
  return is_lower(c) || (c >= 'A' && c <= 'Z') || is_digit(c);
}

void check_word(std::string_view value, std::string_view argument) {
  if (is_kind(value)) return;
  message_text<error_text_max> message;
  message << argument << " " << quoted{value} << " is not valid";
  throw error(sqlstate::invalid_parameter, message,
              "Use 1 to 63 lower-case letters, digits or underscores, beginning with a letter.");
}

void check_count(std::int64_t value, std::int64_t lowest, std::int64_t highest,
                 std::string_view argument) {
  if (value >= lowest && value <= highest) return;
  message_text<error_text_max> message;
  message << argument << " " << value << " is out of range: it must be " << lowest << " to "
          << highest;
  throw error(sqlstate::invalid_parameter, message);
}

void check_bytes(std::size_t bytes, std::size_t highest, std::string_view argument) {
  if (bytes <= highest) return;
  message_text<error_text_max> message;
  message << argument << " has " << bytes << " bytes, more than the limit of " << highest;
  throw error(sqlstate::invalid_parameter, message);
}

}  // namespace

bool is_owner(std::string_view value) noexcept {
  if (value.empty() || value.size() > owner_max || !is_alphanumeric(value.front())) return false;
  for (const char c : value) {
    if (!is_alphanumeric(c) && c != '.' && c != '_' && c != ':' && c != '-') return false;
  }
  return true;
}

bool is_kind(std::string_view value) noexcept {
  if (value.empty() || value.size() > kind_max || !is_lower(value.front())) return false;
  for (const char c : value) {
    if (!is_lower(c) && !is_digit(c) && c != '_') return false;
  }
  return true;
}

bool is_blank(std::string_view value) noexcept {
  for (const char c : value) {
    if (c != ' ' && !(c >= '\t' && c <= '\r')) return false;
  }
  return true;
}

void refuse_null(std::string_view argument) {
  message_text<error_text_max> message;
  message << argument << " must not be null";
  throw error(sqlstate::null_argument, message);
}

void check_owner(std::string_view value, std::string_view argument) {
  if (is_owner(value)) return;
  message_text<error_text_max> message;
  message << argument << " " << quoted{value} << " is not valid";
  throw error(sqlstate::invalid_parameter, message,
              "Use 1 to 128 letters, digits or the characters . _ : - and begin with a letter or "
              "digit.");
}

void check_kind(std::string_view value, std::string_view argument) { check_word(value, argument); }

void check_verdict(std::string_view value, std::string_view argument) {
  check_word(value, argument);
}

void check_source_kind(std::string_view value, std::string_view argument) {
  check_word(value, argument);
  if (value != dispatch_kind) return;
  message_text<error_text_max> message;
  message << argument << " " << quoted{value} << " is reserved";
  throw error(sqlstate::reserved_name, message, "Choose another kind for your own source.");
}

void check_id(std::string_view value, std::string_view argument) {
  if (!value.empty() && value.size() <= id_max) return;
  message_text<error_text_max> message;
  if (value.empty()) {
    message << argument << " is empty: it must have 1 to " << id_max << " bytes";
  } else {
    message << argument << " " << quoted{value} << " has " << value.size()
            << " bytes: it must have 1 to " << id_max;
  }
  throw error(sqlstate::invalid_parameter, message);
}

void check_reason(std::string_view value, std::string_view argument) {
  if (!is_blank(value)) return;
  message_text<error_text_max> message;
  message << argument << " must not be empty";
  throw error(sqlstate::invalid_parameter, message,
              "Say in a few words why; it is kept for audit.");
}

void check_page_size(std::int32_t value, std::string_view argument) {
  check_count(value, page_size_min, page_size_max, argument);
}

void check_array_length(std::int64_t value, std::string_view argument) {
  if (value >= page_size_min && value <= page_size_max) return;
  message_text<error_text_max> message;
  message << argument << " has " << value << " elements: it must have " << page_size_min << " to "
          << page_size_max;
  throw error(sqlstate::invalid_parameter, message);
}

void check_same_length(std::int64_t value, std::string_view argument, std::int64_t expected,
                       std::string_view other) {
  if (value == expected) return;
  message_text<error_text_max> message;
  message << argument << " has " << value << " elements but " << other << " has " << expected;
  throw error(sqlstate::invalid_parameter, message, "Arrays of one page go together by position.");
}

void check_max_failures(std::int32_t value, std::string_view argument) {
  check_count(value, 1, failure_count_max, argument);
}

void check_failure_count(std::int32_t value, std::string_view argument) {
  check_count(value, 0, failure_count_max, argument);
}

void check_batch(std::int32_t value, std::string_view argument) {
  check_count(value, 1, prune_batch_max, argument);
}

void check_evidence_size(std::size_t bytes, std::string_view argument) {
  check_bytes(bytes, evidence_max, argument);
}

void check_arguments_size(std::size_t bytes, std::string_view argument) {
  check_bytes(bytes, arguments_max, argument);
}

}  // namespace ql3
