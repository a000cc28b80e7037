-- Calls that wait, or waited, for a person's word.
CREATE TABLE approvals (
  id          TEXT    PRIMARY KEY,
  session_key INTEGER NOT NULL,
  owner_id    TEXT    NOT NULL,
  run_id      TEXT    NOT NULL,
  call_id     TEXT    NOT NULL,
  tool        TEXT    NOT NULL,
  input       TEXT    NOT NULL,
  input_hash  TEXT    NOT NULL,
  asked_at    INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  state       TEXT    NOT NULL,
  decision    TEXT,
  answered_at INTEGER
) STRICT;
-- Those that are open are few, whatever has been answered before.
CREATE INDEX approvals_open            ON approvals (owner_id, asked_at, id) WHERE state = 'open';
CREATE INDEX approvals_open_in_session ON approvals (session_key, asked_at, id) WHERE state = 'open';
CREATE INDEX approvals_by_expiry       ON approvals (expires_at, id) WHERE state = 'open';
CREATE INDEX approvals_by_run          ON approvals (session_key, run_id);
CREATE INDEX approvals_for_session     ON approvals (session_key) WHERE decision IN ('session', 'always');

-- What a run's limits are counted from, across take-overs.
ALTER TABLE runs ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN rests_since INTEGER;
ALTER TABLE runs ADD COLUMN rested_ms INTEGER NOT NULL DEFAULT 0;

-- Only of runs that have not ended, which are few.
UPDATE runs SET rests_since =
    (SELECT max(e.at) FROM events e
      WHERE e.session_key = runs.session_key AND e.run_id = runs.id AND e.type = 'run.state')
 WHERE state IN ('waiting', 'paused');
UPDATE runs SET tries = coalesce(
    (SELECT coalesce(json_extract(e.data, '$.try'), 0) FROM events e
      WHERE e.session_key = runs.session_key AND e.run_id = runs.id AND e.type = 'step.started'
        AND NOT EXISTS (
          SELECT 1 FROM events m
           WHERE m.session_key = e.session_key AND m.seq > e.seq AND m.run_id = runs.id
             AND m.type = 'message.assistant' AND json_extract(m.data, '$.partial') IS NULL)
      ORDER BY e.seq DESC LIMIT 1), 0)
 WHERE state IN ('claimed', 'running', 'waiting', 'paused') AND step > 0;
