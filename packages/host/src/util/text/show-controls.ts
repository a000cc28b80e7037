/**
 * Invisible characters that change how a text looks: controls, direction marks, joiners, tags. Line breaks and
 * tabs are kept.
 */
const invisible =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class -- these are what is looked for
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFC\uD800-\uDFFF]|[\u{E0000}-\u{E0FFF}]/gu;

/** Makes invisible characters visible, so that a person sees what will really run. */
export function showControls(text: string): string {
  return text.replace(invisible, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16).padStart(4, "0").toUpperCase()}}`;
  });
}
