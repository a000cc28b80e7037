import { createSseDecoder, encodeSseFrame } from "@holdfast/protocol";
import { z } from "zod";

/**
 * Anthropic adds events, blocks and deltas over time and asks clients to ignore unknown ones. The provider package
 * fails on them, so it gets only known ones, with only the fields that are used.
 */
export function ignoreUnknownEvents(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init);
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    if (!response.ok || !isStream || response.body === null) return response;
    return new Response(response.body.pipeThrough(knownEvents()), response);
  };
}

function knownEvents(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  const decoder = createSseDecoder();
  const utf8 = new TextEncoder();
  const ignoredBlocks = new Set<number>();
  return new TransformStream({
    transform(bytes, controller) {
      for (const item of decoder.push(bytes)) {
        if (item.kind !== "frame") continue;
        const data = knownPart(item.frame.data, ignoredBlocks);
        if (data !== null)
          controller.enqueue(utf8.encode(encodeSseFrame({ event: item.frame.event, data })));
      }
    },
  });
}

const count = z.number().optional().catch(undefined);
const usage = z
  .object({
    output_tokens: z.number().catch(0),
    input_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
  })
  .catch({ output_tokens: 0 });
const text = z.string().optional().catch(undefined);

const anyEvent = z.object({
  type: z.string(),
  index: z.number().optional().catch(undefined),
  content_block: z.object({ type: z.string() }).loose().optional().catch(undefined),
  delta: z.object({ type: z.string() }).loose().optional().catch(undefined),
});
const messageStart = z.object({
  type: z.string(),
  message: z.object({
    id: text,
    model: text,
    role: text,
    usage: usage.transform((counts) => ({ ...counts, input_tokens: counts.input_tokens ?? 0 })),
  }),
});
const messageDelta = z.object({
  type: z.string(),
  delta: z.object({ stop_reason: text, stop_sequence: text }),
  usage,
});
const toolUse = z.object({
  type: z.string(),
  index: z.number(),
  content_block: z.object({
    type: z.string(),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()).optional(),
  }),
});

const blockTypes = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);
const deltaTypes = new Set(["text_delta", "thinking_delta", "signature_delta", "input_json_delta"]);

/** The known part of the event, or `null` to ignore it. Unreadable events are passed on for the package to report. */
function knownPart(data: string, ignoredBlocks: Set<number>): string | null {
  const value = parseJson(data);
  const event = anyEvent.safeParse(value).data;
  if (event === undefined) return data;
  const { type, index = -1, content_block: block, delta } = event;
  switch (type) {
    case "message_start":
      return only(messageStart, value) ?? data;
    case "message_delta":
      return only(messageDelta, value) ?? data;
    case "content_block_start":
      if (block !== undefined && !blockTypes.has(block.type)) ignoredBlocks.add(index);
      else ignoredBlocks.delete(index);
      if (ignoredBlocks.has(index)) return null;
      return (block?.type === "tool_use" ? only(toolUse, value) : null) ?? data;
    case "content_block_delta":
      if (ignoredBlocks.has(index)) return null;
      return delta !== undefined && !deltaTypes.has(delta.type) ? null : data;
    case "content_block_stop":
      return ignoredBlocks.has(index) ? null : data;
    case "message_stop":
    case "ping":
    case "error":
      return data;
    default:
      return null;
  }
}

function only(schema: z.ZodType, value: unknown): string | null {
  const { success, data } = schema.safeParse(value);
  return success ? JSON.stringify(data) : null;
}

function parseJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
