import { requestCancel } from "@holdfast/engine";
import { type OwnerId, type Seq, terminalStates } from "@holdfast/protocol";
import type { Context } from "hono";
import { z } from "zod";
import { openEventStream } from "../http/event-stream.ts";
import { mountProtocolRoute, type ProtocolCall, type ProtocolProblem } from "../http/protocol.ts";
import { connectionOf, type HostEnv, type Route } from "../http/routing.ts";
import {
  readOutputBatches,
  readOutputSoFar,
  readRunOutput,
} from "../run-output/read-run-output.ts";
import { type AdmittedTurn, admitTurn } from "./admit-turn.ts";
import { joinTexts, readMessages } from "./client-request.ts";
import { isRefusal, refuse, type Refusal, sendRefusal } from "./errors.ts";
import { lastNumberOf, seqOfNumber } from "./event-numbers.ts";
import { parseConversationId, parseResponseId, responseId } from "./identifiers.ts";
import { metadata, type KeptFacts, openKeptFacts } from "./kept-facts.ts";
import { chooseModel } from "./models.ts";
import {
  acceptedHeaders,
  checkTools,
  isOutcome,
  maxRequestBytes,
  readBody,
  repetitionOf,
  sharedFields,
  targetOfHeaders,
} from "./openai-call.ts";
import type { OpenAiDeps } from "./openai.ts";
import { pageOf, userItem } from "./output-items.ts";
import { combineTargets, type ContinuedTarget, type Target } from "./place-turn.ts";
import { ResponseBuilder, type ResponseEvent, type ResponseFacts } from "./response-builder.ts";
import { WaitingLimit } from "./waiting-limit.ts";
import { problemCodes } from "../api/problem-codes.ts";
import type { PendingItems } from "./conversations.ts";

const responseRequest = z.looseObject({
  ...sharedFields,
  input: z.unknown().optional(),
  instructions: z.string().nullish(),
  previous_response_id: z.string().max(200).nullish(),
  conversation: z
    .union([z.string().max(200), z.looseObject({ id: z.string().max(200) })])
    .nullish(),
  background: z.boolean().nullish(),
  metadata: metadata.nullish(),
});

const keptResponse = z.object({
  metadata: z.record(z.string(), z.string()),
  background: z.boolean(),
  previous: z.string().nullable(),
});

const noFacts: ResponseFacts = { metadata: {}, background: false, previous: null };

export function responseRoutes(deps: OpenAiDeps, pending: PendingItems): Route[] {
  const kept = openKeptFacts(deps.log.store.register, "openai-response", keptResponse);
  const all = { ...deps, kept, pending };
  const route = (
    method: "GET" | "POST",
    path: string,
    handle: (deps: ResponseDeps, call: ProtocolCall) => Promise<Response | ProtocolProblem>,
  ): Route =>
    mountProtocolRoute(deps, {
      method,
      path,
      largestBody: maxRequestBytes,
      handle: (call) => handle(all, call),
    });
  return [
    route("POST", "/v1/responses", createResponse),
    route("GET", "/v1/responses/:id", retrieve),
    route("POST", "/v1/responses/:id/cancel", cancel),
    route("GET", "/v1/responses/:id/input_items", listInput),
  ];
}

interface ResponseDeps extends OpenAiDeps {
  readonly kept: KeptFacts<ResponseFacts>;
  readonly pending: PendingItems;
}

async function createResponse(
  deps: ResponseDeps,
  { c, owner }: ProtocolCall,
): Promise<Response | ProtocolProblem> {
  const read = await readBody(c, responseRequest);
  if (isRefusal(read)) return sendRefusal(c, read);
  const { body, raw } = read;
  const warning = checkTools(body);
  if (isRefusal(warning)) return sendRefusal(c, warning);
  const model = chooseModel(deps.models, body.model ?? "");
  if (isRefusal(model)) return sendRefusal(c, model);
  const request = readMessages(body.input, "input");
  if (isRefusal(request)) return sendRefusal(c, request);
  const target = await targetOf(deps, { c, owner }, body);
  if (isRefusal(target)) return sendRefusal(c, target);
  const repetition = repetitionOf(c, "responses", raw);
  if (isRefusal(repetition)) return sendRefusal(c, repetition);
  const instructions = joinTexts(body.instructions ?? "", request.instructions);
  const told = target.kind === "session" ? await deps.pending.turns(owner, target.session) : [];
  const history = [...told, ...request.history];
  const asked = { ...request, history, instructions, owner, target, repetition };
  const turn = await admitTurn(deps, asked, model);
  if (isRefusal(turn)) return sendRefusal(c, turn);
  if (!isOutcome(turn)) return turn.problem;
  // What came between a request and its repetition is told with the next one.
  if (target.kind === "session" && told.length > 0 && !turn.isRepeated)
    await deps.pending.markTold(owner, target.session, told, turn.runId);
  const facts: ResponseFacts = {
    metadata: body.metadata ?? {},
    background: body.background === true,
    previous: body.previous_response_id ?? null,
  };
  const isPlain =
    !facts.background && facts.previous === null && Object.keys(facts.metadata).length === 0;
  if (!isPlain && !turn.isRepeated) await deps.kept.put(owner, turn.runId, facts);
  const headers = acceptedHeaders(turn.session, warning);
  if (body.stream === true)
    return streamResponse(deps, c, turn, { facts, headers, after: undefined });
  if (facts.background) return c.json(await responseSoFar(deps, turn, facts), 200, headers);
  return awaitResponse(deps, c, turn, { facts, headers });
}

/**
 * The session's id or name in the headers comes first, then what the body continues. Both may be given for one session;
 * where they name different ones, a client would write into a conversation that it does not mean.
 */
async function targetOf(
  deps: ResponseDeps,
  { c, owner }: Pick<ProtocolCall, "c" | "owner">,
  body: z.infer<typeof responseRequest>,
): Promise<Target | Refusal> {
  const named = targetOfHeaders(c);
  if (isRefusal(named)) return named;
  const continued = await targetOfBody(deps, owner, body);
  if (continued === null) return named;
  if (isRefusal(continued)) return continued;
  return combineTargets(deps, owner, named, continued);
}

async function targetOfBody(
  { reads }: ResponseDeps,
  owner: OwnerId,
  { conversation, previous_response_id: previous }: z.infer<typeof responseRequest>,
): Promise<ContinuedTarget | Refusal | null> {
  const hasPrevious = previous !== undefined && previous !== null;
  const hasConversation = conversation !== undefined && conversation !== null;
  if (hasConversation && hasPrevious)
    return refuse(
      400,
      "invalid_request",
      "Send either conversation or previous_response_id: both name what to continue.",
      "previous_response_id",
    );
  if (hasConversation) {
    const id = typeof conversation === "string" ? conversation : conversation.id;
    const session = parseConversationId(id);
    const row = session && (await reads.session(owner, session));
    if (row === null || row.trashedAt !== null) return unknownConversation(id);
    return { kind: "session", session: row.id };
  }
  if (!hasPrevious) return null;
  const address = parseResponseId(previous);
  const run = address && (await reads.run(owner, address.runId));
  if (address === null || run === null) return unknownResponse(previous, "previous_response_id");
  return { kind: "after", session: run.session, runId: run.id };
}

export function unknownConversation(id: string): Refusal {
  const shown = JSON.stringify(id.slice(0, 60));
  return refuse(
    404,
    "conversation_not_found",
    `There is no conversation ${shown}. Create one first.`,
    "conversation",
  );
}

function unknownResponse(id: string, param = "response_id"): Refusal {
  const shown = JSON.stringify(id.slice(0, 60));
  const code = param === "response_id" ? "response_not_found" : "previous_response_not_found";
  return refuse(404, code, `There is no response ${shown}. Send the id as it was given.`, param);
}

interface Reply {
  readonly facts: ResponseFacts;
  readonly headers: Readonly<Record<string, string>>;
}

/** P6: a client that leaves ends only its own reading, and resumes after any event that it has. */
function streamResponse(
  deps: ResponseDeps,
  c: Context<HostEnv>,
  turn: AdmittedTurn,
  { facts, headers, after }: Reply & { readonly after: number | undefined },
): Response {
  return openEventStream(
    c,
    deps,
    async ({ write, signal }) => {
      const builder = new ResponseBuilder(turn, facts, after);
      const created = builder.created();
      if (created.length > 0) await write(encodeEvents(created));
      const cursor = after === undefined ? undefined : seqOfNumber(after);
      for await (const items of readOutputBatches(deps, { ...turn, after: cursor, signal })) {
        const events = items.flatMap((marked) => builder.apply(marked));
        if (events.length > 0) await write(encodeEvents(events));
      }
      if (builder.isEnded) await write("data: [DONE]\n\n");
    },
    { headers },
  );
}

function encodeEvents(events: readonly ResponseEvent[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

async function awaitResponse(
  deps: ResponseDeps,
  c: Context<HostEnv>,
  turn: AdmittedTurn,
  { facts, headers }: Reply,
): Promise<Response | ProtocolProblem> {
  const limit = new WaitingLimit(deps.clock);
  const left = new AbortController();
  connectionOf(c).outgoing?.once("close", () => left.abort());
  const signal = AbortSignal.any([
    left.signal,
    limit.signal,
    deps.closing,
    c.get("principal").revoked,
  ]);
  const builder = new ResponseBuilder(turn, facts);
  for await (const item of readRunOutput(deps, { ...turn, signal })) {
    limit.see(item);
    builder.apply({ item, newFrom: 0, firstDelta: null });
  }
  const isWaiting = limit.waitsFor !== null;
  limit.stop();
  // The host is stopping: asked again, another one answers with the same run.
  if (!builder.isEnded && !isWaiting) return { code: "shutting_down" };
  return c.json(builder.response(), 200, { ...headers, "cache-control": "no-store" });
}

async function responseSoFar(deps: ResponseDeps, turn: AdmittedTurn, facts: ResponseFacts) {
  const builder = new ResponseBuilder(turn, facts);
  for (const item of await readOutputSoFar(deps.reads, turn))
    builder.apply({ item, newFrom: 0, firstDelta: null });
  return builder.response();
}

/** The run that a response's id names, for its owner alone. */
async function findTurn(
  { reads }: OpenAiDeps,
  owner: OwnerId,
  id: string,
): Promise<AdmittedTurn | Refusal> {
  const address = parseResponseId(id);
  const run = address && (await reads.run(owner, address.runId));
  if (address === null || run === null) return unknownResponse(id);
  return { ...address, owner, session: run.session, createdAt: run.createdAt, isRepeated: true };
}

const retrieveQuery = z.object({
  stream: z.enum(["true", "false"]).optional(),
  starting_after: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .optional(),
});

async function retrieve(deps: ResponseDeps, { c, owner }: ProtocolCall): Promise<Response> {
  const turn = await findTurn(deps, owner, c.req.param("id") ?? "");
  if (isRefusal(turn)) return sendRefusal(c, turn);
  const query = retrieveQuery.safeParse(c.req.query());
  if (!query.success) return sendRefusal(c, badCursor);
  const facts = (await deps.kept.read(owner, turn.runId)) ?? noFacts;
  const { stream, starting_after: after } = query.data;
  // Whoever waited for later numbers would miss everything until then.
  const head = (await deps.reads.session(owner, turn.session))?.head ?? (0 as Seq);
  if (after !== undefined && after > lastNumberOf(head)) return sendRefusal(c, futureCursor);
  if (stream === "true") return streamResponse(deps, c, turn, { facts, headers: {}, after });
  return c.json(await responseSoFar(deps, turn, facts));
}

const badCursor = refuse(
  400,
  "invalid_cursor",
  "starting_after is the sequence_number of the last event that you have: a whole number.",
  "starting_after",
);

const futureCursor = refuse(
  400,
  "invalid_cursor",
  "starting_after is later than anything in this conversation. Send the sequence_number of the last event that you have.",
  "starting_after",
);

const cancelWaitMs = 3_000;

/** P6: a durable request. It waits a moment for the run to end, and says what it has become. */
async function cancel(
  deps: ResponseDeps,
  { c, owner }: ProtocolCall,
): Promise<Response | ProtocolProblem> {
  const turn = await findTurn(deps, owner, c.req.param("id") ?? "");
  if (isRefusal(turn)) return sendRefusal(c, turn);
  const result = await requestCancel(deps.log, deps.ids, owner, turn.runId);
  if (result.status === "not_found") return sendRefusal(c, unknownResponse(responseId(turn)));
  if (result.status === "refused" || result.status === "failed")
    return { code: problemCodes[result.code] };
  deps.engine.notify(owner, turn.session);
  const run = await deps.reads.run(owner, turn.runId);
  if (run !== null && !terminalStates.has(run.state)) {
    const signal = AbortSignal.timeout(cancelWaitMs);
    for await (const { kind } of readRunOutput(deps, { ...turn, signal }))
      if (kind === "ended") break;
  }
  const facts = (await deps.kept.read(owner, turn.runId)) ?? noFacts;
  return c.json(await responseSoFar(deps, turn, facts));
}

export const pageQuery = z.object({
  after: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(20),
  order: z.enum(["asc", "desc"]).default("desc"),
});

async function listInput(deps: ResponseDeps, { c, owner }: ProtocolCall): Promise<Response> {
  const turn = await findTurn(deps, owner, c.req.param("id") ?? "");
  if (isRefusal(turn)) return sendRefusal(c, turn);
  const query = pageQuery.safeParse(c.req.query());
  if (!query.success) return sendRefusal(c, badPage);
  const output = await readOutputSoFar(deps.reads, turn);
  const items = output.flatMap((item) =>
    item.kind === "input" ? [userItem(item.messageId, item.parts)] : [],
  );
  const { after, limit, order } = query.data;
  const all = items.length > 0 ? items : await queuedInput(deps, turn);
  const page = pageOf(all, { after, limit, order });
  return page === null ? sendRefusal(c, unknownAfter) : c.json(page);
}

export const unknownAfter = refuse(
  400,
  "invalid_page",
  "No item here has the id in after. Send the last_id of the page before, or leave it out.",
  "after",
);

export const badPage = refuse(400, "invalid_page", "limit is 1 to 100, order is asc or desc.");

async function queuedInput({ reads }: OpenAiDeps, { owner, session, runId }: AdmittedTurn) {
  const snapshot = await reads.snapshot(owner, session, { limit: 1 });
  const input = snapshot?.inbox.find((queued) => queued.runId === runId);
  if (input === undefined || input.content === null) return [];
  const { text, attachments } = input.content;
  return [userItem(input.messageId, [{ type: "text", text }, ...attachments])];
}
