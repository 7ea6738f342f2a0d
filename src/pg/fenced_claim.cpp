#include "fenced_claim.hpp"

#include <algorithm>
#include <tuple>

#include "installed.hpp"
#include "session.hpp"

namespace ql3::pg {

fenced_claim lock_claim(const claim_name& name) {
  std::optional<locked_control> const row = lock_waiting(name.kind, name.id);
  return judge_claim(name, row, clock_now());
}

fenced_claim judge_claim(const claim_name& name, const std::optional<locked_control>& locked, instant clock) {
  fenced_claim found{false, locked, clock};
  if (!found.row) return found;
  const locked_control& row = *found.row;
  control_row const core{row.kind, row.id, row.owner.value_or(std::string_view{}), row.owner.has_value(),
                         row.token_digest, row.control};
  if (row.control.st == state::claimed && same_claim(core, name.as_fence()) && row.claim_mark &&
      *row.claim_mark == transaction_mark(false))
    throw error(sqlstate::active_sql_transaction,
                (message_text<256>() << "the claim of " << name.kind << " " << quoted{name.id}
                                     << " was made in this transaction").view(),
                "Commit the claim first: judging happens outside the transaction that claimed.");
  found.holds = check_fence(core, name.as_fence(), found.clock) == fence_result::holds;
  return found;
}

std::optional<std::string_view> repeated(const fenced_claim& found, const unsigned char (&request)[digest_size]) {
  if (!found.row || found.row->ended_digest == nullptr || !found.row->ended_result) return std::nullopt;
  if (!same_digest(found.row->ended_digest, request)) return std::nullopt;
  // The words themselves, not the row's copy of them: the answer outlives the row's memory.
  for (std::string_view word : {std::string_view("settled"), std::string_view("concluded"), std::string_view("stale"),
                                std::string_view("released")})
    if (*found.row->ended_result == word) return word;
  throw error(sqlstate::internal_error, "unknown result in ql3.run_recovery_controls");
}

request_bytes request_of(std::string_view function, const claim_name& name) {
  request_bytes bytes;
  bytes.add(function).add(name.kind).add(name.id).add(name.owner);
  bytes.add(std::string_view(reinterpret_cast<const char*>(name.token_digest), digest_size)).add(name.version);
  return bytes;
}

claim_name read_claim(const arguments& given, token& with) {
  claim_name name{};
  name.kind = given.kind(0);
  name.id = given.id(1);
  name.owner = given.owner(2);
  with = read_token(given, 3);
  bind_to_installation(with);
  name.token_digest = with.digest;
  name.version = given.number(4, "version");
  return name;
}

void read_claim_page(const arguments& given, claim_page_names& to) {
  std::string_view const owner = given.owner(0);
  to.with = read_token(given, 1);
  bind_to_installation(to.with);
  bounded<std::string_view> const kinds = given.texts(2, "kinds");
  bounded<std::string_view> const ids = given.texts(3, "ids");
  bounded<std::int64_t> const versions = given.numbers(4, "versions");
  auto const size = static_cast<std::int64_t>(kinds.size());
  check_same_length(static_cast<std::int64_t>(ids.size()), "ids", size, "kinds");
  check_same_length(static_cast<std::int64_t>(versions.size()), "versions", size, "kinds");
  for (std::size_t at = 0; at < kinds.size(); ++at) {
    check_kind(kinds[at], "kinds");
    check_id(ids[at], "ids");
    to.names.push_back({kinds[at], ids[at], owner, to.with.digest, versions[at]});
    to.by_key.push_back(static_cast<int>(at));
  }
  std::stable_sort(to.by_key.begin(), to.by_key.end(), [&](int a, int b) {
    return std::tie(to.names[a].kind, to.names[a].id) < std::tie(to.names[b].kind, to.names[b].id);
  });
}

}  // namespace ql3::pg
