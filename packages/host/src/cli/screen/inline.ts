import type { Style } from "./paint.ts";
import type { Span } from "./wrap.ts";

/** One alternative for each kind of mark. None can look further than the next mark of its kind: the cost stays linear. */
const inlinePattern =
  /\\([!-/:-@[-`{-~])|(`{1,3})([^`]+)\2(?!`)|\*\*(?=\S)([^*]+)\*\*|__(?=\S)([^_]+)__(?!\w)|\*(?=\S)([^*]+)\*|(?<!\w)_(?=\S)([^_]+)_(?!\w)|~~([^~]+)~~|(!?)\[([^[\]]*)\]\(([^()\s]*)\)/g;

/** The inline marks of Markdown as styles. What is no mark stays as it was written. */
export function readInline(line: string, styles: readonly Style[] = []): Span[] {
  const spans: Span[] = [];
  let from = 0;
  const add = (text: string, ...more: Style[]): void => {
    if (text !== "") spans.push({ text, styles: [...styles, ...more] });
  };
  const within = (text: string, style: Style): void => {
    spans.push(...readInline(text, [...styles, style]));
  };
  for (const found of line.matchAll(inlinePattern)) {
    const [whole, escaped, , code, bold, strong, italic, emphasis, struck, image, label, address] =
      found;
    add(line.slice(from, found.index));
    from = found.index + whole.length;
    if (escaped !== undefined) add(escaped);
    else if (code !== undefined) add(code.trim() === "" ? code : code.trim(), "code");
    else if (bold ?? strong) within(bold ?? strong ?? "", "bold");
    else if (italic ?? emphasis) within(italic ?? emphasis ?? "", "italic");
    else if (struck !== undefined) within(struck, "dim");
    else addLink({ isImage: image === "!", label: label ?? "", address: address ?? "" }, add);
  }
  add(line.slice(from));
  return spans;
}

/** The address is always shown: where a link leads is not for its label to say. */
function addLink(
  { isImage, label, address }: { isImage: boolean; label: string; address: string },
  add: (text: string, ...more: Style[]) => void,
): void {
  if (isImage) add(`[image: ${label}]`, "dim");
  else if (label !== address) add(label, "underline");
  if (address !== "") add(label === address ? address : ` (${address})`, "dim");
}
