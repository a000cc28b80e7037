import { type ApiError, describeError, type Result } from "@holdfast/client";
import type { CallToolResult } from "@modelcontextprotocol/server";

/** What the model reads, and the same as data for programs. */
export function toolResult(
  text: string,
  structuredContent: Readonly<Record<string, unknown>>,
): CallToolResult {
  return { content: [{ type: "text", text }], structuredContent };
}

/** A refusal that the calling model can read: a stable code, and a sentence that says what to do. */
export function toolRefusal(code: string, sentence: string): CallToolResult {
  return {
    content: [{ type: "text", text: `${sentence} (${code})` }],
    structuredContent: { error: { code, message: sentence } },
    isError: true,
  };
}

export function apiRefusal(error: ApiError): CallToolResult {
  return toolRefusal(error.code, describeError(error));
}

/** The answer of one API call as a tool's result. */
export async function resultOf<T>(
  call: Promise<Result<T>>,
  show: (value: T) => CallToolResult,
): Promise<CallToolResult> {
  const result = await call;
  return result.ok ? show(result.value) : apiRefusal(result.error);
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
