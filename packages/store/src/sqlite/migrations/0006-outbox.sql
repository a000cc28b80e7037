-- What must go out to a platform, chunk by chunk, as the log says it. Rows stay: that something came in and was answered
-- is what keeps a redelivery from being answered again.
CREATE TABLE outbox (
  session_key INTEGER NOT NULL,
  delivery    TEXT    NOT NULL,
  chunk       INTEGER NOT NULL,
  kind        TEXT    NOT NULL,
  lane        TEXT    NOT NULL,
  run_id      TEXT,
  approval_id TEXT,
  inbound     TEXT,
  reply_to    TEXT,
  text        TEXT,
  begun       INTEGER NOT NULL,
  state       TEXT    NOT NULL,
  sent_from   INTEGER NOT NULL,
  sent_to     INTEGER NOT NULL,
  platform_id TEXT,
  attempts    INTEGER NOT NULL,
  retry_at    INTEGER,
  code        TEXT,
  message     TEXT,
  at          INTEGER NOT NULL,
  PRIMARY KEY (session_key, delivery, chunk)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX outbox_by_inbound ON outbox (inbound) WHERE inbound IS NOT NULL;
-- What is out and done is not in it, so it is as large as what is under way or in trouble.
CREATE INDEX outbox_by_state ON outbox (state, at) WHERE state IN ('pending', 'sending', 'unknown', 'failed');

-- Small values that belong to no session. Each is changed by whoever has seen its last revision.
CREATE TABLE register (
  owner_id TEXT    NOT NULL,
  key      TEXT    NOT NULL,
  value    TEXT    NOT NULL,
  revision INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (owner_id, key)
) STRICT, WITHOUT ROWID;
