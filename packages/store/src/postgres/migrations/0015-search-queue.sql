-- Works beside hosts of schema 0014 and newer.
-- Sessions that the search index has yet to look at: new entries, another title, purged, or no longer read by a branch.
-- Triggers fill it, so that what an older host writes is found too. Rows are only added and deleted, so no write ever
-- waits for an indexer; a session may have several.
CREATE TABLE search_queue (
  pos        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- '*': all sessions whose index is behind their log.
  session_id text COLLATE "C" NOT NULL
);

CREATE FUNCTION queue_entries_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO search_queue (session_id) SELECT DISTINCT session_id FROM added WHERE entry;
  RETURN NULL;
END $$;

-- Its argument is the column that names the session.
CREATE FUNCTION queue_for_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO search_queue (session_id) VALUES (to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[0]);
  RETURN NULL;
END $$;

CREATE TRIGGER search_entries AFTER INSERT ON events REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION queue_entries_for_search();
CREATE TRIGGER search_first_title AFTER INSERT ON sessions
  FOR EACH ROW WHEN (NEW.title IS NOT NULL) EXECUTE FUNCTION queue_for_search('id');
CREATE TRIGGER search_other_title AFTER UPDATE ON sessions
  FOR EACH ROW WHEN (NEW.title IS DISTINCT FROM OLD.title) EXECUTE FUNCTION queue_for_search('id');
CREATE TRIGGER search_purge AFTER INSERT ON purges
  FOR EACH ROW EXECUTE FUNCTION queue_for_search('session_id');
CREATE TRIGGER search_branch_gone AFTER DELETE ON branches
  FOR EACH ROW EXECUTE FUNCTION queue_for_search('log_id');

-- What older hosts have left behind.
INSERT INTO search_queue (session_id) VALUES ('*');
