// Books a room: hold, pay, confirm. Connects to JDBC_URL.
import java.sql.*;
import java.util.*;
import java.util.function.Predicate;

class Book {
    static final String FREE_HOUR = "SELECT tstzrange(lower(gap), lower(gap) + '1h') FROM room_availability(?,"
        + " '[2030-01-01, 2040-01-01)') AS gap WHERE upper(gap) - lower(gap) >= '1h' LIMIT 1";
    static final String ACQUIRE_ROOM = "SELECT hold_acquire(room_claim(?, ?), ?, ?, ?)";
    static final String ACQUIRE_UNITS = "SELECT hold_acquire(stock_claim(?, ?), ?, ?)";
    interface Work { void run(Connection connection, int attempt) throws SQLException; }

    // One call; in auto-commit mode its own transaction. Types.OTHER leaves a text untyped, as the server wants it.
    static String call(Connection connection, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++)
                if (values[i] instanceof Number) statement.setObject(i + 1, values[i]);
                else statement.setObject(i + 1, values[i], Types.OTHER);
            ResultSet rows = statement.executeQuery();
            return rows.next() ? rows.getString(1) : null;
        }
    }

    // The SQLSTATE of a call that is refused.
    static String refusal(Connection connection, String sql, Object... values) {
        try { call(connection, sql, values); } catch (SQLException error) { return error.getSQLState(); }
        return "not refused";
    }

    // Committed before the payment goes out: from then on nobody releases the hold. A certain no gives it back. No answer
    // is an exception of the provider: the hold waits in flight, and then for a person's review.
    static String pay(Connection db, long hold, String reference, Predicate<String> provider) throws SQLException {
        call(db, "SELECT hold_begin_payment(?, ?)", hold, reference);
        if (provider.test(reference)) return call(db, "SELECT hold_confirm(?)", hold);
        call(db, "SELECT hold_fail_payment(?, ?)", hold, reference);
        return call(db, "SELECT hold_cancel(?)", hold);
    }

    // Several statements in one transaction, repeated when it lost a race.
    static int transaction(Connection connection, Work work) throws SQLException {
        connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        connection.setAutoCommit(false);
        for (int attempt = 1;; attempt++)
            try {
                work.run(connection, attempt);
                connection.commit();
                return attempt;
            } catch (SQLException error) {
                connection.rollback();
                if (!Set.of("40001", "40P01").contains(error.getSQLState()) || attempt == 5) throw error;
            }
    }

    public static void main(String[] arguments) throws Exception {
        String url = System.getenv("JDBC_URL");
        try (Connection db = DriverManager.getConnection(url); Connection other = DriverManager.getConnection(url)) {
            String hour = call(db, FREE_HOUR, 1);
            String key = UUID.randomUUID().toString();  // makes the request safe to repeat when its answer got lost
            long hold = Long.parseLong(call(db, ACQUIRE_ROOM, 1, hour, "10 minutes", "ann", key));
            System.out.println("ann holds room 1");
            long again = Long.parseLong(call(db, ACQUIRE_ROOM, 1, hour, "10 minutes", "ann", key));
            System.out.println("the same key again: " + (again == hold ? "the same hold" : "another hold"));
            System.out.println("ben wants the same hour: " + refusal(db, ACQUIRE_ROOM, 1, hour, null, "ben", null));
            System.out.println("ann has paid: " + pay(db, hold, "payment-1", reference -> true));
            System.out.println("a second confirm: " + call(db, "SELECT hold_confirm(?)", hold));
            long unit = Long.parseLong(call(db, ACQUIRE_UNITS, 2, 1, null, "eli"));
            System.out.println("eli's card is refused: " + pay(db, unit, "payment-2", reference -> false));
            long late = Long.parseLong(call(db, ACQUIRE_UNITS, 2, 1, "50 milliseconds", "carol"));
            Thread.sleep(100);
            System.out.println("carol waited too long: " + refusal(db, "SELECT hold_confirm(?)", late));
            int attempts = transaction(db, (connection, attempt) -> {
                call(connection, "SELECT stock_availability(?)", 2);
                if (attempt == 1) call(other, ACQUIRE_UNITS, 2, 1, null, "somebody faster");
                call(connection, ACQUIRE_UNITS, 2, 1, null, "dora");
            });
            System.out.println("dora lost a race and tried again: " + attempts + " attempts");
        }
    }
}
