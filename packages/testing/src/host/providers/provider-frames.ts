import { json, type Json } from "@holdfast/protocol";

/** One piece of model output, independent of its provider's wire format. */
export type Said =
  | { readonly text: string }
  | { readonly thought: string; readonly signature?: string }
  | { readonly hidden: string }
  | { readonly call: string; readonly id: string; readonly input: string };

const event = (name: string, data: object): string =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;

/** Anthropic's messages, as server-sent events. */
export function anthropicFrames(
  said: readonly Said[],
  { stop = "end_turn", cacheRead = 0, cacheWrite = 0 } = {},
): string[] {
  const usage = {
    input_tokens: 10,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
    output_tokens: 1,
  };
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [] };
  return [
    event("message_start", { message: { ...message, stop_reason: null, usage } }),
    event("ping", {}),
    ...said.flatMap((piece, index) => anthropicBlock(piece, index)),
    event("message_delta", { delta: { stop_reason: stop }, usage: { output_tokens: 7 } }),
    event("message_stop", {}),
  ];
}

function anthropicBlock(said: Said, index: number): string[] {
  const start = (content_block: object) => event("content_block_start", { index, content_block });
  const delta = (value: object) => event("content_block_delta", { index, delta: value });
  const stop = event("content_block_stop", { index });
  if ("text" in said)
    return [
      start({ type: "text", text: "" }),
      ...halves(said.text).map((text) => delta({ type: "text_delta", text })),
      stop,
    ];
  if ("hidden" in said) return [start({ type: "redacted_thinking", data: said.hidden }), stop];
  if ("thought" in said)
    return [
      start({ type: "thinking", thinking: "", signature: "" }),
      ...halves(said.thought).map((thinking) => delta({ type: "thinking_delta", thinking })),
      delta({ type: "signature_delta", signature: said.signature ?? "" }),
      stop,
    ];
  return [
    start({ type: "tool_use", id: said.id, name: said.call, input: {} }),
    ...halves(said.input).map((partial_json) => delta({ type: "input_json_delta", partial_json })),
    stop,
  ];
}

/** OpenAI's responses, as server-sent events. */
export function openaiFrames(said: readonly Said[], { cacheRead = 0 } = {}): string[] {
  const response = { id: "resp_1", created_at: 1, model: "m", object: "response" };
  const usage = {
    input_tokens: 10 + cacheRead,
    input_tokens_details: { cached_tokens: cacheRead },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 0 },
  };
  return [
    event("response.created", { response }),
    ...said.flatMap((piece, index) => openaiItem(piece, index)),
    event("response.completed", { response: { ...response, status: "completed", usage } }),
  ];
}

function openaiItem(said: Said, output_index: number): string[] {
  const added = (item: object) => event("response.output_item.added", { output_index, item });
  const done = (item: object) => event("response.output_item.done", { output_index, item });
  if ("text" in said) {
    const item = { type: "message", id: `msg_${output_index}`, role: "assistant", content: [] };
    const deltas = halves(said.text).map((delta) =>
      event("response.output_text.delta", {
        item_id: item.id,
        output_index,
        content_index: 0,
        delta,
      }),
    );
    return [
      added({ ...item, status: "in_progress" }),
      ...deltas,
      done({ ...item, status: "completed" }),
    ];
  }
  if ("call" in said) {
    const item = {
      type: "function_call",
      id: `fc_${output_index}`,
      call_id: said.id,
      name: said.call,
    };
    const deltas = halves(said.input).map((delta) =>
      event("response.function_call_arguments.delta", { item_id: item.id, output_index, delta }),
    );
    return [
      added({ ...item, arguments: "", status: "in_progress" }),
      ...deltas,
      done({ ...item, arguments: said.input, status: "completed" }),
    ];
  }
  const encrypted_content = "hidden" in said ? said.hidden : (said.signature ?? null);
  const item = { type: "reasoning", id: `rs_${output_index}`, summary: [] };
  const item_id = item.id;
  const summary =
    "thought" in said
      ? [
          event("response.reasoning_summary_part.added", {
            item_id,
            output_index,
            summary_index: 0,
          }),
          ...halves(said.thought).map((delta) =>
            event("response.reasoning_summary_text.delta", {
              item_id,
              output_index,
              summary_index: 0,
              delta,
            }),
          ),
          event("response.reasoning_summary_part.done", {
            item_id,
            output_index,
            summary_index: 0,
          }),
        ]
      : [];
  return [
    added({ ...item, encrypted_content: null }),
    ...summary,
    done({ ...item, encrypted_content }),
  ];
}

/** Chat completions, as OpenAI and most others speak them. */
export function chatFrames(said: readonly Said[], { cacheRead = 0, stop = "" } = {}): string[] {
  const chunk = (choice: object, rest: object = {}): string =>
    `data: ${JSON.stringify({
      id: "chat_1",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, finish_reason: null, ...choice }],
      ...rest,
    })}\n\n`;
  const deltas = said.flatMap((piece, index): Json[] => {
    if ("text" in piece) return halves(piece.text).map((content) => ({ content }));
    if ("thought" in piece)
      return halves(piece.thought).map((text) => ({ reasoning_content: text }));
    if ("hidden" in piece) return [];
    const call = { index, id: piece.id, type: "function" };
    const [first = "", ...others] = halves(piece.input);
    return [
      { tool_calls: [{ ...call, function: { name: piece.call, arguments: first } }] },
      ...others.map((text) => ({ tool_calls: [{ index, function: { arguments: text } }] })),
    ];
  });
  const finish = said.some((piece) => "call" in piece) ? "tool_calls" : "stop";
  const usage = {
    prompt_tokens: 10 + cacheRead,
    completion_tokens: 7,
    total_tokens: 17 + cacheRead,
    prompt_tokens_details: { cached_tokens: cacheRead },
  };
  return [
    chunk({ delta: { role: "assistant", content: "" } }),
    ...deltas.map((delta) => chunk({ delta })),
    chunk({ delta: {}, finish_reason: stop === "" ? finish : stop }, { usage }),
    "data: [DONE]\n\n",
  ];
}

/** Google's answers: each chunk is a complete answer, and calls are never split. */
export function googleFrames(
  said: readonly Said[],
  { cacheRead = 0, stop = "STOP" } = {},
): string[] {
  const chunk = (parts: readonly object[], rest: object = {}, top: object = {}): string =>
    `data: ${JSON.stringify({
      candidates: [{ index: 0, content: { role: "model", parts }, ...rest }],
      modelVersion: "m",
      ...top,
    })}\n\n`;
  const parts = said.flatMap((piece): object[] => {
    if ("text" in piece) return halves(piece.text).map((text) => ({ text }));
    if ("hidden" in piece) return [{ text: "", thoughtSignature: piece.hidden }];
    if ("call" in piece)
      return [{ functionCall: { name: piece.call, args: json.parse(JSON.parse(piece.input)) } }];
    const [first = "", ...others] = halves(piece.thought);
    const signed = piece.signature === undefined ? {} : { thoughtSignature: piece.signature };
    return [first, ...others].map((text) => ({ text, thought: true, ...signed }));
  });
  const usageMetadata = {
    promptTokenCount: 10 + cacheRead,
    candidatesTokenCount: 7,
    totalTokenCount: 17 + cacheRead,
    ...(cacheRead > 0 && { cachedContentTokenCount: cacheRead }),
  };
  return [
    ...parts.map((part) => chunk([part])),
    chunk([{ text: "" }], { finishReason: stop }, { usageMetadata }),
  ];
}

function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== "");
}
