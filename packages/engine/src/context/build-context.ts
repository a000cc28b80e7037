import type { Seq, ToolSpec } from "@holdfast/protocol";

import type { CountTokens } from "../ports/background-models.ts";
import type { ModelMessage } from "../ports/model.ts";
import { shortHash } from "../hash.ts";
import { quoteMaterial, type RenderedMessage, renderEntries } from "./messages.ts";
import type { AppliedEpoch, ContextEntries } from "./read-context.ts";

/** How the context begins, in its exact bytes. */
export interface FrameBytes {
  readonly system: string;
  readonly tools: readonly ToolSpec[];
}

/** A piece of a request that a provider's cache takes or leaves as a whole. */
export interface Block {
  /** The entry that it was made from; `null` for what the frame gives. */
  readonly seq: Seq | null;
  readonly hash: string;
  /** As they were counted here; a provider counts in its own way. */
  readonly tokens: number;
}

/** What a model is asked, and the hash of each block of it. Cache markers are a provider's business and in neither. */
export interface BuiltContext {
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
  readonly blocks: readonly Block[];
}

/** What was hashed and counted before, by the block's text: only what is new is. */
export type HashMemo = Map<string, Pick<Block, "hash" | "tokens">>;

/** For whoever has no better way. */
const countByLength: CountTokens = (text) => Math.ceil(text.length / 4);

/** About what a picture takes that a provider has made small enough for its model. */
const imageTokens = 1_600;

export function buildContext(
  entries: ContextEntries,
  frame: FrameBytes,
  memo: HashMemo,
  count: CountTokens = countByLength,
): BuiltContext {
  const rendered = renderContext(entries);
  const texts = [
    { seq: null, text: frame.system, images: 0 },
    { seq: null, text: JSON.stringify(frame.tools), images: 0 },
    ...rendered.map(({ seq, message }) => ({
      seq,
      text: JSON.stringify(message),
      images: message.role === "user" ? (message.images?.length ?? 0) : 0,
    })),
  ];
  const blocks = texts.map(({ seq, text, images }): Block => {
    const { hash, tokens } = hashAndCount(text, memo, count);
    return { seq, hash, tokens: tokens + images * imageTokens };
  });
  dropUnused(memo, texts);
  return {
    messages: [{ role: "system", text: frame.system }, ...rendered.map(({ message }) => message)],
    tools: frame.tools,
    blocks,
  };
}

/** Head, summary, tail: the summary stands where what it covers stood. */
function renderContext({ head, epoch, tail }: ContextEntries): readonly RenderedMessage[] {
  const rest = renderEntries(tail);
  if (epoch === null) return rest;
  const summary = renderSummary(epoch);
  // The summary stands on the person's side: what follows it is an answer, or a person's word behind one.
  const read = rest[0]?.message.role === "user" ? [{ seq: epoch.seq, message: summaryRead }] : [];
  return [...renderEntries(head), summary, ...read, ...rest];
}

const summaryRead: ModelMessage = {
  role: "assistant",
  parts: [{ kind: "text", text: "I have read the summary." }],
};

function renderSummary({ seq, number, covers, summary }: AppliedEpoch): RenderedMessage {
  const source = `summary ${number} of the entries ${covers.from} to ${covers.to} of this conversation, written by a model`;
  return { seq, message: { role: "user", text: quoteMaterial(source, summary) } };
}

function hashAndCount(
  text: string,
  memo: HashMemo,
  count: CountTokens,
): Pick<Block, "hash" | "tokens"> {
  const before = memo.get(text);
  if (before !== undefined) return before;
  const block = { hash: shortHash(text), tokens: count(text) };
  memo.set(text, block);
  return block;
}

function dropUnused(memo: HashMemo, texts: readonly { readonly text: string }[]): void {
  if (memo.size <= texts.length) return;
  const used = new Set(texts.map(({ text }) => text));
  for (const text of memo.keys()) if (!used.has(text)) memo.delete(text);
}
