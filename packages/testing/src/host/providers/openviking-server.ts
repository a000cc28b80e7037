import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json as readJson } from "node:stream/consumers";

import { z } from "zod";

const messageSent = z.object({
  role: z.enum(["user", "assistant"]),
  content: z.string(),
  created_at: z.iso.datetime(),
  peer_id: z.string(),
});
type Message = z.infer<typeof messageSent>;

const bodies = {
  session: z.strictObject({
    session_id: z.string().regex(/^[a-z0-9-]+$/u),
    memory_policy: z.strictObject({
      self: z.strictObject({ enabled: z.literal(false) }),
      peer: z.strictObject({ enabled: z.literal(true) }),
    }),
  }),
  batch: z.strictObject({ messages: z.array(messageSent).min(1).max(100) }),
  find: z.strictObject({
    query: z.string(),
    target_uri: z.string(),
    context_type: z.literal("memory"),
    limit: z.int(),
  }),
};

interface Held {
  live: Message[];
  archived: Message[];
  task: { task_id: string; status: string; error: string | null } | null;
}

type Trouble =
  | { readonly kind: "refuse"; readonly status: number; readonly headers?: Record<string, string> }
  /** The work is done, but the answer is lost. */
  | { readonly kind: "lose" }
  | { readonly kind: "hang" }
  | { readonly kind: "say"; readonly text: string };

/** The part of OpenViking's HTTP API that a memory provider uses, on loopback, as documented. */
export async function serveOpenViking(key: string) {
  const sessions = new Map<string, Held>();
  const requests: string[] = [];
  const trouble = new Map<string, Trouble[]>();
  const state = { work: "completed" as "completed" | "failed" | "running", remembersTasks: true };

  function answer(request: IncomingMessage, body: unknown): [number, unknown] {
    const { method = "", url = "" } = request;
    const { pathname, searchParams } = new URL(url, "http://here");
    if (request.headers["x-api-key"] !== key) return refusal(401, "UNAUTHENTICATED");
    const [, , , kind, id = "", what, how] = pathname.split("/");
    const held = sessions.get(id);
    switch (`${method} ${kind} ${[what, how].filter(Boolean).join("/")}`) {
      case "POST sessions ": {
        const { session_id } = bodies.session.parse(body);
        if (sessions.has(session_id)) return refusal(409, "ALREADY_EXISTS");
        sessions.set(session_id, { live: [], archived: [], task: null });
        return ok({ session_id });
      }
      case "GET sessions ":
        if (held === undefined) return refusal(404, "NOT_FOUND");
        return ok({
          message_count: held.live.length,
          total_message_count: held.live.length + held.archived.length,
          commit_count: held.archived.length > 0 ? 1 : 0,
        });
      case "POST sessions messages/batch": {
        if (held === undefined) return refusal(404, "NOT_FOUND");
        const { messages } = bodies.batch.parse(body);
        held.live.push(...messages);
        return ok({ message_count: held.live.length, added: messages.length });
      }
      case "POST sessions commit": {
        if (held === undefined) return refusal(404, "NOT_FOUND");
        if (held.live.length === 0) return ok({ task_id: null, archived: false });
        held.archived.push(...held.live.splice(0));
        const error = state.work === "failed" ? "no model answered" : null;
        held.task = { task_id: `task-${id}`, status: state.work, error };
        return ok({ status: "accepted", task_id: held.task.task_id, archived: true });
      }
      case "GET tasks ": {
        const asked = id === "" ? searchParams.get("resource_id") : id.replace(/^task-/u, "");
        const task = (state.remembersTasks && sessions.get(asked ?? "")?.task) || null;
        if (id === "") return ok(task === null ? [] : [task]);
        return task === null ? refusal(404, "NOT_FOUND") : ok(task);
      }
      case "POST search ": {
        const { query, target_uri } = bodies.find.parse(body);
        return ok({ memories: find(query, target_uri), resources: [], skills: [], total: 0 });
      }
      default:
        return refusal(404, "NOT_FOUND");
    }
  }

  /** Matches words, for the requested peer only; unprocessed messages aren't found. */
  function find(query: string, target: string) {
    const words = query.toLowerCase().split(/\W+/u);
    return [...sessions.values()]
      .filter(({ task }) => task?.status === "completed")
      .flatMap(({ archived }) => archived)
      .filter(({ peer_id }) => target === `viking://~/peers/${peer_id}/memories`)
      .filter(({ content }) => words.some((word) => content.toLowerCase().includes(word)))
      .map(({ content }) => ({ uri: target, abstract: content, score: 0.5 }));
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const place = `${method} ${url.split("?")[0]?.replace(/holdfast-[0-9a-f]+/u, "*") ?? ""}`;
    requests.push(place);
    const body = method === "POST" ? await readJson(request) : undefined;
    const next = trouble.get(place)?.shift();
    if (next?.kind === "hang") return;
    if (next?.kind === "refuse") {
      const [status, refused] = refusal(next.status, "RESOURCE_EXHAUSTED");
      return void response.writeHead(status, next.headers).end(JSON.stringify(refused));
    }
    if (next?.kind === "say") return void response.end(next.text);
    const [status, said] = answer(request, body);
    if (next?.kind === "lose") return void response.destroy();
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(said));
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      const [, said] = refusal(400, "INVALID_ARGUMENT", String(error));
      response.writeHead(400).end(JSON.stringify(said));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    state,
    /** What happens to the next request of this kind. */
    trouble(place: string, what: Trouble): void {
      trouble.set(place, [...(trouble.get(place) ?? []), what]);
    },
    /** What it has archived, per session. */
    archives: () => [...sessions.values()].map(({ archived }) => archived.map((m) => m.content)),
    finishWork(status: "completed" | "failed"): void {
      for (const { task } of sessions.values()) if (task !== null) task.status = status;
    },
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const ok = (result: unknown): [number, unknown] => [200, { status: "ok", result, time: 0.1 }];

function refusal(status: number, code: string, message = code): [number, unknown] {
  return [status, { status: "error", error: { code, message }, time: 0.1 }];
}
