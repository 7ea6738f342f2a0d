// A memory context for one step of a loop: what the step allocates goes when the step ends, so a call's memory is
// bounded by its page and not by what it read on the way.
#pragma once

#include "boundary.hpp"

namespace ql3::pg {

class scratch {
 public:
  scratch()
      : outer_(CurrentMemoryContext),
        own_(call([] { return AllocSetContextCreate(CurrentMemoryContext, "ql3 step", ALLOCSET_SMALL_SIZES); })) {
    MemoryContextSwitchTo(own_);
  }
  ~scratch() noexcept {
    MemoryContextSwitchTo(outer_);
    MemoryContextDelete(own_);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  MemoryContext outer() const noexcept { return outer_; }

 private:
  MemoryContext outer_;
  MemoryContext own_;
};

// Runs `body` in the context `where`, for what must outlive the step.
template <class Body>
auto in_memory(MemoryContext where, Body&& body) {
  struct back {
    MemoryContext previous;
    ~back() noexcept { MemoryContextSwitchTo(previous); }
  } restore{MemoryContextSwitchTo(where)};
  return body();
}

}  // namespace ql3::pg
