#include "cli/top/terminal.hpp"

#include <cstdio>

#define NCURSES_WIDECHAR 1
#include <ncurses.h>

namespace ql3::cli {

namespace {

attr_t look_of(TopLine::Look look) {
  switch (look) {
    case TopLine::Look::head: return A_BOLD;
    case TopLine::Look::selected: return A_REVERSE;
    case TopLine::Look::alarm: return A_BOLD | A_STANDOUT;
    case TopLine::Look::plain: break;
  }
  return A_NORMAL;
}

std::optional<TopTerminal::Event> event_of_code(wint_t code) {
  switch (code) {
    case KEY_UP: return TopKey::up;
    case KEY_DOWN: return TopKey::down;
    case KEY_PPAGE: return TopKey::page_up;
    case KEY_NPAGE: return TopKey::page_down;
    case KEY_HOME: return TopKey::home;
    case KEY_END: return TopKey::end;
    case KEY_ENTER: return TopKey::enter;
    case KEY_BACKSPACE: return TopKey::erase;
    case KEY_RESIZE: return TopTerminal::Resized{};
    default: return std::nullopt;
  }
}

TopTerminal::Event event_of_character(wint_t character) {
  switch (character) {
    case L'\r':
    case L'\n': return TopKey::enter;
    case 0x1b: return TopKey::escape;
    case 0x08:
    case 0x7f: return TopKey::erase;
    default: return static_cast<char32_t>(character);
  }
}

}  // namespace

std::unique_ptr<TopTerminal> TopTerminal::open() {
  // initscr would end the program for a terminal it does not know.
  if (newterm(nullptr, stdout, stdin) == nullptr) return nullptr;
  if (tigetstr("cup") == nullptr) {  // the cursor cannot be placed
    endwin();
    return nullptr;
  }
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(50);
  curs_set(0);
  return std::unique_ptr<TopTerminal>(new TopTerminal);
}

TopTerminal::~TopTerminal() {
  curs_set(1);
  endwin();
}

int TopTerminal::width() const { return getmaxx(stdscr); }
int TopTerminal::height() const { return getmaxy(stdscr); }

void TopTerminal::draw(const std::vector<TopLine>& lines) {
  for (std::size_t at = 0; at < lines.size(); ++at) {
    attrset(look_of(lines[at].look));
    mvaddstr(static_cast<int>(at), 0, lines[at].text.c_str());
  }
  attrset(A_NORMAL);
  refresh();
}

std::optional<TopTerminal::Event> TopTerminal::next() {
  for (;;) {
    wint_t what = 0;
    const int kind = get_wch(&what);
    if (kind == ERR) return std::nullopt;
    if (kind != KEY_CODE_YES) return event_of_character(what);
    if (std::optional<Event> event = event_of_code(what)) return event;
  }
}

}  // namespace ql3::cli
