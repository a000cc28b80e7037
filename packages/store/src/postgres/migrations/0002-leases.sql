-- The greatest fence ever given; it outlives the leases, so that no fence is given twice.
CREATE TABLE fences (
  session_id text COLLATE "C" NOT NULL,
  kind       text   NOT NULL,
  fence      bigint NOT NULL,
  PRIMARY KEY (session_id, kind)
);

CREATE TABLE leases (
  session_id text COLLATE "C" NOT NULL,
  kind       text   NOT NULL,
  fence      bigint NOT NULL,
  holder     text   NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (session_id, kind)
);
CREATE INDEX leases_by_expiry ON leases (kind, expires_at, session_id);
