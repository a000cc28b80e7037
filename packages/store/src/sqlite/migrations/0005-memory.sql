-- Completed turns that a memory provider has not committed yet, each with the provider that has to. They leave when they
-- are committed, so there are few, and a scan of them in key order finds every session with such work.
CREATE TABLE marks (
  session_key   INTEGER NOT NULL,
  seq           INTEGER NOT NULL,
  run_id        TEXT    NOT NULL,
  provider      TEXT    NOT NULL,
  configuration TEXT    NOT NULL,
  at            INTEGER NOT NULL,
  PRIMARY KEY (session_key, seq)
) STRICT, WITHOUT ROWID;

-- The one segment of a session that was handed to its provider and is not committed: it keeps its range and its key.
CREATE TABLE memory_tries (
  session_key INTEGER NOT NULL PRIMARY KEY,
  key         TEXT    NOT NULL,
  up_to       INTEGER NOT NULL,
  tries       INTEGER NOT NULL,
  retry_at    INTEGER,
  code        TEXT,
  message     TEXT
) STRICT;
