-- Calls that wait, or waited, for a person's word.
CREATE TABLE approvals (
  id          text COLLATE "C" PRIMARY KEY,
  session_id  text COLLATE "C" NOT NULL,
  owner_id    text COLLATE "C" NOT NULL,
  run_id      text COLLATE "C" NOT NULL,
  call_id     text COLLATE "C" NOT NULL,
  tool        text   NOT NULL,
  input       text   NOT NULL,
  input_hash  text   NOT NULL,
  asked_at    bigint NOT NULL,
  expires_at  bigint NOT NULL,
  state       text   NOT NULL,
  decision    text,
  answered_at bigint
);
-- Those that are open are few, whatever has been answered before.
CREATE INDEX approvals_open            ON approvals (owner_id, asked_at, id) WHERE state = 'open';
CREATE INDEX approvals_open_in_session ON approvals (session_id, asked_at, id) WHERE state = 'open';
CREATE INDEX approvals_by_expiry       ON approvals (expires_at, id) WHERE state = 'open';
CREATE INDEX approvals_by_run          ON approvals (session_id, run_id);
CREATE INDEX approvals_for_session     ON approvals (session_id) WHERE decision IN ('session', 'always');

-- A sweep looks at the sessions with a live run, and at no others.
CREATE INDEX sessions_live ON sessions (id) WHERE live_run IS NOT NULL;

-- What a run's limits are counted from, across take-overs.
ALTER TABLE runs
  ADD COLUMN tries       bigint NOT NULL DEFAULT 0,
  ADD COLUMN rests_since bigint,
  ADD COLUMN rested_ms   bigint NOT NULL DEFAULT 0;

-- Only of runs that have not ended, which are few. The payload is text, so that a number is looked for in it as text.
UPDATE runs SET rests_since =
    (SELECT max(e.at) FROM events e
      WHERE e.session_id = runs.session_id AND e.run_id = runs.id AND e.type = 'run.state')
 WHERE state IN ('waiting', 'paused');
UPDATE runs SET tries = coalesce(
    (SELECT coalesce(substring(e.data FROM '"try":([0-9]+)')::bigint, 0) FROM events e
      WHERE e.session_id = runs.session_id AND e.run_id = runs.id AND e.type = 'step.started'
        AND NOT EXISTS (
          SELECT 1 FROM events m
           WHERE m.session_id = e.session_id AND m.seq > e.seq AND m.run_id = runs.id
             AND m.type = 'message.assistant'
             AND m.data !~ '"partial":"(cancelled|interrupted|failed|limit)"')
      ORDER BY e.seq DESC LIMIT 1), 0)
 WHERE state IN ('claimed', 'running', 'waiting', 'paused') AND step > 0;
