-- The greatest fence ever given; it outlives the leases, so that no fence is given twice.
CREATE TABLE fences (
  session_key INTEGER NOT NULL,
  kind        TEXT    NOT NULL,
  fence       INTEGER NOT NULL,
  PRIMARY KEY (session_key, kind)
) STRICT, WITHOUT ROWID;

-- Only what is held is here, so it stays small, and a sweep simply looks through it.
CREATE TABLE leases (
  session_key INTEGER NOT NULL,
  kind        TEXT    NOT NULL,
  fence       INTEGER NOT NULL,
  holder      TEXT    NOT NULL,
  expires_at  INTEGER NOT NULL,
  PRIMARY KEY (session_key, kind)
) STRICT, WITHOUT ROWID;
