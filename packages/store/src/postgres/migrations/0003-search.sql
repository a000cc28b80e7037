-- The index of what was said. It can be thrown away and made again at any time, and no commit touches it: how far
-- it has come is compared with the heads.
CREATE TABLE search_texts (
  session_id text COLLATE "C" NOT NULL,
  seq        bigint   NOT NULL,
  role       text COLLATE "C" NOT NULL,
  owner_id   text COLLATE "C" NOT NULL,
  at         bigint   NOT NULL,
  -- Parts of words and pairs of characters, not words in the sense of a language.
  tokens     tsvector NOT NULL,
  PRIMARY KEY (session_id, seq, role)
);
CREATE INDEX search_texts_by_time  ON search_texts (owner_id, at DESC, seq DESC, session_id DESC);
CREATE INDEX search_texts_by_token ON search_texts USING gin (tokens) WITH (fastupdate = off);

CREATE TABLE search_state (
  session_id  text COLLATE "C" PRIMARY KEY,
  indexed_seq bigint NOT NULL,
  title       text
);
