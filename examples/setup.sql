-- What the examples need: the extension, a room, an item.
CREATE EXTENSION reservation CASCADE;
INSERT INTO room VALUES (1, 'Blue room');
INSERT INTO inventory VALUES (2, 100);
