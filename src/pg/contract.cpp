#include "contract.hpp"

// Another version of the library, for the tests of an upgrade, is made of another contract.
#ifndef QL3_CONTRACT
#define QL3_CONTRACT "catalog.contract"
#endif

namespace ql3::pg {

namespace {

constexpr char shipped[] =
#include QL3_CONTRACT
    ;

constexpr char shipped_ledger[] =
#include "ledger.contract"
    ;

// The line break after the opening parenthesis is no part of it.
constexpr std::string_view without_first_break(std::string_view text) noexcept {
  if (!text.empty() && text.front() == '\n') text.remove_prefix(1);
  return text;
}

}  // namespace

std::string_view shipped_contract() noexcept { return without_first_break({shipped, sizeof shipped - 1}); }

std::string_view shipped_ledger_contract() noexcept {
  return without_first_break({shipped_ledger, sizeof shipped_ledger - 1});
}

bool next_line(std::string_view& rest, contract_line& to) noexcept {
  std::size_t const end = rest.find('\n');
  if (end == std::string_view::npos) return false;
  std::string_view const line = rest.substr(0, end);
  std::size_t const tab = line.find('\t');
  to = {line.substr(0, tab), tab == std::string_view::npos ? std::string_view{} : line.substr(tab + 1)};
  rest.remove_prefix(end + 1);
  return true;
}

std::string_view library_version() noexcept {
  constexpr std::string_view before = "version ";
  std::string_view rest = shipped_contract();
  for (contract_line line; next_line(rest, line);)
    if (line.object == "extension ql3" && line.form.substr(0, before.size()) == before) {
      std::string_view const after = line.form.substr(before.size());
      return after.substr(0, after.find(' '));
    }
  return "of no version";
}

}  // namespace ql3::pg
