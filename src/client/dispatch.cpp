#include "client/dispatch.hpp"

#include <stdexcept>
#include <utility>

#include "client/dispatch_invocation.hpp"

namespace ql3 {

Dispatcher::Dispatcher(DispatchStore& store, DispatchStore& extending, DispatchOptions options,
                       Tell listener, Clock& clock)
    : store_(store),
      extending_(extending),
      options_(options),
      listener_(std::move(listener)),
      clock_(clock) {}

DispatchReport Dispatcher::dispatch(const DispatchRequest& request, const DispatchCall& call,
                                    const DispatchStop& stop) {
  if (std::string fault = request_fault(request); !fault.empty()) {
    throw std::invalid_argument(fault);
  }
  Invocation invocation(store_, extending_, options_, listener_, clock_, request, stop);
  return invocation.run(call);
}

}  // namespace ql3
