import { z } from "zod";

/**
 * Sends chat completions over Ollama's own `/api/chat`, the only way to ask for a context size. Otherwise the server
 * uses the size it was started with, and silently drops what exceeds it.
 */
export function askOllamaForContext(send: typeof fetch, contextTokens: number): typeof fetch {
  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    const request = chatRequest.parse(JSON.parse(z.string().parse(init.body)));
    const response = await send(url.replace(/\/v1\/chat\/completions$/, "/api/chat"), {
      ...init,
      body: JSON.stringify(toOllama(request, contextTokens)),
    });
    if (!response.ok) return toChatError(response);
    if (response.body === null) return response;
    const stream = response.body.pipeThrough(toChatChunks(request.model));
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };
}

const part = z.union([
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("image_url"), image_url: z.object({ url: z.string() }) }),
]);
const call = z.object({
  id: z.string().optional(),
  function: z.object({ name: z.string(), arguments: z.string() }),
});
const message = z.object({
  role: z.string(),
  content: z.union([z.string(), z.array(part)]).nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: z.array(call).nullish(),
  tool_call_id: z.string().nullish(),
});
const chatRequest = z.object({
  model: z.string(),
  messages: z.array(message),
  tools: z.array(z.unknown()).optional(),
  max_tokens: z.number().optional(),
});
type ChatRequest = z.infer<typeof chatRequest>;

function toOllama(
  { model, messages, tools, max_tokens: outputTokens }: ChatRequest,
  contextTokens: number,
): object {
  const names = new Map<string, string>();
  return {
    model,
    messages: messages.map((each) => toOllamaMessage(each, names)),
    ...(tools && { tools }),
    stream: true,
    // A prompt that does not fit is refused, so that the conversation is summarised instead of truncated.
    truncate: false,
    options: {
      num_ctx: contextTokens,
      ...(outputTokens !== undefined && { num_predict: outputTokens }),
    },
  };
}

function toOllamaMessage(
  {
    role,
    content,
    reasoning_content: thinking,
    tool_calls: calls,
    tool_call_id: callId,
  }: z.infer<typeof message>,
  names: Map<string, string>,
): object {
  const parts =
    typeof content === "string" ? [{ type: "text", text: content } as const] : (content ?? []);
  const text = parts.map((each) => (each.type === "text" ? each.text : "")).join("");
  const images = parts.flatMap((each) =>
    each.type === "image_url" ? [each.image_url.url.replace(/^data:[^,]*,/, "")] : [],
  );
  for (const each of calls ?? []) names.set(each.id ?? "", each.function.name);
  const name = names.get(callId ?? "");
  return {
    role,
    content: text,
    ...(images.length > 0 && { images }),
    ...(thinking && { thinking }),
    ...(calls && { tool_calls: calls.map((each) => ({ function: withParsedArguments(each) })) }),
    ...(name !== undefined && { tool_name: name }),
  };
}

function withParsedArguments({
  function: { name, arguments: text },
}: z.infer<typeof call>): object {
  const parsed = z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  return { name, arguments: parsed };
}

const ollamaLine = z.object({
  error: z.string().nullish(),
  message: z
    .object({
      content: z.string().nullish(),
      thinking: z.string().nullish(),
      tool_calls: z
        .array(z.object({ function: z.object({ name: z.string(), arguments: z.unknown() }) }))
        .nullish(),
    })
    .nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  prompt_eval_count: z.number().nullish(),
  eval_count: z.number().nullish(),
});

/** Turns lines of JSON into server-sent events. An unreadable line is passed on, to be reported as garbled. */
function toChatChunks(model: string): TransformStream<Uint8Array, Uint8Array<ArrayBuffer>> {
  const utf8 = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  let callCount = 0;

  function chunksOf(line: string): string[] {
    const parsed = ollamaLine.safeParse(parseJson(line)).data;
    if (parsed === undefined) return [line];
    const { error, message: said, done } = parsed;
    const reason = parsed.done_reason ?? "stop";
    if (typeof error === "string")
      return [JSON.stringify({ error: { message: error, type: "server_error" } })];
    const calls = said?.tool_calls?.map(({ function: { name, arguments: input } }) => {
      const index = callCount++;
      const text = JSON.stringify(input ?? {});
      return { index, id: `call_${index}`, type: "function", function: { name, arguments: text } };
    });
    const delta = {
      ...(said?.content && { content: said.content }),
      ...(said?.thinking && { reasoning_content: said.thinking }),
      ...(calls && { tool_calls: calls }),
    };
    const finish =
      done !== true ? null : reason === "stop" && callCount > 0 ? "tool_calls" : reason;
    const prompt = parsed.prompt_eval_count ?? 0;
    const completion = parsed.eval_count ?? 0;
    const usage = {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
    };
    const choices = [{ index: 0, delta, finish_reason: finish }];
    return [JSON.stringify({ id: "ollama", model, choices, ...(done === true && { usage }) })];
  }

  function send(line: string, controller: TransformStreamDefaultController<Uint8Array>): void {
    if (line.trim() === "") return;
    for (const data of chunksOf(line)) controller.enqueue(encoder.encode(`data: ${data}\n\n`));
  }

  return new TransformStream({
    transform(bytes, controller) {
      const pieces = utf8.decode(bytes, { stream: true }).split("\n");
      // Only the last piece is unfinished, so a long line is never scanned twice.
      const unfinished = pieces.pop() ?? "";
      for (const piece of pieces) {
        send(rest + piece, controller);
        rest = "";
      }
      rest += unfinished;
    },
    flush(controller) {
      // A line that was cut is left out: the answer then has no end, and counts as cut.
      if (parseJson(rest) !== undefined) send(rest, controller);
    },
  });
}

async function toChatError(response: Response): Promise<Response> {
  const text = await response.text();
  const { data } = z.object({ error: z.string() }).safeParse(parseJson(text));
  const body = data === undefined ? text : JSON.stringify({ error: { message: data.error } });
  return new Response(body, { status: response.status, headers: response.headers });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
