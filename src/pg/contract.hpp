// What this library was built for: the catalog contract of one version of the install script (`make contract`).
#pragma once

#include <string_view>

namespace ql3::pg {

constexpr std::string_view core_extension = "ql3";
constexpr std::string_view ledger_extension = "ql3_ledger";

// One object of the installation and its normal form (catalog_form.hpp).
struct contract_line {
  std::string_view object;
  std::string_view form;
};

// Takes the next line off `rest`, in byte order of the objects. False at the end.
bool next_line(std::string_view& rest, contract_line& to) noexcept;

// Every line, "object<TAB>form<LF>".
std::string_view shipped_contract() noexcept;
// The same of ql3_ledger, which is shipped with it.
std::string_view shipped_ledger_contract() noexcept;

// The version of the extension whose SQL belongs to this library.
std::string_view library_version() noexcept;

}  // namespace ql3::pg
