// How long a target waits when the caller names no delay.
#pragma once

#include <algorithm>
#include <cstdint>

#include "limits.hpp"

namespace ql3 {

// 1 s * 2^min(failure_count, 9), spread by +-20 % with the caller's random bits, at most 5 min.
constexpr std::int64_t default_retry_delay(std::int32_t failure_count,
                                           std::uint64_t random_bits) noexcept {
  const std::int32_t doublings = std::clamp(failure_count, 0, backoff_doublings);
  const std::int64_t middle = backoff_base << doublings;
  const std::int64_t lowest = middle - middle / 5;
  const auto spread = static_cast<std::uint64_t>(2 * (middle / 5)) + 1;
  // The upper half of the bits scaled to the spread; both factors are below 2^32.
  const auto offset = static_cast<std::int64_t>(((random_bits >> 32) * spread) >> 32);
  return std::min(lowest + offset, retry_delay_max);
}

}  // namespace ql3
