export type Style = "bold" | "dim" | "italic" | "underline" | "code" | "good" | "bad" | "accent";

/** Wraps text in a style. Without colour, it returns the text unchanged. */
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

/** Colours only for terminals, and not if a person declined them (https://no-color.org). */
export function createPaint(
  output: { readonly isTTY?: boolean | undefined },
  environment: Readonly<Record<string, string | undefined>>,
): Paint {
  const forced = environment["FORCE_COLOR"];
  const isDeclined = (environment["NO_COLOR"] ?? "") !== "" || environment["TERM"] === "dumb";
  if (isDeclined || forced === "0") return plainPaint;
  return output.isTTY === true || (forced ?? "") !== "" ? colours : plainPaint;
}

export interface RenderStyle {
  readonly width: number;
  readonly paint: Paint;
}
