#include "json_bytes.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace ql3::pg {

namespace {

void append_scalar(StringInfo to, const JsonbValue& value) {
  switch (value.type) {
    case jbvNull: appendStringInfoChar(to, 'n'); return;
    case jbvBool: appendStringInfoChar(to, value.val.boolean ? 't' : 'f'); return;
    // Equal exactly where the numbers are: 1.0 is 1.
    case jbvNumeric: appendStringInfo(to, "%s;", numeric_normalize(value.val.numeric)); return;
    case jbvString:
      appendStringInfo(to, "%d:", value.val.string.len);
      appendBinaryStringInfo(to, value.val.string.val, value.val.string.len);
      return;
    default: elog(ERROR, "unexpected jsonb value of type %d", static_cast<int>(value.type));
  }
}

}  // namespace

// Keys come in the order in which jsonb keeps them, which is by length and bytes.
std::string_view json_bytes(Datum document) {
  StringInfo const made = call([&] {
    StringInfo const to = makeStringInfo();
    JsonbIterator* at = JsonbIteratorInit(&DatumGetJsonbP(document)->root);
    for (;;) {
      JsonbValue value;
      JsonbIteratorToken const token = JsonbIteratorNext(&at, &value, false);
      switch (token) {
        case WJB_DONE: return to;
        case WJB_BEGIN_ARRAY: appendStringInfoChar(to, value.val.array.rawScalar ? '(' : '['); break;
        case WJB_END_ARRAY: appendStringInfoChar(to, ']'); break;
        case WJB_BEGIN_OBJECT: appendStringInfoChar(to, '{'); break;
        case WJB_END_OBJECT: appendStringInfoChar(to, '}'); break;
        case WJB_KEY:
        case WJB_VALUE:
        case WJB_ELEM: append_scalar(to, value); break;
      }
    }
  });
  return {made->data, static_cast<std::size_t>(made->len)};
}

}  // namespace ql3::pg
