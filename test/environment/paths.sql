-- Something for every refusal that the extension knows: rooms 1 to 9, items 1 to 9, holds by their state.
INSERT INTO room SELECT g, 'Blue' FROM generate_series(1, 9) g;
INSERT INTO inventory SELECT g, 5 FROM generate_series(1, 9) g;
INSERT INTO inventory VALUES (10, 0, 1000000);
INSERT INTO slot_hold (hold_id, room_id, during, state, expires_at, holder, payment_reference) VALUES
    (1, 1, '[2047-01-01, 2047-01-02)', 'held', '2046-01-01', 'ann', NULL),
    (2, 2, '[2047-01-01, 2047-01-02)', 'held', '2046-01-01', 'ann', 'payment'),
    (3, 3, '[2047-01-01, 2047-01-02)', 'held', '2006-01-01', 'ann', NULL),
    (4, 4, '[2047-01-01, 2047-01-02)', 'held', '2006-01-01', 'ann', 'payment'),
    (5, 5, '[2047-01-01, 2047-01-02)', 'confirmed', '2046-01-01', 'ann', NULL),
    (6, 6, '[2047-01-01, 2047-01-02)', 'cancelled', '2046-01-01', 'ann', NULL),
    (7, 7, '[2047-01-01, 2047-01-02)', 'expired', '2006-01-01', 'ann', NULL),
    (8, 8, '[2047-01-01, 2047-01-02)', 'pending_review', '2006-01-01', 'ann', 'payment');
UPDATE inventory SET available = 0, capacity = 5 WHERE item_id = 2;
INSERT INTO stock_hold (hold_id, item_id, quantity, state, expires_at) VALUES (102, 2, 5, 'confirmed', '2046-01-01');
SELECT hold_acquire(stock_claim(9, 1), '1 day', NULL, 'known key');
CREATE FUNCTION broken_clock() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE 'no time'; END $$;
CREATE FUNCTION no_clock() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz';
-- A release that raises, whatever is done about it.
CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'poisoned'; END $$;
CREATE TRIGGER poison BEFORE UPDATE ON slot_hold FOR EACH ROW WHEN (OLD.room_id = 3) EXECUTE FUNCTION poison();
