import java.io.IOException;
import java.net.URI;
import java.net.http.*;
import java.sql.*;
import java.time.Duration;
import java.util.*;

/**
 * A dispatch with JDBC: posts to URL at most once for this item of this request.
 *
 * <pre>java -cp postgresql.jar:. Dispatch jdbc:postgresql://... REQUEST ITEM URL</pre> exits as `ql3 dispatch` does.
 */
public final class Dispatch {
  private static final Map<String, Integer> EXITS = Map.of("succeeded", 0, "failed", 10, "foreign", 11, "concluded", 12,
      "identity_conflict", 13, "halted", 14, "unknown", 15, "not_sent", 16, "released", 16);
  private static final Set<String> AGAIN = Set.of("25006", "40001", "55P03", "57P01", "57P02", "57P03"); // refused for now
  private static final Duration MINUTE = Duration.ofMinutes(1), FOREVER = Duration.ofDays(36500);

  /** One statement on a connection of its own, which is given up with whatever may still come over it. */
  private static Object[] once(String url, String sql, Object... values) throws SQLException {
    try (var connection = DriverManager.getConnection(url); var statement = connection.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
      try (var result = statement.executeQuery()) {
        result.next();
        return new Object[] {result.getObject(1), result.getMetaData().getColumnCount() > 1 ? result.getObject(2) : null};
      }
    }
  }

  /** Repeats a call whose answer was lost, as it was: ql3 knows it by its token, and answers the same. */
  private static Object[] ask(Duration patience, String url, String sql, Object... values) throws Exception {
    for (long begin = System.nanoTime();; Thread.sleep(500)) {
      try {
        return once(url, sql, values);
      } catch (SQLException e) {
        boolean lost = e.getSQLState() == null || e.getSQLState().startsWith("08");
        if (!(lost || AGAIN.contains(e.getSQLState())) || System.nanoTime() - begin > patience.toSeconds() * 1e9) throw e;
      }
    }
  }

  private static String[] post(String url, String request, String item) throws InterruptedException {
    var body = HttpRequest.BodyPublishers.ofString("{\"request\": \"" + request + "\", \"item\": \"" + item + "\"}");
    var http = HttpRequest.newBuilder(URI.create(url)).version(HttpClient.Version.HTTP_1_1).timeout(MINUTE).POST(body).build();
    try {
      int status = HttpClient.newHttpClient().send(http, HttpResponse.BodyHandlers.discarding()).statusCode();
      return new String[] {status / 100 == 2 ? "succeeded" : "failed", "HTTP " + status};
    } catch (IOException e) {
      return new String[] {"unknown", e.toString()}; // it may have arrived
    }
  }

  public static void main(String[] args) throws Exception {
    String db = args[0], request = args[1], item = args[2], url = args[3], what = "{\"url\": \"" + url + "\"}";
    String writer = "pid-" + ProcessHandle.current().pid();
    UUID token = UUID.randomUUID(), permit = UUID.randomUUID();
    var answer = ask(MINUTE, db, "SELECT verdict, detail FROM ql3.ql3_dispatch_claim(?, ?, 'restart', ?::jsonb, ?, ?)",
        request, item, what, writer, token);
    String[] end = {(String) answer[0], (String) answer[1]};
    if (end[0].equals("recorded")) { // else another's, done, or halted until an operator has spoken: in no case a call
      long asked = System.nanoTime();
      boolean granted = false;
      end = new String[] {"not_sent", "no permission"};
      try {
        granted = (Boolean) once(db, "SELECT ql3.ql3_dispatch_permit(?, ?, ?, ?, ?)", request, item, writer, token, permit)[0];
      } catch (SQLException e) {
        end[1] = e.getMessage(); // lost or refused: no answer, no call, and never asked again
      }
      // With the call's own minute, less than half of observe_after.
      if (granted && System.nanoTime() - asked < 60e9) end = post(url, request, item);
      var settle = "SELECT ql3.ql3_dispatch_settle(?, ?, ?, ?, ?, ?, ?)";
      var stored = ask(FOREVER, db, settle, request, item, writer, token, end[0], end[1], permit)[0];
      if (granted && Set.of("absent", "foreign").contains(stored)) { // a failover has lost our row
        ask(FOREVER, db, "SELECT ql3.ql3_dispatch_reassert(?, ?, 'restart', ?::jsonb, ?, ?, ?)",
            request, item, what, writer, token, end[0]);
      }
    }
    System.out.println(end[0] + " " + Objects.toString(end[1], ""));
    System.exit(EXITS.get(end[0]));
  }
}
