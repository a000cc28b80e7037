import type { MetricInfo } from "./metric-registry.ts";

/** Names and attributes from the GenAI semantic conventions. */
export const genAi = {
  model: "gen_ai.request.model",
  operation: "gen_ai.operation.name",
  tool: "gen_ai.tool.name",
  conversation: "gen_ai.conversation.id",
  tokenType: "gen_ai.token.type",
} as const;

const operationSeconds = "gen_ai_client_operation_duration_seconds";

/** Every metric, by the name that the code uses. The names that others see are part of the public surface. */
export const metricTable = {
  runs: {
    name: "holdfast_runs_total",
    type: "counter",
    help: "Runs that ended, by how they did.",
    unit: "{run}",
  },
  steps: {
    name: "holdfast_steps_total",
    type: "counter",
    help: "Model calls that were begun.",
    unit: "{call}",
  },
  tokens: {
    name: "gen_ai_client_token_usage_total",
    type: "counter",
    help: "Tokens, by model and kind; cache_read over input is the share that a provider's cache took.",
    unit: "{token}",
  },
  cost: {
    name: "holdfast_cost_dollars_total",
    type: "counter",
    help: "What models cost, in dollars, where a price is known.",
    unit: "{dollar}",
  },
  requests: {
    name: "holdfast_prompt_requests_total",
    type: "counter",
    help: "Requests to models whose prefix was compared with the one before.",
    unit: "{request}",
  },
  prefixChanges: {
    name: "holdfast_prompt_prefix_changes_total",
    type: "counter",
    help: "Those whose prefix changed, by the first block that differs and what explains it.",
    unit: "{request}",
  },
  toolSeconds: {
    name: "gen_ai_execute_tool_duration_seconds",
    type: "histogram",
    help: "How long tools took.",
    unit: "s",
    collector: { name: operationSeconds, attributes: { [genAi.operation]: "execute_tool" } },
  },
  stepSeconds: {
    name: operationSeconds,
    type: "histogram",
    help: "How long model calls took, up to their settled answer.",
    unit: "s",
    collector: { attributes: { [genAi.operation]: "chat" } },
  },
  firstDelta: {
    name: "gen_ai_server_time_to_first_token_seconds",
    type: "histogram",
    help: "From the acceptance of a message to the first word of its answer.",
    unit: "s",
  },
  commits: {
    name: "holdfast_store_commits_total",
    type: "counter",
    help: "Commits, by how the store answered.",
    unit: "{commit}",
  },
  commitSeconds: {
    name: "holdfast_store_commit_seconds",
    type: "histogram",
    help: "How long the store took for a commit.",
    unit: "s",
  },
  queued: {
    name: "holdfast_sessions_queued",
    type: "gauge",
    help: "Sessions with a message that waits for a runner, up to 1000.",
    unit: "{session}",
  },
  live: {
    name: "holdfast_runs_live",
    type: "gauge",
    help: "Runs that are under way in the whole store, up to 1000.",
    unit: "{run}",
  },
  borrows: {
    name: "holdfast_agents_taken_total",
    type: "counter",
    help: "Warm agents that were taken: as they were, with what others wrote folded in, or built anew.",
    unit: "{agent}",
  },
  evictions: {
    name: "holdfast_agents_evicted_total",
    type: "counter",
    help: "Warm agents that were let go of, and why.",
    unit: "{agent}",
  },
  agents: {
    name: "holdfast_agents_kept",
    type: "gauge",
    help: "Warm agents that are kept.",
    unit: "{agent}",
  },
  agentBytes: {
    name: "holdfast_agents_bytes",
    type: "gauge",
    help: "About how much memory they take up.",
    unit: "By",
  },
  loopDelay: {
    name: "holdfast_event_loop_delay_seconds",
    type: "gauge",
    help: "How late the event loop is.",
    unit: "s",
  },
  memory: {
    name: "process_resident_memory_bytes",
    type: "gauge",
    help: "Memory of this process.",
    unit: "By",
  },
  started: {
    name: "process_start_time_seconds",
    type: "gauge",
    help: "When this process was started.",
    unit: "s",
  },
} as const satisfies Record<string, MetricInfo>;
export type MetricKey = keyof typeof metricTable;
