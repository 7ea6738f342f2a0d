#include "sentence.hpp"

#include "../core/elapsed.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
}

namespace ql3::pg {

sentence& sentence::operator<<(std::string_view words) {
  call([&] { appendBinaryStringInfo(buffer_, words.data(), static_cast<int>(words.size())); });
  return *this;
}

sentence& sentence::operator<<(std::int64_t number) { return *this << (message_text<24>() << number).view(); }

sentence& sentence::time(instant at) {
  return *this << call([&] {
    return std::string_view(DatumGetCString(DirectFunctionCall1(timestamptz_out, TimestampTzGetDatum(at))));
  });
}

sentence& sentence::from_now(instant at, instant clock) {
  if (at == instant_max || at == instant_min) return *this;
  if (at > clock) return *this << "(in " << elapsed_text(at - clock).view() << ")";
  return *this << "(" << elapsed_text(clock - at).view() << " ago)";
}

sentence& sentence::literal(std::string_view value) {
  std::string_view const plain = keep_text(value);  // a C string
  return *this << call([&] { return std::string_view(quote_literal_cstr(plain.data())); });
}

}  // namespace ql3::pg
