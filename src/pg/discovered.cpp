#include "discovered.hpp"

namespace ql3::pg {

namespace {

// A claim makes few steps; what does not fit is found by the sweep.
constexpr int range_count = 32;

struct range {
  SubTransactionId made_in;
  std::int64_t generation;
  char kind[kind_max + 1];
  place from;
  place to;
};

constinit range ranges[range_count]{};
constinit int used = 0;

// Gives back the ranges of one subtransaction (all of them for InvalidSubTransactionId).
void give_back(SubTransactionId of) noexcept {
  int kept = 0;
  for (int at = 0; at < used; ++at) {
    range& each = ranges[at];
    if (of == InvalidSubTransactionId || each.made_in == of) open_gap(each.kind, each.generation, each.from, each.to);
    else ranges[kept++] = each;
  }
  used = kept;
}

void on_transaction_event(XactEvent event, void*) {
  if (event == XACT_EVENT_ABORT) give_back(InvalidSubTransactionId);
  if (event == XACT_EVENT_COMMIT) used = 0;
}

void on_subtransaction_event(SubXactEvent event, SubTransactionId ended, SubTransactionId parent, void*) {
  if (event == SUBXACT_EVENT_ABORT_SUB) give_back(ended);
  if (event != SUBXACT_EVENT_COMMIT_SUB) return;
  for (int at = 0; at < used; ++at)
    if (ranges[at].made_in == ended) ranges[at].made_in = parent;
}

}  // namespace

void remember_discovered(std::string_view kind, std::int64_t generation, const place& from, const place& to) noexcept {
  SubTransactionId const here = GetCurrentSubTransactionId();
  if (used > 0) {
    range& last = ranges[used - 1];
    if (last.made_in == here && last.generation == generation && kind == last.kind && last.to == from) {
      last.to = to;
      return;
    }
  }
  if (used == range_count) return;
  range& fresh = ranges[used++];
  fresh = range{here, generation, {}, from, to};
  std::memcpy(fresh.kind, kind.data(), kind.size());
}

void watch_rollbacks() {
  RegisterXactCallback(on_transaction_event, nullptr);
  RegisterSubXactCallback(on_subtransaction_event, nullptr);
}

}  // namespace ql3::pg
