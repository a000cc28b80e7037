import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { type Client, createClient, type Result } from "@holdfast/client";

import { builtHost, compileCacheEnv } from "../built-host.ts";
import { summarizeRead } from "./serve-request.ts";
import { type Endpoint, ManagedProcess, type ManagedProcessDeps } from "./managed-process.ts";
import {
  type ClientResponse,
  leaseMs,
  type RunnerOptions,
  type RunnerMessage,
  type ClientRequest,
} from "./protocol.ts";

/** Longer than a process is stopped: a late answer is still an answer. */
const answerTimeoutMs = 5_000;

export interface EndpointDeps extends Pick<ManagedProcessDeps, "history" | "isTroubled"> {
  readonly startupMessage: Omit<RunnerOptions, "name" | "spill" | "seed">;
  readonly folder: string;
  readonly nextSeed: () => number;
}

export type ProcessEndpoint = Endpoint & { readonly member: ManagedProcess };

const runnerScript = fileURLToPath(new URL("./runner.ts", import.meta.url));
const exitWithParent = new URL("./exit-with-parent.ts", import.meta.url).href;

/** A process with a runner and tools; clients talk to it through pipes. */
export function runnerEndpoint(name: string, world: EndpointDeps): ProcessEndpoint {
  const waiting = new Map<number, (answer: ClientResponse) => void>();
  const { history } = world;
  const member = new ManagedProcess({
    ...world,
    name,
    launch: (instance) => ({
      args: [runnerScript],
      env: envOf(world),
      startupMessage: {
        ...world.startupMessage,
        name: instance,
        spill: join(world.folder, name, "spill"),
        seed: world.nextSeed(),
      } satisfies RunnerOptions,
    }),
    isReady: (line) => (JSON.parse(line) as RunnerMessage).word === "ready",
    hear(by, line) {
      const message = JSON.parse(line) as RunnerMessage;
      if (message.word !== "answer") return history.note({ kind: "said", by, message });
      const { number, answer } = message;
      history.note({ kind: "answered", number, answer });
      waiting.get(number)?.(answer);
    },
  });
  return {
    name,
    member,
    get isUp() {
      return member.isUp;
    },
    ask: (number, request) =>
      new Promise((resolve) => {
        const finish = (answer: ClientResponse): void => {
          clearTimeout(late);
          waiting.delete(number);
          resolve(answer);
        };
        const late = setTimeout(() => finish({ kind: "lost", why: "no answer" }), answerTimeoutMs);
        waiting.set(number, finish);
        member.write({ number, request });
      }),
  };
}

export interface HostEndpoint extends ProcessEndpoint {
  readonly client: Client;
}

/** A real `holdfast serve`; clients talk to it over HTTP. */
export function hostEndpoint(name: string, port: number, world: EndpointDeps): HostEndpoint {
  const token = "0123456789abcdef";
  const { history, startupMessage } = world;
  const member = new ManagedProcess({
    ...world,
    name,
    launch: () => ({
      args: ["--import", exitWithParent, builtHost, "serve"],
      env: {
        ...envOf(world),
        HOLDFAST_HOME: join(world.folder, name),
        HOLDFAST_STORE: startupMessage.target,
        HOLDFAST_PORT: String(port),
        HOLDFAST_TOKEN: token,
        HOLDFAST_LEASE_MS: String(leaseMs),
      },
    }),
    isReady: (line) => line.startsWith("Holdfast is at "),
    hear: () => {},
  });
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, token });
  return {
    name,
    member,
    client,
    get isUp() {
      return member.isUp;
    },
    async ask(number, request) {
      const answer = await askOverHttp(client, request, AbortSignal.timeout(answerTimeoutMs));
      history.note({ kind: "answered", number, answer });
      return answer;
    },
  };
}

export async function askOverHttp(
  client: Client,
  request: ClientRequest,
  signal: AbortSignal,
): Promise<ClientResponse> {
  const options = { signal };
  if (request.act === "create")
    return answerOf(await client.createSession({ body: {} }, options), ({ session }) => ({
      session: session.id,
    }));
  const params = { id: request.session };
  switch (request.act) {
    case "send": {
      const { clientId, text, mode } = request;
      const sent = await client.sendMessage({ params, body: { clientId, text, mode } }, options);
      return answerOf(sent, ({ messageId, runId, seq }) => ({ messageId, runId, seq }));
    }
    case "cancel":
      return answerOf(await client.cancelRun({ params: { id: request.runId } }, options));
    case "answer": {
      const { approvalId, decision } = request;
      const input = { params: { id: approvalId }, body: { decision } };
      return answerOf(await client.answerApproval(input, options));
    }
    case "retry": {
      const headers = { "idempotency-key": request.clientId };
      const sent = await client.retry({ params, headers, body: {} }, options);
      return answerOf(sent, ({ messageId, runId, seq }) => ({ messageId, runId, seq }));
    }
    case "truncate":
      return answerOf(
        await client.truncate({ params, body: { from: request.from } }, options),
        seqOf,
      );
    case "undo":
    case "redo":
    case "clear":
      return answerOf(await client[request.act]({ params, body: {} }, options), seqOf);
    case "branch":
      return answerOf(await client.branch({ params, body: {} }, options), ({ session }) => ({
        session: session.id,
      }));
    case "trash":
      return answerOf(await client.trashSession({ params }, options));
    case "restore":
      return answerOf(await client.restoreSession({ params }, options));
    case "read":
      return answerOf(await client.readSession({ params }, options), (read) => ({
        read: summarizeRead(read.seq, read.entries, read.inbox.length),
      }));
  }
}

/** The folder marks a process as one of ours. */
function envOf({ folder }: EndpointDeps): Record<string, string> {
  return { ...compileCacheEnv(join(folder, "compiled")), CHAOS_FOLDER: folder };
}

type Told = Omit<Extract<ClientResponse, { kind: "done" }>, "kind">;

const seqOf = ({ seq }: Pick<Told, "seq">): Told => (seq === undefined ? {} : { seq });

function answerOf<T>(result: Result<T>, told: (value: T) => Told = () => ({})): ClientResponse {
  if (result.ok) return { kind: "done", ...told(result.value) };
  const { error } = result;
  if (error.kind === "problem")
    return { kind: error.problem.status >= 500 ? "failed" : "refused", code: error.code };
  if (error.kind === "unexpected") return { kind: "refused", code: `http ${error.status}` };
  return { kind: "lost", why: error.code };
}
