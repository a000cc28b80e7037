-- Works beside hosts of schema 0014 and newer.
-- The objects in object storage that a blob has its bytes in ('live'), that are being written ('writing'), or that are
-- to be deleted ('garbage').
CREATE TABLE objects (
  key      text COLLATE "C" PRIMARY KEY,
  owner_id text COLLATE "C" NOT NULL,
  blob_id  text COLLATE "C" NOT NULL,
  state    text   NOT NULL,
  since    bigint NOT NULL
);
CREATE UNIQUE INDEX objects_of_blobs ON objects (owner_id, blob_id) WHERE state = 'live';
CREATE INDEX objects_pending ON objects (state, since) WHERE state <> 'live';

-- Whatever deletes the blob, also an older host.
CREATE FUNCTION give_up_object() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE objects SET state = 'garbage'
   WHERE owner_id = old.owner_id AND blob_id = old.id AND state = 'live';
  RETURN NULL;
END $$;
CREATE TRIGGER blob_deleted AFTER DELETE ON blobs
  FOR EACH ROW WHEN (old.bytes IS NULL) EXECUTE FUNCTION give_up_object();

-- NULL if the bytes are in an object.
ALTER TABLE blobs ALTER COLUMN bytes DROP NOT NULL;
