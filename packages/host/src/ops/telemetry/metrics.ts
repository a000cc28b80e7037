/** What is measured, under the names of the GenAI conventions where they have one. */
export const metricNames = {
  runs: "holdfast_runs_total",
  steps: "holdfast_steps_total",
  tokens: "gen_ai_client_token_usage_total",
  cost: "holdfast_cost_dollars_total",
  prefixChanges: "holdfast_prompt_prefix_changes_total",
  requests: "holdfast_prompt_requests_total",
  toolSeconds: "gen_ai_execute_tool_duration_seconds",
  firstDelta: "gen_ai_server_time_to_first_token_seconds",
  stepSeconds: "gen_ai_client_operation_duration_seconds",
  commitSeconds: "holdfast_store_commit_seconds",
  commits: "holdfast_store_commits_total",
  borrows: "holdfast_agents_taken_total",
  evictions: "holdfast_agents_evicted_total",
  agents: "holdfast_agents_kept",
  agentBytes: "holdfast_agents_bytes",
  queued: "holdfast_sessions_queued",
  live: "holdfast_runs_live",
  loopDelay: "holdfast_event_loop_delay_seconds",
  memory: "process_resident_memory_bytes",
  started: "process_start_time_seconds",
} as const;

/** On what lasts: the names of spans' attributes. */
export const spanAttributes = {
  model: "gen_ai.request.model",
  operation: "gen_ai.operation.name",
  tool: "gen_ai.tool.name",
  conversation: "gen_ai.conversation.id",
} as const;
