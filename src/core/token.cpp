#include "token.hpp"

#include "error.hpp"

namespace ql3 {

void check_token(const unsigned char (&bytes)[16], std::string_view argument) {
  if (is_random_uuid(bytes)) return;
  message_text<error_text_max> message;
  message << argument << " is not a random uuid";
  throw error(sqlstate::invalid_parameter, message,
              "Use a uuid of version 4 or 7, as gen_random_uuid() makes it.");
}

}  // namespace ql3
