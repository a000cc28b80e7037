-- What a person is shown of a call that asks, and what they said beside yes or no, as JSON.
ALTER TABLE approvals ADD COLUMN details text NOT NULL DEFAULT '{}';
-- Who allowed what: read from the newest on.
CREATE INDEX approvals_answered ON approvals (owner_id, answered_at, id) WHERE state = 'answered';
