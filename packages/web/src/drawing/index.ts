export { type Asked, type Drawn, type TreeNode } from "./jobs.ts";
export { useDrawing } from "./use-drawing.ts";
