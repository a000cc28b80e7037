export { cleanJson, cleanLine, cleanText } from "./clean.ts";
export { type Key, LineEditor } from "./editor.ts";
export { createMarkdown, type Look } from "./markdown.ts";
export { type Paint, paintFor, plainPaint, type Style } from "./paint.ts";
export { type DrawnPrompt, drawPrompt } from "./prompt.ts";
export { bracketedPaste, columnsOf, createScreen, type Output, type Screen } from "./screen.ts";
export { fitEnd, fitTo, padTo, widthOf } from "./width.ts";
export { wrapSpans } from "./wrap.ts";
