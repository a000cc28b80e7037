-- What is derived from a session's log for the list and for the next commit. `key` is the short name that
-- rows of the log use; it never leaves this file.
CREATE TABLE sessions (
  key           INTEGER PRIMARY KEY AUTOINCREMENT,
  id            TEXT    NOT NULL UNIQUE,
  owner_id      TEXT    NOT NULL,
  head          INTEGER NOT NULL,
  version       INTEGER NOT NULL,
  revision      INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  activity_at   INTEGER NOT NULL,
  sort_at       INTEGER NOT NULL,
  title         TEXT,
  title_source  TEXT,
  preview       TEXT    NOT NULL,
  message_count INTEGER NOT NULL,
  model         TEXT,
  workspace     TEXT,
  pinned        INTEGER NOT NULL,
  archived      INTEGER NOT NULL,
  project       TEXT,
  tags          TEXT    NOT NULL,
  trashed_at    INTEGER,
  ranges        TEXT    NOT NULL,
  origin_id     TEXT,
  origin_seq    INTEGER,
  epoch         INTEGER NOT NULL,
  live_run      TEXT,
  live_state    TEXT,
  last_state    TEXT,
  -- The part of the list that the session is in: 0 active, 1 archived, 2 trash.
  shelf         INTEGER NOT NULL GENERATED ALWAYS AS (
    CASE WHEN trashed_at IS NOT NULL THEN 2 WHEN archived = 1 THEN 1 ELSE 0 END
  ) VIRTUAL
) STRICT;

-- The list is one scan of one of these.
CREATE INDEX sessions_by_shelf   ON sessions (owner_id, shelf, sort_at DESC, id DESC);
CREATE INDEX sessions_by_pin     ON sessions (owner_id, shelf, sort_at DESC, id DESC) WHERE pinned = 1;
CREATE INDEX sessions_by_project ON sessions (owner_id, project, shelf, sort_at DESC, id DESC) WHERE project IS NOT NULL;

CREATE TABLE session_tags (
  owner_id    TEXT    NOT NULL,
  tag         TEXT    NOT NULL,
  shelf       INTEGER NOT NULL,
  sort_at     INTEGER NOT NULL,
  id          TEXT    NOT NULL,
  session_key INTEGER NOT NULL,
  PRIMARY KEY (owner_id, tag, shelf, sort_at DESC, id DESC)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_tags_by_session ON session_tags (session_key);

-- The log. `pos` is the order of commits in the whole file, for those who follow everything (search).
CREATE TABLE events (
  pos         INTEGER PRIMARY KEY AUTOINCREMENT,
  session_key INTEGER NOT NULL,
  seq         INTEGER NOT NULL,
  id          TEXT    NOT NULL,
  type        TEXT    NOT NULL,
  v           INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  run_id      TEXT,
  entry       INTEGER NOT NULL,
  quiet       INTEGER NOT NULL,
  sum         INTEGER NOT NULL,
  data        TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_seq ON events (session_key, seq);
CREATE UNIQUE INDEX events_by_id  ON events (id);

-- Sessions with a run under way: the part of their row that changes with every tick, kept small and together
-- so that hundreds of streaming runs touch a handful of pages. Absent: `sessions.head` and `activity_at` are current.
CREATE TABLE live (
  session_key INTEGER PRIMARY KEY,
  head        INTEGER NOT NULL,
  activity_at INTEGER NOT NULL,
  open_deltas INTEGER NOT NULL,
  -- The newest delta; the others hang on it by `prev`.
  last_delta  INTEGER
) STRICT;

-- Streamed output until it is settled. Only ever appended at its end, whatever the session: no index.
CREATE TABLE deltas (
  pos         INTEGER PRIMARY KEY,
  prev        INTEGER,
  session_key INTEGER NOT NULL,
  seq         INTEGER NOT NULL,
  id          TEXT    NOT NULL,
  type        TEXT    NOT NULL,
  v           INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  run_id      TEXT,
  quiet       INTEGER NOT NULL,
  sum         INTEGER NOT NULL,
  data        TEXT    NOT NULL
) STRICT;

-- Chains of deltas whose settlement is committed: to be deleted, little by little.
CREATE TABLE settled_chains (
  last_delta  INTEGER PRIMARY KEY,
  session_key INTEGER NOT NULL
) STRICT;

CREATE TABLE runs (
  id               TEXT    PRIMARY KEY,
  session_key      INTEGER NOT NULL,
  state            TEXT    NOT NULL,
  cause            TEXT,
  attempt          INTEGER NOT NULL,
  step             INTEGER NOT NULL,
  cancel_requested INTEGER NOT NULL,
  continues        TEXT,
  created_at       INTEGER NOT NULL,
  started_at       INTEGER,
  ended_at         INTEGER,
  journal_from     INTEGER NOT NULL
) STRICT;
CREATE INDEX runs_by_session ON runs (session_key, created_at);

-- Accepted messages. One that was taken keeps its row, so that its client id stays used for the session's life.
CREATE TABLE inputs (
  message_id  TEXT    PRIMARY KEY,
  session_key INTEGER NOT NULL,
  client_id   TEXT    NOT NULL,
  hash        TEXT    NOT NULL,
  run_id      TEXT    NOT NULL,
  seq         INTEGER NOT NULL,
  mode        TEXT    NOT NULL,
  state       TEXT    NOT NULL,
  lane        TEXT,
  at          INTEGER NOT NULL,
  content     TEXT
) STRICT;
CREATE UNIQUE INDEX inputs_by_client ON inputs (session_key, client_id);
CREATE INDEX inputs_waiting ON inputs (session_key, seq) WHERE state = 'queued';

CREATE TABLE lanes (
  owner_id    TEXT    NOT NULL,
  lane        TEXT    NOT NULL,
  session_key INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  PRIMARY KEY (owner_id, lane)
) STRICT, WITHOUT ROWID;
CREATE INDEX lanes_by_session ON lanes (session_key);

-- The ledger outlives its sessions: a purge takes the talk away, not the bill. Hence the full id.
CREATE TABLE usage (
  session_id   TEXT    NOT NULL,
  seq          INTEGER NOT NULL,
  run_id       TEXT,
  owner_id     TEXT    NOT NULL,
  at           INTEGER NOT NULL,
  model        TEXT    NOT NULL,
  input        INTEGER NOT NULL,
  output       INTEGER NOT NULL,
  cache_read   INTEGER NOT NULL,
  cache_write  INTEGER NOT NULL,
  cost_micros  INTEGER NOT NULL,
  PRIMARY KEY (session_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_time ON usage (owner_id, at);

CREATE TABLE blobs (
  key        INTEGER PRIMARY KEY,
  owner_id   TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  media_type TEXT    NOT NULL,
  size       INTEGER NOT NULL,
  refs       INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  bytes      BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX blobs_by_id ON blobs (owner_id, id);
CREATE INDEX blobs_unreferenced ON blobs (created_at) WHERE refs = 0;

-- Who reads whose log: a branch keeps the rows below its beginning alive.
CREATE TABLE branches (
  log_id      TEXT    NOT NULL,
  session_key INTEGER NOT NULL,
  upto        INTEGER NOT NULL,
  PRIMARY KEY (log_id, session_key)
) STRICT, WITHOUT ROWID;

-- What was purged, by whom it was owned and when.
CREATE TABLE purges (
  session_id  TEXT    PRIMARY KEY,
  session_key INTEGER NOT NULL,
  owner_id    TEXT    NOT NULL,
  at          INTEGER NOT NULL,
  events      INTEGER NOT NULL
) STRICT;
