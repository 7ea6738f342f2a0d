#include "client/store_error.hpp"

#include <utility>

#include <fmt/format.h>

namespace ql3 {

namespace {

struct Entry {
  StoreCode code;
  std::string_view word;
  bool retryable;
  std::string_view phrase;
};

constexpr Entry entries[] = {
    {StoreCode::unreachable, "unreachable", true, "the database cannot be reached"},
    {StoreCode::lost_reply, "lost_reply", true, "the connection broke before the answer came"},
    {StoreCode::read_only, "read_only", true, "the server takes no writes"},
    {StoreCode::shutting_down, "shutting_down", true, "the server is stopping or starting"},
    {StoreCode::exhausted, "exhausted", true, "the server is out of a resource"},
    {StoreCode::locked, "locked", true, "a lock was not got in time"},
    {StoreCode::conflict, "conflict", true, "a concurrent transaction was in the way"},
    {StoreCode::cancelled, "cancelled", true, "the statement was cancelled"},
    {StoreCode::not_ready, "not_ready", false, "the extension or an object does not exist"},
    {StoreCode::denied, "denied", false, "a right is missing"},
    {StoreCode::unknown_kind, "unknown_kind", false, "no source of this kind is attached"},
    {StoreCode::not_possible, "not_possible", false, "not possible in the present state"},
    {StoreCode::wrong_transaction, "wrong_transaction", false, "wrong isolation or transaction"},
    {StoreCode::bad_text, "bad_text", false, "a text cannot be stored in this database"},
    {StoreCode::invalid, "invalid", false, "an argument was refused"},
    {StoreCode::malformed, "malformed", false, "the answer breaks the interface's promise"},
    {StoreCode::failed, "failed", false, "the statement failed"},
};

const Entry& entry_of(StoreCode code) noexcept {
  for (const Entry& entry : entries) {
    if (entry.code == code) return entry;
  }
  return entries[std::size(entries) - 1];
}

}  // namespace

std::string_view to_text(StoreCode code) noexcept { return entry_of(code).word; }

bool is_retryable(StoreCode code) noexcept { return entry_of(code).retryable; }

StoreCode code_of_sqlstate(std::string_view sqlstate) noexcept {
  const std::string_view group = sqlstate.substr(0, 2);
  if (group == "08") return StoreCode::lost_reply;
  if (sqlstate == "25006") return StoreCode::read_only;
  // 57P04: the database was dropped, 57P05: the session was idle too long.
  if (sqlstate == "57P01" || sqlstate == "57P02" || sqlstate == "57P03" || sqlstate == "57P05") {
    return StoreCode::shutting_down;
  }
  if (group == "53") return StoreCode::exhausted;
  if (sqlstate == "55P03") return StoreCode::locked;
  if (group == "40") return StoreCode::conflict;
  // 25P04: a session's transaction_timeout.
  if (sqlstate == "57014" || sqlstate == "25P04") return StoreCode::cancelled;
  if (sqlstate == "3F000" || sqlstate == "42883" || sqlstate == "42P01") {
    return StoreCode::not_ready;
  }
  if (sqlstate == "42501" || group == "28") return StoreCode::denied;
  if (sqlstate == "42704") return StoreCode::unknown_kind;
  if (sqlstate == "55000" || sqlstate == "55006") return StoreCode::not_possible;
  if (group == "25" || sqlstate == "0A000") return StoreCode::wrong_transaction;
  if (sqlstate == "22021" || sqlstate == "22P05") return StoreCode::bad_text;
  if (group == "22" || group == "42" || group == "54") return StoreCode::invalid;
  return StoreCode::failed;
}

StoreError::StoreError(StoreCode code, std::string_view phrase)
    : code_(code), what_(fmt::format("{}: {}", to_text(code), phrase)) {}

StoreError::StoreError(std::string_view sqlstate, ServerText text)
    : code_(code_of_sqlstate(sqlstate)),
      sqlstate_(sqlstate),
      server_(std::move(text)),
      what_(fmt::format("{}: {} (SQLSTATE {})", to_text(code_), entry_of(code_).phrase, sqlstate)) {
}

}  // namespace ql3
