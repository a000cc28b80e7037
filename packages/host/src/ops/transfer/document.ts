import { blobId, json, titleSource, toolOutcome } from "@holdfast/protocol";
import { z } from "zod";

/**
 * A session as a document. It holds what was said and nothing that has power: no ids that another host would take for its
 * own, no paths, no approvals, nothing that is told to a model unseen.
 */
export const documentFormat = "holdfast.session";
export const documentVersion = 1;

/** Further than this no calendar goes: a time beyond it could not be written down. */
export const timestamp = z.int().nonnegative().max(8_640_000_000_000_000);
const longText = z.string().max(1_000_000);
const callName = z.string().min(1).max(200);
const toolName = z.string().min(1).max(200);

/** Everything here is strict: what a reader does not know, it does not carry along. */
export const documentPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: longText }),
  z.strictObject({ type: z.literal("reasoning"), text: longText }),
  z.strictObject({ type: z.literal("tool_call"), callId: callName, name: toolName, input: json }),
  z.strictObject({
    type: z.literal("tool_result"),
    callId: callName,
    name: toolName,
    outcome: toolOutcome,
    output: longText,
  }),
  z.strictObject({
    type: z.literal("file"),
    blobId,
    name: z.string().max(500),
    mediaType: z.string().max(200),
    size: z.int().nonnegative(),
  }),
  z.strictObject({
    type: z.literal("image"),
    blobId,
    mediaType: z.string().max(200),
    name: z.string().max(500).optional(),
    width: z.int().positive().optional(),
    height: z.int().positive().optional(),
  }),
  z.strictObject({ type: z.literal("notice"), kind: z.string().max(100), text: longText }),
]);
export type DocumentPart = z.infer<typeof documentPart>;

const message = z.strictObject({
  type: z.literal("message"),
  role: z.enum(["user", "assistant", "tool"]),
  at: timestamp,
  parts: z.array(documentPart).max(1_000),
  model: z.string().min(1).max(200).optional(),
  partial: z.enum(["cancelled", "interrupted", "failed", "limit"]).optional(),
  superseded: z.literal(true).optional(),
});

const notice = z.strictObject({
  type: z.literal("notice"),
  at: timestamp,
  kind: z.string().min(1).max(100),
  text: longText,
});

export const documentEntry = z.discriminatedUnion("type", [message, notice]);
export type DocumentEntry = z.infer<typeof documentEntry>;

export const documentSession = z.strictObject({
  title: z.string().min(1).max(300).nullable(),
  project: z.string().min(1).max(120).nullable(),
  tags: z.array(z.string().min(1).max(60)).max(50),
  createdAt: timestamp,
  /** Who gave the title: one that a person chose is not written over later, one that was derived is. Chosen unless told. */
  titleSource: titleSource.nullable().optional(),
  pinned: z.boolean().optional(),
  archived: z.boolean().optional(),
});
export type DocumentSession = z.infer<typeof documentSession>;

export const documentBlob = z.strictObject({
  id: blobId,
  mediaType: z.string().min(1).max(200),
  base64: z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/),
});
export type DocumentBlob = z.infer<typeof documentBlob>;

/** Without its lists, which are read line by line. */
export const documentHead = z.strictObject({
  format: z.literal(documentFormat),
  version: z.literal(documentVersion),
  exportedAt: timestamp,
  session: documentSession,
  entries: z.array(z.unknown()).max(200_000),
  blobs: z.array(z.unknown()).max(2_000),
});
