-- What a request under an idempotency key was answered: the same again gets it again, for seven days. A purge takes
-- along what was answered about its session.
CREATE TABLE requests (
  owner_id   text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL,
  hash       text   NOT NULL,
  session_id text COLLATE "C",
  answer     text   NOT NULL,
  at         bigint NOT NULL,
  PRIMARY KEY (owner_id, key)
);
CREATE INDEX requests_by_time    ON requests (at);
CREATE INDEX requests_by_session ON requests (session_id) WHERE session_id IS NOT NULL;

-- Sessions whose title is still the beginning of their first message. They leave when one is generated or chosen, so
-- there are never many.
CREATE INDEX sessions_to_title ON sessions (id)
  WHERE title_source = 'derived' AND last_state = 'completed' AND trashed_at IS NULL;
