#include "cli/exit_code.hpp"

namespace ql3::cli {

ExitCode exit_code_of(const StoreError& error) noexcept {
  switch (error.code()) {
    case StoreCode::unreachable:
    case StoreCode::lost_reply:
    case StoreCode::read_only:
    case StoreCode::shutting_down:
    case StoreCode::exhausted: return unreachable;
    case StoreCode::not_ready:
    case StoreCode::denied:
    case StoreCode::unknown_kind:
    case StoreCode::not_possible:
    case StoreCode::wrong_transaction: return not_ready;
    case StoreCode::bad_text:
    case StoreCode::invalid: return usage;
    case StoreCode::locked:
    case StoreCode::conflict:
    case StoreCode::cancelled:
    case StoreCode::malformed:
    case StoreCode::failed: return not_converged;
  }
  return not_converged;
}

}  // namespace ql3::cli
