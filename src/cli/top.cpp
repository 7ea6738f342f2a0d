// ql3 top: what ql3 status says of targets and dispatches, row by row and live.
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/top/feed.hpp"
#include "cli/top/terminal.hpp"

namespace ql3::cli {

namespace {

struct TopOptions {
  DatabaseOptions database;
  Milliseconds interval = std::chrono::seconds(2);
  std::string order = "age";
  std::string filter;
  bool once = false;
};

int print_once(const TopOptions& options, TopSnapshot seen) {
  TopModel model(*order_of(options.order), options.filter);
  if (options.database.json) {
    // In the order and through the filter that were asked for.
    TopSnapshot shown = seen;
    model.show(std::move(seen));
    shown.rows.clear();
    for (const TopRow* const row : model.rows()) shown.rows.push_back(*row);
    fmt::print("{}\n",
               to_json(shown).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    model.show(std::move(seen));
    for (const std::string& line : model.plain_lines()) fmt::print("{}\n", line);
  }
  std::fflush(stdout);
  return done;
}

// Ids and reasons are UTF-8 whatever the environment says, or forgets to say.
void use_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
}

// What asks the program to end, as something to poll. REQUIRES: no other thread yet: they inherit
// the mask. The terminal's own stop and resize signals stay with ncurses, on this thread.
int watch_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC);
}

// Other threads leave the signals of the terminal to this one.
class MaskedWhileStarting {
 public:
  MaskedWhileStarting() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGWINCH, SIGTSTP, SIGCONT}) sigaddset(&set, number);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~MaskedWhileStarting() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

class TopScreen {
 public:
  TopScreen(const TopOptions& options, TopSnapshot first, std::unique_ptr<TopTerminal> terminal)
      : model_(*order_of(options.order), options.filter),
        signals_(watch_signals()),
        news_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        terminal_(std::move(terminal)) {
    model_.show(std::move(first));
    const MaskedWhileStarting masked;
    feed_ = std::make_unique<TopFeed>(options.database, options.interval, news_);
  }

  void run() {
    bool go_on = true;
    while (go_on) {
      terminal_->draw(model_.lines(terminal_->width(), terminal_->height()));
      pollfd wait[] = {{STDIN_FILENO, POLLIN, 0}, {signals_, POLLIN, 0}, {news_, POLLIN, 0}};
      // Interrupted is fine: a resize waits among the keys then.
      if (poll(wait, std::size(wait), -1) >= 0) {
        const bool hung_up = (wait[0].revents & (POLLHUP | POLLERR)) != 0;
        if (wait[1].revents != 0 || hung_up) return;
        if (wait[2].revents != 0) hear();
      }
      go_on = read_keys();
    }
  }

  // The terminal first: a statement in flight may take its time.
  void end() {
    terminal_.reset();
    if (feed_->idle()) return;
    std::fflush(stdout);
    std::_Exit(done);
  }

 private:
  void hear() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(news_, &count, sizeof count);
    for (TopFeed::News& each : feed_->take()) {
      if (each.seen) model_.show(std::move(*each.seen));
      if (!each.lost.empty()) model_.lost(std::move(each.lost));
      if (!each.told.empty()) model_.tell(std::move(each.told));
    }
  }

  // False when that was the last key.
  bool read_keys() {
    while (const std::optional<TopTerminal::Event> event = terminal_->next()) {
      TopWish wish;
      if (const auto* const key = std::get_if<TopKey>(&*event)) wish = model_.press(*key);
      if (const auto* const character = std::get_if<char32_t>(&*event))
        wish = model_.press(*character);
      if (wish.quit) return false;
      if (wish.release) feed_->release(std::move(*wish.release));
      if (wish.look_now) feed_->look_now();
    }
    return true;
  }

  TopModel model_;
  const int signals_;
  const int news_;
  std::unique_ptr<TopTerminal> terminal_;
  std::unique_ptr<TopFeed> feed_;
};

int top(const TopOptions& options) {
  use_utf8();
  // The first look is outside of the screen: what is wrong at the start is told like by any
  // command.
  TopSnapshot first = [&] {
    Connection connection(top_connection(options.database));
    return read_snapshot(connection);
  }();
  const bool live = !options.once && !options.database.json && isatty(STDIN_FILENO) != 0 &&
                    isatty(STDOUT_FILENO) != 0;
  std::unique_ptr<TopTerminal> terminal = live ? TopTerminal::open() : nullptr;
  if (!terminal) return print_once(options, std::move(first));
  TopScreen screen(options, std::move(first), std::move(terminal));
  screen.run();
  screen.end();
  return done;
}

}  // namespace

void add_top(CLI::App& program, Run& run) {
  const auto options = std::make_shared<TopOptions>();
  CLI::App& app = *program.add_subcommand("top",
                                          "held, waiting and parked targets and open dispatches, "
                                          "live; one look elsewhere than at a terminal");
  add_duration(app, "--interval", options->interval, Milliseconds(250), std::chrono::hours(1),
               "time between two looks (default 2s)");
  app.add_option("--order", options->order, "what comes first")
      ->check(CLI::IsMember({"age", "failures", "kind", "state", "owner"}))
      ->capture_default_str();
  app.add_option("--filter", options->filter, "only rows that have this text");
  app.add_flag("--once", options->once, "one look, also at a terminal");
  add_database_options(app, options->database);
  app.footer(
      "Keys: q quit, arrows and pages select, a f k s o order by age, failures, kind, state, owner "
      "(again: "
      "reversed), / filter, r release the selected target, space look now.");
  app.callback([options, &run] { run = [options] { return top(*options); }; });
}

}  // namespace ql3::cli
