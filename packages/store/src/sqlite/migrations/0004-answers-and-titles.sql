-- What a request under an idempotency key was answered: the same again gets it again, for seven days. A purge takes
-- along what was answered about its session.
CREATE TABLE requests (
  owner_id    TEXT    NOT NULL,
  key         TEXT    NOT NULL,
  hash        TEXT    NOT NULL,
  session_key INTEGER,
  answer      TEXT    NOT NULL,
  at          INTEGER NOT NULL,
  PRIMARY KEY (owner_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_by_time    ON requests (at);
CREATE INDEX requests_by_session ON requests (session_key) WHERE session_key IS NOT NULL;

-- Sessions whose title is still the beginning of their first message. They leave when one is generated or chosen, so
-- there are never many.
CREATE INDEX sessions_to_title ON sessions (key)
  WHERE title_source = 'derived' AND last_state = 'completed' AND trashed_at IS NULL;
