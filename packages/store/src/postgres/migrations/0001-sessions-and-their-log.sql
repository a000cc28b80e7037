-- Ids and cursors sort by their bytes, as they do everywhere else in Holdfast: hence COLLATE "C".
-- Payloads are text and not jsonb: an escaped NUL or half of a surrogate pair must come back as it went in.

-- The part of a session that every commit changes, and the row that it locks. Narrow, and its pages half
-- empty, so that a tick of streamed output stays within one page and touches no index.
CREATE TABLE heads (
  session_id   text COLLATE "C" PRIMARY KEY,
  head         bigint NOT NULL,
  activity_at  bigint NOT NULL,
  open_deltas  bigint NOT NULL,
  -- Deltas up to this number have an entry that stands for them: nothing reads them any more.
  settled_upto bigint NOT NULL
) WITH (fillfactor = 50);

-- What is derived from a session's log for the list and for the next commit.
CREATE TABLE sessions (
  id            text COLLATE "C" PRIMARY KEY,
  owner_id      text COLLATE "C" NOT NULL,
  version       bigint  NOT NULL,
  revision      bigint  NOT NULL,
  created_at    bigint  NOT NULL,
  sort_at       bigint  NOT NULL,
  title         text,
  title_source  text,
  preview       text    NOT NULL,
  message_count bigint  NOT NULL,
  model         text,
  workspace     text,
  pinned        boolean NOT NULL,
  archived      boolean NOT NULL,
  project       text COLLATE "C",
  tags          text    NOT NULL,
  trashed_at    bigint,
  ranges        text    NOT NULL,
  origin_id     text COLLATE "C",
  origin_seq    bigint,
  epoch         bigint  NOT NULL,
  live_run      text COLLATE "C",
  live_state    text,
  last_state    text,
  -- The part of the list that the session is in: 0 active, 1 archived, 2 trash.
  shelf         smallint NOT NULL GENERATED ALWAYS AS (
    CASE WHEN trashed_at IS NOT NULL THEN 2 WHEN archived THEN 1 ELSE 0 END
  ) STORED
);

-- The list is one scan of one of these.
CREATE INDEX sessions_by_shelf   ON sessions (owner_id, shelf, sort_at DESC, id DESC);
CREATE INDEX sessions_by_pin     ON sessions (owner_id, shelf, sort_at DESC, id DESC) WHERE pinned;
CREATE INDEX sessions_by_project ON sessions (owner_id, project, shelf, sort_at DESC, id DESC) WHERE project IS NOT NULL;

CREATE TABLE session_tags (
  owner_id   text COLLATE "C" NOT NULL,
  tag        text COLLATE "C" NOT NULL,
  shelf      smallint NOT NULL,
  sort_at    bigint   NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (session_id, tag)
);
CREATE INDEX session_tags_by_place ON session_tags (owner_id, tag, shelf, sort_at DESC, session_id DESC);

-- The log.
CREATE TABLE events (
  session_id text COLLATE "C" NOT NULL,
  seq        bigint  NOT NULL,
  id         text COLLATE "C" NOT NULL,
  type       text    NOT NULL,
  v          bigint  NOT NULL,
  at         bigint  NOT NULL,
  run_id     text COLLATE "C",
  entry      boolean NOT NULL,
  quiet      boolean NOT NULL,
  sum        bigint  NOT NULL,
  data       text    NOT NULL,
  PRIMARY KEY (session_id, seq)
);
CREATE UNIQUE INDEX events_by_id ON events (id);
CREATE INDEX events_entries ON events (session_id, seq) WHERE entry;

-- Streamed output, until it is settled and then pruned.
CREATE TABLE deltas (
  session_id text COLLATE "C" NOT NULL,
  seq        bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  type       text   NOT NULL,
  v          bigint NOT NULL,
  at         bigint NOT NULL,
  run_id     text COLLATE "C",
  quiet      boolean NOT NULL,
  sum        bigint NOT NULL,
  data       text   NOT NULL,
  PRIMARY KEY (session_id, seq)
);
CREATE UNIQUE INDEX deltas_by_id ON deltas (id);

-- Sessions with settled deltas that are still to be deleted, little by little.
CREATE TABLE settled (
  session_id text COLLATE "C" PRIMARY KEY,
  upto       bigint NOT NULL
);

CREATE TABLE runs (
  id               text COLLATE "C" PRIMARY KEY,
  session_id       text COLLATE "C" NOT NULL,
  state            text    NOT NULL,
  cause            text,
  attempt          bigint  NOT NULL,
  step             bigint  NOT NULL,
  cancel_requested boolean NOT NULL,
  continues        text COLLATE "C",
  created_at       bigint  NOT NULL,
  started_at       bigint,
  ended_at         bigint,
  journal_from     bigint  NOT NULL
);
CREATE INDEX runs_by_session ON runs (session_id, id);

-- Accepted messages. One that was taken keeps its row, so that its client id stays used for the session's life.
CREATE TABLE inputs (
  message_id text COLLATE "C" PRIMARY KEY,
  session_id text COLLATE "C" NOT NULL,
  client_id  text COLLATE "C" NOT NULL,
  hash       text   NOT NULL,
  run_id     text COLLATE "C" NOT NULL,
  seq        bigint NOT NULL,
  mode       text   NOT NULL,
  state      text   NOT NULL,
  lane       text,
  at         bigint NOT NULL,
  content    text
);
CREATE UNIQUE INDEX inputs_by_client ON inputs (session_id, client_id);
CREATE INDEX inputs_waiting ON inputs (session_id, seq) WHERE state = 'queued';

CREATE TABLE lanes (
  owner_id   text COLLATE "C" NOT NULL,
  lane       text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  at         bigint NOT NULL,
  PRIMARY KEY (owner_id, lane)
);
CREATE INDEX lanes_by_session ON lanes (session_id);

-- The ledger outlives its sessions: a purge takes the talk away, not the bill.
CREATE TABLE usage (
  session_id  text COLLATE "C" NOT NULL,
  seq         bigint NOT NULL,
  run_id      text COLLATE "C",
  owner_id    text COLLATE "C" NOT NULL,
  at          bigint NOT NULL,
  model       text   NOT NULL,
  input       bigint NOT NULL,
  output      bigint NOT NULL,
  cache_read  bigint NOT NULL,
  cache_write bigint NOT NULL,
  cost_micros bigint NOT NULL,
  PRIMARY KEY (session_id, seq)
);
CREATE INDEX usage_by_time ON usage (owner_id, at);

CREATE TABLE blobs (
  owner_id   text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL,
  media_type text   NOT NULL,
  size       bigint NOT NULL,
  refs       bigint NOT NULL,
  created_at bigint NOT NULL,
  bytes      bytea  NOT NULL,
  PRIMARY KEY (owner_id, id)
);
-- Most blobs are compressed already.
ALTER TABLE blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE INDEX blobs_unreferenced ON blobs (created_at) WHERE refs = 0;

-- Who reads whose log: a branch keeps the rows below its beginning alive.
CREATE TABLE branches (
  log_id     text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  upto       bigint NOT NULL,
  PRIMARY KEY (log_id, session_id)
);
CREATE INDEX branches_by_session ON branches (session_id);

-- What was purged, by whom it was owned and when.
CREATE TABLE purges (
  session_id text COLLATE "C" PRIMARY KEY,
  owner_id   text COLLATE "C" NOT NULL,
  at         bigint NOT NULL,
  events     bigint NOT NULL
);
