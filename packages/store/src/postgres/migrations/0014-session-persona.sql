-- The persona that a session has chosen. Older sessions have none: they follow the default.
ALTER TABLE sessions ADD COLUMN persona text;
