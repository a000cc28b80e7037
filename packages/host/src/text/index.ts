export { unifiedDiff } from "./diff.ts";
export { compileGlob, type Glob } from "./glob.ts";
export { parsePatch, type FilePatch, patchText } from "./patch.ts";
export { readableHtml } from "./html.ts";
export { showControls } from "./show-controls.ts";
