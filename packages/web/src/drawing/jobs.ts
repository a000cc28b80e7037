// oxlint-disable-next-line import/no-unassigned-import -- schemas ask for it when they are made
import "../disable-zod-jit.ts";
import { z } from "zod";

/** What the frame is asked to draw. Everything in it may be a model's words. */
export type DrawingJob =
  | { readonly kind: "formula"; readonly source: string; readonly layout: "line" | "display" }
  | { readonly kind: "diagram"; readonly source: string; readonly theme: "light" | "dark" };

export type DrawingRequest = DrawingJob & { readonly id: number };

/** An element as data. What of it may stand in the page is the page's to decide: see `FormulaTree`. */
export interface TreeNode {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly style: Readonly<Record<string, string>>;
  readonly children: readonly (TreeNode | string)[];
}

const text = z.record(z.string(), z.string());
const treeNode: z.ZodType<TreeNode> = z.lazy(() =>
  z.strictObject({
    tag: z.string(),
    attributes: text,
    style: text,
    children: z.array(z.union([z.string(), treeNode])),
  }),
);

const side = z.number().positive().max(100_000);

/** The frame runs what nobody has vouched for: its answers are decoded like anybody's. */
export const drawingAnswer = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("formula"), id: z.int(), tree: treeNode }),
  z.strictObject({
    kind: z.literal("diagram"),
    id: z.int(),
    svg: z.string().max(2_000_000),
    width: side,
    height: side,
    /** What it is about, where its source says so. */
    title: z.string().max(1_000),
  }),
  z.strictObject({ kind: z.literal("refused"), id: z.int(), message: z.string() }),
]);
export type DrawingAnswer = z.infer<typeof drawingAnswer>;
