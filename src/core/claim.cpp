#include "claim.hpp"

#include "error.hpp"

namespace ql3 {

std::int64_t next_version(std::int64_t previous, std::int64_t floor, std::uint32_t timeline) {
  const std::optional<std::int64_t> next = try_next_version(previous, floor, timeline);
  if (next) return *next;
  message_text<error_text_max> message;
  message << "no version is left after " << previous << " (floor " << floor << ", timeline "
          << timeline << ")";
  throw error(sqlstate::program_limit_exceeded, message);
}

}  // namespace ql3
