-- What must go out to a platform, chunk by chunk, as the log says it. Rows stay: that something came in and was answered
-- is what keeps a redelivery from being answered again.
CREATE TABLE outbox (
  session_id  text COLLATE "C" NOT NULL,
  delivery    text COLLATE "C" NOT NULL,
  chunk       bigint NOT NULL,
  kind        text   NOT NULL,
  lane        text COLLATE "C" NOT NULL,
  run_id      text COLLATE "C",
  approval_id text COLLATE "C",
  inbound     text COLLATE "C",
  reply_to    text,
  text        text,
  begun       bigint NOT NULL,
  state       text   NOT NULL,
  sent_from   bigint NOT NULL,
  sent_to     bigint NOT NULL,
  platform_id text,
  attempts    bigint NOT NULL,
  retry_at    bigint,
  code        text,
  message     text,
  at          bigint NOT NULL,
  PRIMARY KEY (session_id, delivery, chunk)
);

CREATE UNIQUE INDEX outbox_by_inbound ON outbox (inbound) WHERE inbound IS NOT NULL;
-- What is out and done is not in it, so it is as large as what is under way or in trouble.
CREATE INDEX outbox_by_state ON outbox (state, at) WHERE state IN ('pending', 'sending', 'unknown', 'failed');

-- Small values that belong to no session. Each is changed by whoever has seen its last revision.
CREATE TABLE register (
  owner_id text COLLATE "C" NOT NULL,
  key      text COLLATE "C" NOT NULL,
  value    text   NOT NULL,
  revision bigint NOT NULL,
  at       bigint NOT NULL,
  PRIMARY KEY (owner_id, key)
);
