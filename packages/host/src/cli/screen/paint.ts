export type Style = "bold" | "dim" | "italic" | "underline" | "code" | "good" | "bad" | "accent";

/** Puts a style around text. Without colour it gives the text back. */
export type Paint = (style: Style, text: string) => string;

const styleCodes: Record<Style, readonly [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  code: [36, 39],
  good: [32, 39],
  bad: [31, 39],
  accent: [34, 39],
};

export const plainPaint: Paint = (_, text) => text;

const colours: Paint = (style, text) => {
  const [on, off] = styleCodes[style];
  return text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`;
};

/** Colour on a terminal only, and not where a person has said no to it (https://no-color.org). */
export function createPaint(
  output: { readonly isTTY?: boolean | undefined },
  environment: Readonly<Record<string, string | undefined>>,
): Paint {
  const wished = environment["FORCE_COLOR"];
  const refused = (environment["NO_COLOR"] ?? "") !== "" || environment["TERM"] === "dumb";
  if (refused || wished === "0") return plainPaint;
  return output.isTTY === true || (wished ?? "") !== "" ? colours : plainPaint;
}
