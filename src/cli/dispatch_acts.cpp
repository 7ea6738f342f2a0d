// The acts of an operator on dispatches: override, record, confirm-promotion, halt and unhalt.
#include <cstdio>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "client/dispatch.hpp"

namespace ql3::cli {

namespace {

struct DispatchAct {
  DatabaseOptions database;
  Consent consent;
  std::string attempt, state, outcome;
  std::string request, item, action, arguments;
  std::string system_identifier, method;
  int timeline = 0;
  std::string halt;
  std::string reason;
};

int override_attempt(const DispatchAct& of) {
  if (!agreed(of.consent,
              fmt::format("record the override {} for attempt {} while its state is {}; it makes "
                          "nothing sendable and is not taken back",
                          of.outcome, of.attempt, of.state))) {
    return done;
  }
  const Parameter parameters[] = {of.attempt, of.state, of.outcome, of.reason};
  return act(of.database,
             "SELECT ql3.ql3_dispatch_override($1::uuid, $2::text, $3::text, $4::text)", parameters,
             "recorded");
}

int record(const DispatchAct& of) {
  // Here, because the server would repeat what it cannot read, and a secret may be in it.
  const DispatchRequest request = {of.request, of.item, of.action, of.arguments, "operator"};
  if (std::string fault = request_fault(request); !fault.empty()) {
    throw std::invalid_argument(fault);
  }
  if (!agreed(of.consent, fmt::format("record that {} of item {}, request {}, ended {}: the item "
                                      "is closed by it",
                                      of.action, of.item, of.request, of.outcome))) {
    return done;
  }
  const Parameter parameters[] = {of.request,   of.item,    of.action,
                                  of.arguments, of.outcome, of.reason};
  return act(of.database,
             "SELECT ql3.ql3_dispatch_record($1::text, $2::text, $3::text, $4::jsonb, $5::text,"
             " $6::text)",
             parameters, "recorded");
}

// What a confirmation by the method asserts, in the server's own words; empty when nothing waits
// for one.
std::string assertion(const DispatchAct& of) {
  Connection connection(operator_connection(of.database));
  const Parameter parameters[] = {"%, '" + of.method + "', %"};
  const Result rows = connection.query(
      "SELECT text FROM ql3.ql3_explain('dispatch', 'none')"
      " WHERE topic = 'confirm' AND command LIKE $1::text",
      parameters, act_limit);
  return rows.rows() > 0 ? std::string(rows.text(0, 0)) : std::string();
}

int confirm_promotion(const DispatchAct& of) {
  const std::string asserts = assertion(of);
  if (!agreed(of.consent,
              fmt::format("confirm system identifier {}, timeline {}, by method {}; that {}",
                          of.system_identifier, of.timeline, of.method,
                          asserts.empty() ? "covers what came before (nothing waits for it now)"
                                          : asserts))) {
    return done;
  }
  const Parameter parameters[] = {of.system_identifier, std::to_string(of.timeline), of.method,
                                  of.reason};
  return act(of.database,
             "SELECT ql3.ql3_confirm_promotion($1::text, $2::integer, $3::text, $4::text)",
             parameters, "confirmed");
}

// Never asked: a halt is for emergencies, and ends by unhalt.
int halt(const DispatchAct& of) {
  if (of.consent.dry_run) {
    agreed(of.consent, "halt every new claim and permit of dispatch");
    return done;
  }
  const Parameter parameters[] = {of.reason};
  Connection connection(operator_connection(of.database));
  answer(
      of.database,
      connection.query("SELECT ql3.ql3_halt_dispatch($1::text)", parameters, act_limit).text(0, 0));
  return done;
}

int unhalt(const DispatchAct& of) {
  if (!agreed(of.consent, fmt::format("end the halt {}", of.halt))) return done;
  const Parameter parameters[] = {of.halt, of.reason};
  return act(of.database, "SELECT ql3.ql3_unhalt_dispatch($1::uuid, $2::text)", parameters,
             "confirmed");
}

const CLI::IsMember outcomes({"succeeded", "failed", "unknown", "not_sent"});

}  // namespace

void add_dispatch_acts(CLI::App& program, Run& run) {
  const auto command = [&](const char* name, const char* about, int (*body)(const DispatchAct&)) {
    const auto options = std::make_shared<DispatchAct>();
    CLI::App& app = *program.add_subcommand(name, about);
    app.add_option("--reason", options->reason, "why; kept in the audit trail")->required();
    add_database_options(app, options->database);
    add_consent_options(app, options->consent);
    app.callback([options, body, &run] { run = [options, body] { return body(*options); }; });
    return std::pair<CLI::App&, DispatchAct&>(app, *options);
  };
  {
    const auto [app, of] = command("override", "say what became of an attempt", override_attempt);
    app.add_option("ATTEMPT", of.attempt, "its uuid, as ql3 explain shows it")->required();
    app.add_option("OUTCOME", of.outcome, "what it is")->required()->check(outcomes);
    app.add_option("--state", of.state, "the state you saw; another one is stale")
        ->required()
        ->check(
            CLI::IsMember({"claimed", "succeeded", "failed", "unknown", "not_sent", "released"}));
  }
  {
    const auto [app, of] =
        command("record", "record an action found outside that no row tells of", record);
    app.add_option("REQUEST", of.request, "request uid")->required();
    app.add_option("ITEM", of.item, "item of the request")->required();
    app.add_option("OUTCOME", of.outcome, "what it is")
        ->required()
        ->check(CLI::IsMember({"succeeded", "failed", "unknown"}));
    app.add_option("--action", of.action, "the action")->required();
    app.add_option("--arguments", of.arguments, "its arguments, a JSON object")->required();
  }
  {
    const auto [app, of] =
        command("confirm-promotion", "assert that the gap behind a promotion or restore is closed",
                confirm_promotion);
    app.add_option("--system-identifier", of.system_identifier, "of the live server")->required();
    app.add_option("--timeline", of.timeline, "the live timeline")->required();
    app.add_option("--method", of.method, "what you assert; see docs/dispatch.md")
        ->required()
        ->check(CLI::IsMember({"synchronous", "drained"}));
  }
  {
    const auto [app, of] = command(
        "halt-dispatch", "halt every new claim and permit until unhalt-dispatch; never asks", halt);
    app.get_option("--yes")->description("never needed");
  }
  {
    const auto [app, of] = command("unhalt-dispatch", "end one halt made by hand", unhalt);
    app.add_option("HALT", of.halt, "what halt-dispatch answered")->required();
  }
}

}  // namespace ql3::cli
