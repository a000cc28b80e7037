-- The objects in object storage that a blob has its bytes in ('live'), that are being written ('writing'), or that are
-- to be deleted ('garbage').
CREATE TABLE objects (
  key      TEXT    PRIMARY KEY,
  owner_id TEXT    NOT NULL,
  blob_id  TEXT    NOT NULL,
  state    TEXT    NOT NULL,
  since    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX objects_of_blobs ON objects (owner_id, blob_id) WHERE state = 'live';
CREATE INDEX objects_pending ON objects (state, since) WHERE state <> 'live';

-- Whatever deletes the blob.
CREATE TRIGGER blob_deleted AFTER DELETE ON blobs WHEN old.bytes IS NULL BEGIN
  UPDATE objects SET state = 'garbage'
   WHERE owner_id = old.owner_id AND blob_id = old.id AND state = 'live';
END;

-- `blobs.bytes` is NULL if they are in an object. The rows are stored as before, so the declaration can be edited.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'bytes      BLOB    NOT NULL', 'bytes      BLOB')
 WHERE type = 'table' AND name = 'blobs';
PRAGMA writable_schema = RESET;
