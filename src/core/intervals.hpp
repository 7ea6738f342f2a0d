// Lengths of time as the server hands them over, turned into checked microseconds. A day is 24
// hours; months have no length and are refused; so are infinite values and overflow. All refusals
// are ql3::error 22023 and name the argument, the value and the limits.
#pragma once

#include <cstdint>
#include <string_view>

namespace ql3 {

// The three fields of the server's interval type.
struct interval_parts {
  std::int64_t microseconds;
  std::int32_t days;
  std::int32_t months;
};

// The length in microseconds, of any sign.
std::int64_t length_of(interval_parts value, std::string_view argument);

// The length in microseconds, within the limits of its use:
std::int64_t check_lease(interval_parts value, std::string_view argument = "lease");  // 1 s - 5 min
std::int64_t check_retry_delay(interval_parts value,
                               std::string_view argument = "delay");  // 0 - 5 min
std::int64_t check_max_hold(interval_parts value,
                            std::string_view argument = "max_hold");  // 1 s - 3650 days
std::int64_t check_observe_after(interval_parts value,
                                 std::string_view argument = "observe_after");  // 1 s - 24 h
std::int64_t check_older_than(interval_parts value,
                              std::string_view argument = "older_than");  // > 0 - 36500 days

}  // namespace ql3
