// oxlint-disable-next-line import/no-unassigned-import -- zod reads it when a schema is created
import "../disable-zod-jit.ts";
import { z } from "zod";

/** A job for the frame. `source` is untrusted: a model may have written it. */
export type DrawingJob =
  | { readonly kind: "formula"; readonly source: string; readonly layout: "line" | "display" }
  | { readonly kind: "diagram"; readonly source: string; readonly theme: "light" | "dark" };

export type DrawingRequest = DrawingJob & { readonly id: number };

/** An element as data. The page decides which of it to render: see `renderTree` in `formula.tsx`. */
export interface TreeNode {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly style: Readonly<Record<string, string>>;
  readonly children: readonly (TreeNode | string)[];
}

const textRecord = z.record(z.string(), z.string());
const treeNode: z.ZodType<TreeNode> = z.lazy(() =>
  z.strictObject({
    tag: z.string(),
    attributes: textRecord,
    style: textRecord,
    children: z.array(z.union([z.string(), treeNode])),
  }),
);

const sidePixels = z.number().positive().max(100_000);

/** The frame runs untrusted input, so its answers are validated like any input from outside. */
export const drawingAnswer = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("formula"), id: z.int(), tree: treeNode }),
  z.strictObject({
    kind: z.literal("diagram"),
    id: z.int(),
    svg: z.string().max(2_000_000),
    width: sidePixels,
    height: sidePixels,
    /** From `accTitle` and `accDescr`; empty if the source has none. */
    title: z.string().max(1_000),
  }),
  z.strictObject({ kind: z.literal("refused"), id: z.int(), message: z.string() }),
]);
export type DrawingAnswer = z.infer<typeof drawingAnswer>;
