import java.sql.*;
import java.util.*;

/**
 * A supervisor with JDBC: judges the lost targets of kind "job" until none can be claimed.
 *
 * <pre>java -cp postgresql.jar:. Supervisor jdbc:postgresql://... OWNER</pre>
 */
public final class Supervisor {
  /** Moved, or refused for the moment: nothing was done, the same call may be repeated. */
  private static final Set<String> AGAIN = Set.of("25006", "40001", "40P01", "55P03", "57P01", "57P02", "57P03");

  private final String url;
  private Connection connection;

  private Supervisor(String url) {
    this.url = url;
  }

  /** One statement in autocommit, as JDBC begins: no transaction is open while a probe looks. */
  private List<Object[]> once(String sql, Object... values) throws SQLException {
    if (connection == null) connection = DriverManager.getConnection(url);
    try (var statement = connection.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) statement.setObject(i + 1, values[i]);
      var rows = new ArrayList<Object[]>();
      try (var result = statement.executeQuery()) {
        while (result.next()) {
          var row = new Object[result.getMetaData().getColumnCount()];
          for (int i = 0; i < row.length; i++) row[i] = result.getObject(i + 1);
          rows.add(row);
        }
      }
      return rows;
    }
  }

  /** Repeats a call whose answer was lost, as it was: ql3 knows it by its token, and answers the same. */
  private List<Object[]> ask(String sql, Object... values) throws SQLException, InterruptedException {
    for (long end = System.nanoTime() + 30_000_000_000L, pause = 100;; pause = Math.min(2 * pause, 5000)) {
      try {
        return once(sql, values);
      } catch (SQLException e) {
        boolean lost = e.getSQLState() == null || e.getSQLState().startsWith("08");
        if (!(lost || AGAIN.contains(e.getSQLState())) || System.nanoTime() > end) throw e;
        if (connection != null) connection.close();
        connection = null;
      }
      Thread.sleep(pause);
    }
  }

  /** Only the form; a real one compares start times too, since a pid is given again (docs/probes.md). */
  private static String probe(Integer pid) {
    if (pid == null) return "unknown";
    return ProcessHandle.of(pid).isPresent() ? "running" : "not_running";
  }

  public static void main(String[] args) throws Exception {
    var db = new Supervisor(args[0]);
    while (true) {
      var token = UUID.randomUUID(); // made before the call, so that a lost reply can be asked for again
      var page = db.ask("SELECT id, version, (source->>'pid')::int, source"
          + " FROM ql3.ql3_claim(?, 16, '30 s', ?, '{job}')", args[1], token);
      if (page.isEmpty()) break;
      for (var target : page) {
        String verdict = probe((Integer) target[2]);
        Object word = verdict.equals("not_running")
            ? db.ask("SELECT ql3.ql3_conclude('job', ?, ?, ?, ?, ?, ?)", target[0], args[1], token, target[1], verdict,
                target[3]).get(0)[0]
            : db.ask("SELECT ql3.ql3_settle('job', ?, ?, ?, ?, 'retry', '10 s', ?)", target[0], args[1], token,
                target[1], verdict).get(0)[0];
        // fenced: our claim ran out, another may have the target. Nothing was changed and nothing is repeated:
        // whoever holds it now decides. stale: the facts have changed, it will be judged anew.
        System.out.println(target[0] + ": " + word);
      }
    }
  }
}
