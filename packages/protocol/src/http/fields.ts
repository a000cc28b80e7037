import { z } from "zod";

import { type Seq, seq } from "../ids.ts";

const digits = /^(0|[1-9]\d{0,15})$/;

/** In a URL a number is text. A codec keeps it typed on both sides. */
export function numberText(schema: z.ZodType<number, number>): z.ZodType<number, string> {
  return z.codec(z.string().regex(digits, "expected a number"), schema, {
    decode: (text) => Number(text),
    encode: (number) => String(number),
  });
}

export const seqText: z.ZodType<Seq, string> = z.codec(
  z.string().regex(digits, "expected a number"),
  seq,
  { decode: (text) => Number(text), encode: (number) => String(number) },
);
export const limitText = numberText(z.int().min(1).max(500));
export const countText = numberText(z.int().nonnegative());

export const flagText = z.codec(z.enum(["true", "false"]), z.boolean(), {
  decode: (text) => text === "true",
  encode: (flag) => (flag ? ("true" as const) : ("false" as const)),
});

/** A revision as an entity tag: `If-Match: "7"`; the bare number is accepted too. */
export const revisionTag = z.codec(
  z.string().regex(/^"?(0|[1-9]\d{0,15})"?$/, 'expected a revision like "7"'),
  z.int().nonnegative(),
  {
    decode: (text) => Number(text.replaceAll('"', "")),
    encode: (revision) => `"${revision}"`,
  },
);

/** Identifies one intention. The same key with the same request gets the first answer again, for seven days. */
export const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, "expected 1 to 255 printable characters");

/** Where a page of a list ended. Opaque to everybody but the host. */
export const pageCursor = z.string().min(1).max(500);
