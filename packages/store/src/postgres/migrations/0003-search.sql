-- Sessions with entries or titles that the index does not have yet. Only ever appended to by commits, so that
-- none of them waits for the one who reads it.
CREATE TABLE search_queue (
  pos        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_id text COLLATE "C" NOT NULL
);
