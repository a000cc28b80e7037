import { parseArgs } from "node:util";

export interface BenchOptions {
  readonly subject: string;
  /** Small sizes and few rounds: shows that everything runs, and nothing about speed. */
  readonly quick: boolean;
  readonly json?: string;
  readonly corpus?: string;
  readonly backends: readonly ("sqlite" | "postgres")[];
  /** Workloads, or parts of them, by id; all when absent. */
  readonly only?: ReadonlySet<string>;
}

export const usage = `npm run bench -- <subject> [options]

Subjects
  store                 the log and its projections, on each database
  runs                  live runs, their watchers, and what becomes of them after a crash
  context               what the model gets, compaction, warm agents, memory
  host                  the host as people start it: its start, its weight, requests, open pages
  gateway               a host with a bot: what comes in, and many chats with an answer being written
  editors               what a bridge to an editor costs: a long session loaded, a run followed
  openai                streams through /v1 and /ai/chat beside the native one
  sandbox               what it costs to confine a command
  snapshots             saving and undoing the files of a large repository
  import                a hermes home of 100,000 messages, imported while others are served
  nodes                 several hosts on one PostgreSQL: what they cost at rest, watched, with many waiting pages
  page                  the page in a real browser: its load, an answer being written, long conversations and lists

Options
  --json FILE           write every figure with its parameters
  --corpus FILE         messages from JSON lines {"role", "content"} in place of generated ones
  --only W1.groups,W4   these workloads alone. store: W1 (.alone .writers .processes .groups .bytes), W2 (.messages
                        .sessions), W4, W5, W6, W7, stream; runs: admission, W3, recovery (.runs .journal),
                        fan-out, memory; context: build, next, compaction, cache, memory, day; host: start,
                        requests, streams; gateway: updates, chats; editors: replay, follow;
                        openai: first-token, frames;
                        nodes: rest, watch, context, idle-streams, admissions;
                        page: load, stream, typing, messages, sessions, turns
  --backend NAME        sqlite or postgres; both when absent
  --quick               small sizes, to see that it runs

PostgreSQL is the server that HOLDFAST_TEST_POSTGRES names, or one that is started for the run.`;

/** The parsed options, or `undefined` when they can't be understood. */
export function readOptions(args: readonly string[]): BenchOptions | undefined {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: "string" },
        corpus: { type: "string" },
        only: { type: "string" },
        backend: { type: "string" },
        quick: { type: "boolean", default: false },
      },
    });
    const { json, corpus, only, backend, quick } = values;
    const [subject] = positionals;
    if (subject === undefined || positionals.length > 1) return undefined;
    if (backend !== undefined && backend !== "sqlite" && backend !== "postgres") return undefined;
    return {
      subject,
      quick,
      backends: backend === undefined ? ["sqlite", "postgres"] : [backend],
      ...(json !== undefined && { json }),
      ...(corpus !== undefined && { corpus }),
      ...(only !== undefined && { only: new Set(only.split(",")) }),
    };
  } catch {
    return undefined;
  }
}
