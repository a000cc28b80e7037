-- What a run has cost is asked before each of its steps, and for each turn that a session's context lists.
CREATE INDEX usage_by_run ON usage (run_id) WHERE run_id IS NOT NULL;
