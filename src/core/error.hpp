// The one exception of the core. It owns fixed buffers, so copying it cannot fail and the boundary
// can move its texts into a plain struct before it raises.
#pragma once

#include <cstddef>
#include <exception>
#include <string_view>

#include "message_text.hpp"

namespace ql3 {

namespace sqlstate {
inline constexpr char null_argument[] = "22004";
inline constexpr char invalid_parameter[] = "22023";
inline constexpr char invalid_text[] = "22P02";
inline constexpr char undefined_object[] = "42704";
inline constexpr char duplicate_object[] = "42710";
inline constexpr char reserved_name[] = "42939";
inline constexpr char undefined_column[] = "42703";
inline constexpr char datatype_mismatch[] = "42804";
inline constexpr char undefined_function[] = "42883";
inline constexpr char insufficient_privilege[] = "42501";
inline constexpr char not_in_prerequisite_state[] = "55000";
inline constexpr char object_in_use[] = "55006";
inline constexpr char lock_not_available[] = "55P03";
inline constexpr char invalid_transaction_state[] = "25000";
inline constexpr char active_sql_transaction[] = "25001";
inline constexpr char read_only_transaction[] = "25006";
inline constexpr char feature_not_supported[] = "0A000";
inline constexpr char program_limit_exceeded[] = "54000";
inline constexpr char out_of_memory[] = "53200";
inline constexpr char internal_error[] = "XX000";
}  // namespace sqlstate

inline constexpr std::size_t error_text_max = 512;

// A refusal with a SQLSTATE. Texts longer than error_text_max - 1 bytes are cut at a character
// boundary; a hint or detail that was not given is the empty string. A SQLSTATE that is not five
// characters of [0-9A-Z] becomes XX000.
class error : public std::exception {
 public:
  error(const char* sqlstate, std::string_view message, std::string_view hint = {},
        std::string_view detail = {}) noexcept;
  ~error() override;
  error(const error&) noexcept = default;
  error& operator=(const error&) noexcept = default;

  const char* sqlstate() const noexcept { return sqlstate_; }
  const char* message() const noexcept { return message_.c_str(); }
  const char* detail() const noexcept { return detail_.c_str(); }
  const char* hint() const noexcept { return hint_.c_str(); }
  const char* what() const noexcept override { return message(); }

 private:
  char sqlstate_[6];
  message_text<error_text_max> message_;
  message_text<error_text_max> detail_;
  message_text<error_text_max> hint_;
};

}  // namespace ql3
