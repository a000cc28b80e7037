import { z } from "zod";

import { seq } from "../ids.ts";
import { taintSources } from "../rights/taint.ts";
import { defineEvent } from "./define.ts";

/** Which provider has to remember a turn, with a hash of its configuration. */
export const memoryOwner = z.looseObject({
  provider: z.string().regex(/^[a-z][a-z0-9-]{0,59}$/, "expected a provider's plain name"),
  configuration: z.string().regex(/^[\x21-\x7e]{1,128}$/, "expected a hash"),
});

/** The same segment has the same key, whoever tries it and how often: a provider counts it once. */
const segment = {
  key: z.string().regex(/^[\x21-\x7e]{1,200}$/, "expected a segment's key"),
  /** The newest generation it contains. */
  upTo: seq,
};

export const memoryEvents = [
  /** P10: a completed turn that a provider has to remember. Its own seq is the turn's generation. */
  defineEvent(
    "memory.marked",
    1,
    "passing",
    z.looseObject({
      owner: memoryOwner,
      /** What the model had read that a stranger may have written. */
      taint: taintSources.optional(),
    }),
  ),
  /** Written before the provider is called: from here on the segment keeps its range and its key. */
  defineEvent(
    "memory.tried",
    1,
    "passing",
    z.looseObject({ ...segment, owner: memoryOwner, tries: z.int().positive() }),
  ),
  defineEvent(
    "memory.failed",
    1,
    "passing",
    z.looseObject({
      ...segment,
      tries: z.int().positive(),
      /** By the store's clock. */
      retryAt: z.int().nonnegative(),
      code: z.string().min(1).max(100),
      message: z.string().max(1_000),
    }),
  ),
  defineEvent(
    "memory.committed",
    1,
    "passing",
    z.looseObject({
      ...segment,
      /** No provider will remember these turns: theirs is gone, and newer turns no longer wait for it. */
      givenUp: z.literal(true).optional(),
    }),
  ),
] as const;
