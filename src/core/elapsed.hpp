// A length of time as a person reads it: its two largest units, nothing below a millisecond.
#pragma once

#include <cstdint>

#include "limits.hpp"
#include "message_text.hpp"

namespace ql3 {

// "850 ms", "12 s", "3 min 4 s", "2 h 5 min", "4 d 3 h". A negative length reads like a positive
// one.
constexpr message_text<64> elapsed_text(std::int64_t microseconds) noexcept {
  const auto length = static_cast<std::uint64_t>(microseconds);
  const std::uint64_t size = microseconds < 0 ? 0 - length : length;
  const auto whole = [&](std::int64_t unit) { return size / static_cast<std::uint64_t>(unit); };
  message_text<64> text;
  if (whole(one_day) > 0) {
    text << whole(one_day) << " d " << whole(one_hour) % 24 << " h";
  } else if (whole(one_hour) > 0) {
    text << whole(one_hour) << " h " << whole(one_minute) % 60 << " min";
  } else if (whole(one_minute) > 0) {
    text << whole(one_minute) << " min " << whole(one_second) % 60 << " s";
  } else if (whole(one_second) > 0) {
    text << whole(one_second) << " s";
  } else {
    text << whole(1000) << " ms";
  }
  return text;
}

}  // namespace ql3
