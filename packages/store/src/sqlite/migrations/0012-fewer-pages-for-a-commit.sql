-- 0: the id is greater than those of all ordered events before it in its log, so it is found by a binary search. 1: it
-- is not. NULL: an older version wrote the row. Only the last two need an index, which most commits then don't touch.
ALTER TABLE events ADD COLUMN unordered INTEGER;
DROP INDEX events_by_id;
CREATE UNIQUE INDEX events_unordered ON events (id) WHERE unordered IS NOT 0;

-- When the session was last active, while it is at the top of its list: another message then doesn't move it, and
-- `sort_at` and its indexes stay as they are. NULL: `sort_at` is current.
ALTER TABLE sessions ADD COLUMN touched_at INTEGER;

-- AUTOINCREMENT writes a page of `sqlite_sequence` with every row. It is only needed where a purge deletes the last row:
-- no position is given twice, because search follows them. So a purge keeps the last one that there was.
ALTER TABLE purges ADD COLUMN last_pos INTEGER;
UPDATE purges SET last_pos = (SELECT seq FROM sqlite_sequence WHERE name = 'events')
 WHERE rowid = (SELECT max(rowid) FROM purges);
-- The rows are stored as before, so the declaration can be edited.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'INTEGER PRIMARY KEY AUTOINCREMENT', 'INTEGER PRIMARY KEY')
 WHERE type = 'table' AND name = 'events';
PRAGMA writable_schema = RESET;
