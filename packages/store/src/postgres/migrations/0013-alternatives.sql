-- The turns that have more than one version, with the event that each was left by. Older edits have none.
ALTER TABLE sessions ADD COLUMN alternatives text NOT NULL DEFAULT '[]';
