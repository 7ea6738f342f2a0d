#include "intervals.hpp"

#include <limits>

#include "error.hpp"
#include "limits.hpp"

namespace ql3 {

namespace {

constexpr interval_parts plus_infinity = {std::numeric_limits<std::int64_t>::max(),
                                          std::numeric_limits<std::int32_t>::max(),
                                          std::numeric_limits<std::int32_t>::max()};
constexpr interval_parts minus_infinity = {std::numeric_limits<std::int64_t>::min(),
                                           std::numeric_limits<std::int32_t>::min(),
                                           std::numeric_limits<std::int32_t>::min()};

constexpr bool same(interval_parts a, interval_parts b) noexcept {
  return a.microseconds == b.microseconds && a.days == b.days && a.months == b.months;
}

// Appends a length as whole units where it has them: "5 min", "90 s", "1500000 us".
template <std::size_t N>
void append_length(message_text<N>& out, std::int64_t length) {
  struct unit {
    std::int64_t size;
    const char* name;
  };
  constexpr unit units[] = {
      {one_day, " days"}, {one_hour, " h"}, {one_minute, " min"}, {one_second, " s"}, {1, " us"}};
  if (length == 0) {
    out << "0";
    return;
  }
  for (const unit& u : units) {
    if (length % u.size != 0 || (u.size == one_day && length == one_day)) continue;
    out << length / u.size << u.name;
    return;
  }
}

std::int64_t check_range(interval_parts value, std::string_view argument, std::int64_t lowest,
                         std::int64_t highest) {
  const std::int64_t length = length_of(value, argument);
  if (length >= lowest && length <= highest) return length;
  message_text<error_text_max> message;
  message << argument << " of ";
  append_length(message, length);
  message << " is out of range: it must be ";
  append_length(message, lowest);
  message << " to ";
  append_length(message, highest);
  throw error(sqlstate::invalid_parameter, message);
}

}  // namespace

std::int64_t length_of(interval_parts value, std::string_view argument) {
  message_text<error_text_max> message;
  if (same(value, plus_infinity) || same(value, minus_infinity)) {
    message << argument << " must be finite";
    throw error(sqlstate::invalid_parameter, message);
  }
  if (value.months != 0) {
    message << argument << " must not have months or years";
    throw error(sqlstate::invalid_parameter, message,
                "A month has no fixed length: give days (of 24 hours) or smaller units.");
  }
  std::int64_t of_days = 0;
  std::int64_t length = 0;
  if (__builtin_mul_overflow(std::int64_t{value.days}, one_day, &of_days) ||
      __builtin_add_overflow(of_days, value.microseconds, &length)) {
    message << argument << " of " << value.days << " days is out of range";
    throw error(sqlstate::invalid_parameter, message);
  }
  return length;
}

std::int64_t check_lease(interval_parts value, std::string_view argument) {
  return check_range(value, argument, lease_min, lease_max);
}

std::int64_t check_retry_delay(interval_parts value, std::string_view argument) {
  return check_range(value, argument, retry_delay_min, retry_delay_max);
}

std::int64_t check_max_hold(interval_parts value, std::string_view argument) {
  return check_range(value, argument, max_hold_min, max_hold_max);
}

std::int64_t check_observe_after(interval_parts value, std::string_view argument) {
  return check_range(value, argument, observe_after_min, observe_after_max);
}

std::int64_t check_older_than(interval_parts value, std::string_view argument) {
  return check_range(value, argument, older_than_min, older_than_max);
}

}  // namespace ql3
