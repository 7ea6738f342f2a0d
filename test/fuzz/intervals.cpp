// Intervals: the same length as in wide arithmetic, or refused; never one outside its limits.
#include "core/intervals.hpp"

#include "core/limits.hpp"
#include "fuzz.hpp"

using namespace ql3;
using namespace ql3::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 16) return 0;
  interval_parts parts{};
  std::memcpy(&parts.microseconds, data, 8);
  std::memcpy(&parts.days, data + 8, 4);
  std::memcpy(&parts.months, data + 12, 4);
  const __int128 wide = static_cast<__int128>(parts.days) * one_day + parts.microseconds;
  const auto fits_in_64 = [](__int128 value) { return value >= INT64_MIN && value <= INT64_MAX; };
  // What is refused for its days alone is beyond every limit with any number of microseconds.
  const bool fits = fits_in_64(wide) && fits_in_64(static_cast<__int128>(parts.days) * one_day);
  std::int64_t length = 0;
  const bool refused = refuses("22023", [&] { length = length_of(parts, "lease"); });
  require(refused == (parts.months != 0 || !fits), "months and overflow are refused, nothing else");
  require(refused || length == wide, "the length is exact");
  struct limit {
    std::int64_t (*check)(interval_parts, std::string_view);
    std::int64_t lowest;
    std::int64_t highest;
  };
  for (const limit& each : {limit{check_lease, lease_min, lease_max},
                            limit{check_retry_delay, retry_delay_min, retry_delay_max},
                            limit{check_max_hold, max_hold_min, max_hold_max},
                            limit{check_observe_after, observe_after_min, observe_after_max},
                            limit{check_older_than, older_than_min, older_than_max}}) {
    const bool out = refuses("22023", [&] { length = each.check(parts, "value"); });
    require(out == (refused || wide < each.lowest || wide > each.highest), "the limits");
    require(out || length == wide, "within its limits the length is exact");
  }
  return 0;
}
