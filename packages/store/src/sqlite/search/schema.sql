-- How far the index has come: the newest position of the log that is in it, and the event there, by which a store
-- that was replaced is noticed. `goal` was the log's end when the index was begun.
CREATE TABLE progress (
  pos      INTEGER NOT NULL,
  event_id TEXT,
  goal     INTEGER NOT NULL,
  next_doc INTEGER NOT NULL,
  purges   INTEGER NOT NULL
) STRICT;

-- Documents are numbered densely, in the order of the log: small gaps make small postings.
-- `place` is twice the position of the event, plus one for the title that the event gave.
CREATE TABLE documents (
  id    INTEGER PRIMARY KEY,
  place INTEGER NOT NULL
) STRICT;

-- The times of runs of documents. Clocks step back, so order alone does not say where a time is.
CREATE TABLE stretches (
  first_doc INTEGER PRIMARY KEY,
  last_doc  INTEGER NOT NULL,
  min_at    INTEGER NOT NULL,
  max_at    INTEGER NOT NULL
) STRICT;

-- The document of each session's present title.
CREATE TABLE titles (
  session_key INTEGER PRIMARY KEY,
  source      TEXT    NOT NULL,
  doc         INTEGER NOT NULL
) STRICT;

-- Purged sessions whose documents may still be here, and up to which of them this has been looked at.
CREATE TABLE purged (
  session_key INTEGER PRIMARY KEY,
  after       INTEGER NOT NULL
) STRICT;

-- Which document has which tokens; nothing of a text, and not where in it.
CREATE VIRTUAL TABLE postings USING fts5(
  tokens, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_~=^'"
);
