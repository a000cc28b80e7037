-- What an agent may do in a session without asking. NULL: the session was never given a mode.
ALTER TABLE sessions ADD COLUMN mode TEXT;
