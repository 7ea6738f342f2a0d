// The fence: whoever changes a claimed target must hold exactly the claim that stands on its row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "claim.hpp"
#include "limits.hpp"
#include "state.hpp"

namespace ql3 {

// What a caller says it holds. `token_digest` points at 32 bytes.
struct fence {
  std::string_view kind;
  std::string_view id;
  std::string_view owner;
  const unsigned char* token_digest = nullptr;
  std::int64_t version = 0;
};

// What the locked row says. `token_digest` points at 32 bytes, or nowhere for NULL.
struct control_row {
  std::string_view kind;
  std::string_view id;
  std::string_view owner;
  bool has_owner = false;
  const unsigned char* token_digest = nullptr;
  control_view control;
};

enum class fence_result : unsigned char { holds, fenced };

// Compares 32 bytes in a time that does not depend on where they differ. Nothing equals nullptr.
constexpr bool same_digest(const unsigned char* a, const unsigned char* b) noexcept {
  if (a == nullptr || b == nullptr) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < digest_size; ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

// Everything of the fence that does not depend on time: key, owner, token and version, NULL
// matching nothing. REQUIRES: the row is locked.
constexpr bool same_claim(const control_row& row, const fence& held) noexcept {
  return row.kind == held.kind && row.id == held.id && row.has_owner && row.owner == held.owner &&
         row.control.version == held.version && same_digest(row.token_digest, held.token_digest);
}

// holds iff the row is claimed by exactly this claim and the claim is valid at `clock`.
// REQUIRES: the row is locked and `clock` was read after the lock.
constexpr fence_result check_fence(const control_row& row, const fence& held,
                                   instant clock) noexcept {
  const bool holds = row.control.st == state::claimed && same_claim(row, held) &&
                     row.control.has_expires && claim_is_valid(clock, row.control.expires_at);
  return holds ? fence_result::holds : fence_result::fenced;
}

}  // namespace ql3
