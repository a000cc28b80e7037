-- Completed turns that a memory provider has not committed yet, each with the provider that has to. They leave when they
-- are committed, so there are few, and a scan of them in key order finds every session with such work.
CREATE TABLE marks (
  session_id    text COLLATE "C" NOT NULL,
  seq           bigint NOT NULL,
  run_id        text COLLATE "C" NOT NULL,
  provider      text   NOT NULL,
  configuration text   NOT NULL,
  at            bigint NOT NULL,
  PRIMARY KEY (session_id, seq)
);

-- The one segment of a session that was handed to its provider and is not committed: it keeps its range and its key.
CREATE TABLE memory_tries (
  session_id text COLLATE "C" NOT NULL PRIMARY KEY,
  key        text   NOT NULL,
  up_to      bigint NOT NULL,
  tries      bigint NOT NULL,
  retry_at   bigint,
  code       text,
  message    text
);
