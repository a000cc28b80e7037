import type { Context } from "hono";
import { z } from "zod";
import { openEventStream } from "../http/event-stream.ts";
import { mountProtocolRoute, type ProtocolCall, type ProtocolProblem } from "../http/protocol.ts";
import { connectionOf, type HostEnv, type Route } from "../http/routing.ts";
import type { RunOutputItem } from "../run-output/item.ts";
import { newPartsOf, readOutputBatches, readRunOutput } from "../run-output/read-run-output.ts";
import { type AdmittedTurn, admitTurn } from "./admit-turn.ts";
import { chatEndOf, ChatText, progressOf, UsageSum, waitingLine } from "./chat-output.ts";
import { type ClientRequest, readMessages } from "./client-request.ts";
import { errorOf, isRefusal, refuse, sendRefusal } from "./errors.ts";
import { answerTask, isFrontEndTask, taskHeader } from "./front-end-tasks.ts";
import { completionId } from "./identifiers.ts";
import { chooseModel, ownModel } from "./models.ts";
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
import { WaitingLimit } from "./waiting-limit.ts";

const chatRequest = z.looseObject({
  ...sharedFields,
  messages: z.unknown().optional(),
  n: z.int().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
});

export function chatRoutes(deps: OpenAiDeps): Route[] {
  return [
    mountProtocolRoute(deps, {
      method: "POST",
      path: "/v1/chat/completions",
      largestBody: maxRequestBytes,
      handle: (call) => completeChat(deps, call),
    }),
  ];
}

async function completeChat(
  deps: OpenAiDeps,
  { c, owner }: ProtocolCall,
): Promise<Response | ProtocolProblem> {
  const read = await readBody(c, chatRequest);
  if (isRefusal(read)) return sendRefusal(c, read);
  const { body, raw } = read;
  const warning = checkTools(body);
  if (isRefusal(warning)) return sendRefusal(c, warning);
  if ((body.n ?? 1) !== 1) return sendRefusal(c, onlyOneChoice);
  const model = chooseModel(deps.models, body.model ?? "");
  if (isRefusal(model)) return sendRefusal(c, model);
  const request = readMessages(body.messages, "messages");
  if (isRefusal(request)) return sendRefusal(c, request);
  const isStream = body.stream === true;
  const hasUsage = body.stream_options?.include_usage === true;
  if (isFrontEndTask(request, c.req.header(taskHeader)))
    return completeTask(deps, c, { request, model, isStream, hasUsage });
  const target = targetOfHeaders(c);
  if (isRefusal(target)) return sendRefusal(c, target);
  const repetition = repetitionOf(c, "chat", raw);
  if (isRefusal(repetition)) return sendRefusal(c, repetition);
  const turn = await admitTurn(deps, { ...request, owner, target, repetition }, model);
  if (isRefusal(turn)) return sendRefusal(c, turn);
  if (!isOutcome(turn)) return turn.problem;
  const headers = acceptedHeaders(turn.session, warning);
  const completion = { id: completionId(turn.runId), model: body.model ?? ownModel };
  return isStream
    ? streamChat(deps, c, turn, { ...completion, hasUsage, headers })
    : answerChat(deps, c, turn, { ...completion, headers });
}

const onlyOneChoice = refuse(400, "unsupported_n", "Holdfast gives one answer. Leave n out.", "n");

interface Completion {
  readonly id: string;
  readonly model: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** P6: a client that leaves ends only its own reading. */
function streamChat(
  deps: OpenAiDeps,
  c: Context<HostEnv>,
  turn: AdmittedTurn,
  { id, model, headers, hasUsage }: Completion & { readonly hasUsage: boolean },
): Response {
  const frames = chunkFrames(id, model, hasUsage);
  return openEventStream(
    c,
    deps,
    async (stream) => {
      const limit = new WaitingLimit(deps.clock);
      const usage = new UsageSum();
      const answer = new ChatText();
      const thoughts = new ChatText();
      const signal = AbortSignal.any([stream.signal, limit.signal]);
      let notice: string | undefined;
      let hasEnded = false;
      void stream.write(frames.delta({ role: "assistant", content: "" }));
      const encode = (item: RunOutputItem): string => {
        limit.see(item);
        switch (item.kind) {
          case "text":
            return frames.text("content", answer.append(item));
          case "reasoning":
            return frames.text("reasoning_content", thoughts.append(item));
          case "usage":
            usage.add(item);
            return "";
          case "ended": {
            hasEnded = true;
            const end = chatEndOf(item, notice);
            const last =
              "finish" in end ? frames.finish(end.finish) : frames.failure(errorOf(end.failure));
            return last + frames.end(usage);
          }
          default: {
            if (item.kind === "notice") notice = item.text;
            const progress = progressOf(item);
            return progress === null ? "" : frames.progress(progress);
          }
        }
      };
      for await (const items of readOutputBatches(deps, { ...turn, signal })) {
        const text = newPartsOf(items).map(encode).join("");
        if (text !== "") await stream.write(text);
      }
      if (hasEnded) return;
      const { waitsFor } = limit;
      limit.stop();
      if (stream.signal.aborted || waitsFor === null) return;
      await stream.write(frames.text("content", `\n\n${waitingLine(waitsFor)}`));
      await stream.write(frames.finish("stop") + frames.end(usage));
    },
    { headers },
  );
}

/** Every chunk begins in the same way. */
function chunkFrames(id: string, model: string, hasUsage: boolean) {
  const created = Math.floor(Date.now() / 1000);
  const head = JSON.stringify({ id, object: "chat.completion.chunk", created, model }).slice(0, -1);
  // With usage in the last chunk, all others say that they have none.
  const tail = hasUsage ? `,"usage":null}` : "}";
  const choice = (delta: string, finish: string): string =>
    `data: ${head},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]${tail}\n\n`;
  return {
    delta: (delta: object) => choice(JSON.stringify(delta), "null"),
    text: (field: "content" | "reasoning_content", text: string) =>
      choice(`{"${field}":${JSON.stringify(text)}}`, "null"),
    finish: (reason: string) => choice("{}", `"${reason}"`),
    progress: (holdfast: object) =>
      `data: ${head},"choices":[],"holdfast":${JSON.stringify(holdfast)}${tail}\n\n`,
    failure: (error: object) => `data: ${JSON.stringify({ error })}\n\n`,
    end: (usage: UsageSum) =>
      (hasUsage
        ? `data: ${head},"choices":[],"usage":${JSON.stringify(usage.forChat())}}\n\n`
        : "") + "data: [DONE]\n\n",
  };
}

async function answerChat(
  deps: OpenAiDeps,
  c: Context<HostEnv>,
  turn: AdmittedTurn,
  { id, model, headers }: Completion,
): Promise<Response | ProtocolProblem> {
  const limit = new WaitingLimit(deps.clock);
  const left = new AbortController();
  connectionOf(c).outgoing?.once("close", () => left.abort());
  const { revoked } = c.get("principal");
  const usage = new UsageSum();
  const [answer, thoughts] = [new ChatText(), new ChatText()];
  let [content, reasoning] = ["", ""];
  let notice: string | undefined;
  let finish: string | null = null;
  const signal = AbortSignal.any([left.signal, limit.signal, deps.closing, revoked]);
  for await (const item of readRunOutput(deps, { ...turn, signal })) {
    limit.see(item);
    if (item.kind === "text") content += answer.append(item);
    if (item.kind === "reasoning") reasoning += thoughts.append(item);
    if (item.kind === "usage") usage.add(item);
    if (item.kind === "notice") notice = item.text;
    if (item.kind !== "ended") continue;
    const end = chatEndOf(item, notice);
    if ("failure" in end) {
      for (const [name, value] of Object.entries(headers)) c.header(name, value);
      return sendRefusal(c, end.failure);
    }
    ({ finish } = end);
  }
  const { waitsFor } = limit;
  limit.stop();
  if (finish === null) {
    // The host is stopping: asked again, another one answers with the same run.
    if (waitsFor === null) return { code: "shutting_down" };
    content += `${content === "" ? "" : "\n\n"}${waitingLine(waitsFor)}`;
  }
  return c.json(
    completionObject({ id, model, content, reasoning, finish: finish ?? "stop", usage }),
    200,
    {
      ...headers,
      "cache-control": "no-store",
    },
  );
}

function completionObject(parts: {
  readonly id: string;
  readonly model: string;
  readonly content: string;
  readonly reasoning: string;
  readonly finish: string;
  readonly usage: UsageSum;
}) {
  const { id, model, content, reasoning, finish, usage } = parts;
  const message = {
    role: "assistant",
    content,
    refusal: null,
    ...(reasoning !== "" && { reasoning_content: reasoning }),
  };
  return {
    id,
    object: "chat.completion",
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage: usage.forChat(),
  };
}

interface Task {
  readonly request: ClientRequest;
  readonly model: string | null;
  readonly isStream: boolean;
  readonly hasUsage: boolean;
}

async function completeTask(
  deps: OpenAiDeps,
  c: Context<HostEnv>,
  { request, model, isStream, hasUsage }: Task,
): Promise<Response> {
  const answered = await answerTask(deps.models, request, model, c.req.raw.signal);
  if (answered.status === "failed")
    return sendRefusal(c, refuse(500, answered.code, answered.message));
  const usage = new UsageSum();
  usage.input = answered.usage.input;
  usage.output = answered.usage.output;
  const id = completionId(deps.ids.make("run"));
  const { model: name, text } = answered;
  if (!isStream)
    return c.json(
      completionObject({ id, model: name, content: text, reasoning: "", finish: "stop", usage }),
    );
  const frames = chunkFrames(id, name, hasUsage);
  return openEventStream(c, deps, async (stream) => {
    await stream.write(
      frames.delta({ role: "assistant", content: text }) +
        frames.finish("stop") +
        frames.end(usage),
    );
  });
}
