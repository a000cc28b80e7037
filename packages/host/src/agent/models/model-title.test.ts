import { expect, test } from "vitest";
import { titleOf } from "./model-title.ts";

test.each([
  ["anthropic/claude-opus-5-5", "Claude Opus 5.5"],
  ["anthropic/claude-opus-5", "Claude Opus 5"],
  ["anthropic/claude-sonnet-4-5-20250929", "Claude Sonnet 4.5 20250929"],
  ["openai/gpt-6.1-sol", "GPT-6.1 Sol"],
  ["openai/gpt-5.4-mini", "GPT-5.4 Mini"],
  ["google/gemini-2.5-flash-lite", "Gemini 2.5 Flash Lite"],
  ["rehearsal", "Rehearsal"],
  ["ollama/qwen3:8b", null],
  ["openai-compatible/my-model", null],
  ["nonsense", null],
])("%s is called %s", (name, title) => expect(titleOf(name)).toBe(title));
