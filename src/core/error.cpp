#include "error.hpp"

namespace ql3 {

namespace {

bool is_sqlstate(const char* code) noexcept {
  if (code == nullptr) return false;
  for (int i = 0; i < 5; ++i) {
    const char c = code[i];
    if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'))) return false;
  }
  return code[5] == '\0';
}

}  // namespace

error::error(const char* sqlstate, std::string_view message, std::string_view hint,
             std::string_view detail) noexcept {
  const char* const code = is_sqlstate(sqlstate) ? sqlstate : sqlstate::internal_error;
  for (int i = 0; i < 6; ++i) sqlstate_[i] = code[i];
  message_ << message;
  hint_ << hint;
  detail_ << detail;
}

error::~error() = default;

}  // namespace ql3
