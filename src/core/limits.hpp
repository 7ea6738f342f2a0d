// The limits of the SQL interface. Lengths of time are microseconds, sizes are bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ql3 {

inline constexpr std::int64_t one_second = 1'000'000;
inline constexpr std::int64_t one_minute = 60 * one_second;
inline constexpr std::int64_t one_hour = 60 * one_minute;
inline constexpr std::int64_t one_day = 24 * one_hour;

// A page, and every array argument.
inline constexpr std::int32_t page_size_min = 1;
inline constexpr std::int32_t page_size_max = 128;
inline constexpr std::int32_t page_size_default = 16;

// One lease or one renewal. A claim whose expiry lies further ahead than lease_max is broken: it
// was made by a clock that has stepped back since.
inline constexpr std::int64_t lease_min = one_second;
inline constexpr std::int64_t lease_max = 5 * one_minute;
inline constexpr std::int64_t lease_default = 30 * one_second;

// All renewals of one claim together, counted from the claim.
inline constexpr std::int64_t max_hold_min = one_second;
inline constexpr std::int64_t max_hold_max = 3650 * one_day;
inline constexpr std::int64_t max_hold_default = one_hour;

inline constexpr std::int64_t retry_delay_min = 0;
inline constexpr std::int64_t retry_delay_max = 5 * one_minute;
inline constexpr std::int64_t backoff_base = one_second;
inline constexpr std::int32_t backoff_doublings = 9;

inline constexpr std::int64_t observe_after_min = one_second;
inline constexpr std::int64_t observe_after_max = 24 * one_hour;
inline constexpr std::int64_t observe_after_default = 5 * one_minute;

// Retention of a prune: never nothing, because a repeated settle is recognised by what is kept.
inline constexpr std::int64_t older_than_min = 1;
inline constexpr std::int64_t older_than_max = 36'500 * one_day;
inline constexpr std::int32_t prune_batch_max = 100'000;

inline constexpr std::int32_t failure_count_max = 1'000'000;
inline constexpr std::int32_t sources_max = 64;

inline constexpr std::size_t owner_max = 128;
inline constexpr std::size_t kind_max = 63;
inline constexpr std::size_t id_max = 255;
inline constexpr std::size_t note_max = 2048;
inline constexpr std::size_t source_json_max = 8192;
inline constexpr std::size_t arguments_max = 8192;
inline constexpr std::size_t evidence_max = 65536;
inline constexpr std::size_t evidence_kept = 2048;
inline constexpr std::size_t token_size = 16;
inline constexpr std::size_t digest_size = 32;

// Versions of one timeline start above (timeline - 1) * version_timeline_span.
inline constexpr int version_timeline_bits = 40;

}  // namespace ql3
